"""Files as tables: what is in them comes out, or one sentence says what is wrong and where."""

import csv
import datetime
import gzip
import io
import json
import os
import sys
import threading
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gbmap.tables import TableError, TableModel, open_table
from gbmap.tables._formats.text import DELIMITERS, LONGEST_ROW
from gbmap.tables._values import MISSING

CORPUS = Path(__file__).parent / "corpus"


def opened(data):
    return open_table(io.BytesIO(data))


def read(data, **options):
    frames = list(opened(data).frames(**options))
    return pd.concat(frames, ignore_index=True) if frames else None


def rows_of(data):
    return [[None if pd.isna(cell) else cell for cell in row] for row in read(data).to_numpy(dtype=object)]


# --- text -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf", b"\n\n"])
def test_line_ends_byte_order_marks_and_empty_lines_do_not_show(start, end):
    data = start + b"a,b" + end + b"1,x" + end + end + b"2,y"
    assert opened(data).names == ["a", "b"]
    assert rows_of(data) == [["1", "x"], ["2", "y"]]


def test_quotes_hold_delimiters_quotes_and_line_ends():
    assert rows_of(b'a,b\n"x,y","say ""hi"""\n"two\nlines",\n') == [["x,y", 'say "hi"'], ["two\nlines", None]]


@pytest.mark.parametrize("delimiter", DELIMITERS)
def test_the_delimiter_is_found(delimiter):
    data = f"a{delimiter}b{delimiter}c\n1.5{delimiter}p q{delimiter}3\n".encode()
    assert opened(data).names == ["a", "b", "c"]
    assert rows_of(data) == [["1.5", "p q", "3"]]


def test_a_delimiter_that_the_rows_do_not_share_with_the_header_is_not_taken():
    assert opened(b"a,b;c\n1;2\n3;4\n5;6\n").names == ["a,b", "c"]


def test_files_of_tabs_are_cut_at_tabs_whatever_else_they_hold(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_bytes(b"a,b;c\n1,2;3\n")
    assert open_table(path).names == ["a,b;c"]


@pytest.mark.parametrize("word", [*MISSING, " NA ", "\t"])
def test_missing_cells_are_missing(word):
    assert rows_of(f"a;b\n{word};x\n".encode()) == [[None, "x"]]


@pytest.mark.parametrize("word", ["na.", "0", "missing", "nanny", "Nona", "none"])
def test_other_cells_are_not(word):
    assert rows_of(f"a;b\n{word};x\n".encode()) == [[word, "x"]]


CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
PLAIN = st.from_regex(r"[a-z]{1,5}", fullmatch=True)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(PLAIN, CELLS), min_size=1, max_size=12), st.sampled_from(["\n", "\r\n"]))
def test_what_the_csv_module_writes_comes_back(rows, end):
    text = io.StringIO()
    writer = csv.writer(text, lineterminator=end, quoting=csv.QUOTE_ALL)  # else it leaves \r bare
    writer.writerows([("key", "some text"), *rows])
    found = rows_of(text.getvalue().encode())
    expected = [[None if cell.strip() in MISSING else cell for cell in row] for row in rows]
    assert found == expected


def test_frames_are_no_longer_than_asked_and_know_where_they_lie():
    frames = list(opened(b"a\n" + b"".join(b"%d\n" % k for k in range(10))).frames(4))
    assert [len(frame) for frame in frames] == [4, 4, 2]
    assert [frame.attrs["offset"] for frame in frames] == [0, 4, 8]
    assert pd.concat(frames)["a"].tolist() == [str(k) for k in range(10)]


def test_some_columns_can_be_read_alone_in_any_order():
    assert list(read(b"a,b,c\n1,2,3\n", columns=["c", "a"]).iloc[0]) == ["3", "1"]
    with pytest.raises(TableError, match=r"the file lacks the columns 'x', 'y'; it has 'a'\."):
        read(b"a\n1\n", columns=["x", "a", "y"])


def test_a_header_without_rows_is_a_table_without_rows():
    assert opened(b"a,b\n").names == ["a", "b"]
    assert read(b"a,b\n") is None


# --- what is no table -----------------------------------------------------------------------------


def zipped(name):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, "x")
    return file.getvalue()


FAR = b"1,23456\n" * 1_200_000  # more than a block
DAMAGED = {
    "nothing": (b"", "is empty; a table begins with a line of column names"),
    "empty lines": (b"\n\r\n\n", "is empty"),
    "a byte order mark": (b"\xef\xbb\xbf", "is empty"),
    "names twice": (b"a,b,a\n1,2,3\n", "has more than one column 'a'; give each a name of its own"),
    "no names": (b",,a\n0,1,2\n", r"has no name for column 1 of 3; .* to_csv\(index=False\)"),
    "a blank name": (b"a, \n0,1\n", "has no name for column 2 of 2"),
    "a short row": (b"a,b\n1,2\n\n3\n", "',' cuts row 2 into 1 cells, but the header into 2: '3'"),
    "a long row": (b"a,b\n1,2\n3,4,5\n", "',' cuts row 2 into 3 cells, but the header into 2: '3,4,5'"),
    "a short row far down": (b"a,b\n" + FAR + b"3\n", "cuts row 1,200,001 into 1"),
    "an open quote": (b'a,b\n"1,2\n3,4\n', "',' cuts row 1 into 1"),
    "an open quote for long": (
        b'a,b\n5,6\n"1,2\n' + b"3,4\n" * LONGEST_ROW,
        "perhaps a quotation mark is not",
    ),
    "a long header": (b"a" * (1 << 21) + b",b\n1,2\n", "begins with a line that is too long"),
    "another encoding": (
        "a,b\n1,2\n3,Жизнь\n".encode("cp1251"),
        r"is not in UTF-8: line 3 holds b'\\xc6'; name its encoding \(--encoding cp1251",
    ),
    "latin-1 far down": (b"a,b\n" + FAR + b"3,\xe5\n", "column 'b' holds .* in row 1,200,001"),
    "half of UTF-16": (
        "a,b\n1,2\n".encode("utf-16")[:-1],
        "is not in UTF-16: truncated data; name its encoding",
    ),
    "zero bytes": (b"a,b\n1,\0\n", "holds bytes of value zero"),
    "zero bytes far down": (b"a,b\n" + FAR + b"1,\0\n", "holds bytes of value zero"),
    "cut gzip": (gzip.compress(b"a,b\n1,2\n")[:-5], "is a compressed file that is damaged"),
    "bad gzip": (b"\x1f\x8b\x08\x00" + b"x" * 50, "is a compressed file that is damaged|cannot be read"),
    "cut Parquet": ((CORPUS / "typed.parquet").read_bytes()[:-9], "cannot be read as a Parquet file"),
    "a cut workbook": (
        b"PK\x03\x04\x14\x00",
        r"cannot be read as a workbook of Excel \(\.xlsx\): File is not a zip",
    ),
    "an archive": (zipped("a.csv"), "is an archive; save the table in it as .xlsx or CSV"),
    "another workbook": (
        zipped("mimetype"),
        "is a workbook of another kind; save the table in it as .xlsx or CSV",
    ),
    "a hollow workbook": (zipped("xl/workbook.xml"), "cannot be read as a workbook of Excel"),
    "an old workbook": (
        b"\xd0\xcf\x11\xe0\xa1\xb1",
        "is a workbook of another kind; save the table in it as .xlsx",
    ),
    "JSON that ends": (b'{"a": 1}\n{"a": ', "row 2 is no whole object of JSON: Expecting value"),
    "JSON of lists": (b'{"a": 1}\n[1, 2]\n', r"row 2 is '\[1, 2\]', where a row is an object"),
    "JSON without keys": (b"{}\n{}\n", "has no object with keys"),
    "JSON that is deep": (b'{"a": ' + b"[" * 200_000, "row 1 is nested too deeply"),
    "JSON with a path twice": (b'{"a.b": 1, "a": {"b": 2}}', r"row 1 has the key 'a\.b' twice"),
    "more than an array of JSON": (b'[{"a": 1}] 2', "goes on after the array of its rows"),
    "halves of characters": (b'{"a": "\\ud800"}', "cannot be read as JSON"),
    "magic alone": (b"PAR1", "cannot be read as a Parquet file"),
}


@pytest.mark.parametrize(("data", "message"), DAMAGED.values(), ids=DAMAGED.keys())
def test_what_is_no_table_is_one_sentence(data, message):
    with pytest.raises(TableError, match=f"^the file.*{message}") as caught:
        read(data)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_gzip_file_with_a_damaged_middle_is_refused():
    packed = bytearray(gzip.compress(np.random.default_rng(0).bytes(200_000).hex().encode()))
    packed[100_000] ^= 0xFF
    with pytest.raises(TableError, match=r"compressed file that is damaged|cannot be read"):
        read(bytes(packed))


@pytest.mark.parametrize("flip", range(0, 4156, 61))
def test_a_parquet_file_with_any_byte_changed_is_read_or_refused(flip):
    data = bytearray((CORPUS / "typed.parquet").read_bytes())
    data[flip % len(data)] ^= 0x55
    try:
        read(bytes(data))
    except TableError as error:
        assert "\n" not in str(error)  # noqa: PT017 - either way is fine


def test_text_in_parquet_that_is_not_utf8_is_refused(tmp_path):
    wrong = pa.array([b"ok", b"\xff\xfe"], pa.binary()).view(pa.string())
    pq.write_table(pa.table({"a": wrong}), tmp_path / "a.parquet")
    with pytest.raises(TableError, match=r"cannot be read as a Parquet file: .*UTF8"):
        list(open_table(tmp_path / "a.parquet").frames())


@pytest.mark.parametrize("path", sorted(CORPUS.iterdir()), ids=lambda path: path.name)
def test_the_fuzzers_seeds_are_tables(path):
    assert sum(map(len, open_table(path).frames())) == 24


# --- places ---------------------------------------------------------------------------------------


def test_places_that_hold_no_file_are_named(tmp_path):
    with pytest.raises(TableError, match="is a folder; give one file of it"):
        open_table(tmp_path)
    with pytest.raises(TableError, match=r"no\.csv does not exist"):
        open_table(tmp_path / "no.csv")
    with pytest.raises(TableError, match=r"a.b does not exist|no path"):
        open_table("a\0b")
    (tmp_path / "a.parquet").write_bytes(b"a,b\n1,2\n")
    with pytest.raises(TableError, match=r"a\.parquet is no Parquet file: it does not begin with PAR1"):
        open_table(tmp_path / "a.parquet")
    for other in (3, None, ["a.csv"], io.StringIO("a\n1\n")):
        with pytest.raises(TypeError, match="source must be a"):
            open_table(other)


@pytest.mark.posix("permission to read")
@pytest.mark.skipif(getattr(os, "geteuid", int)() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_named(tmp_path):
    (tmp_path / "a.csv").write_text("a\n1\n")
    (tmp_path / "a.csv").chmod(0)
    with pytest.raises(TableError, match="Permission denied"):
        open_table(tmp_path / "a.csv")


def test_a_compressed_file_is_unpacked_whatever_its_name(tmp_path):
    (tmp_path / "a.csv").write_bytes(gzip.compress(b"a;b\n1;2\n"))
    assert open_table(tmp_path / "a.csv").names == ["a", "b"]
    (tmp_path / "b.tsv.gz").write_bytes(gzip.compress(b"a;b\tc\n1\t2\n"))
    assert open_table(tmp_path / "b.tsv.gz").names == ["a;b", "c"]
    (tmp_path / "c.gz").write_bytes(gzip.compress((CORPUS / "typed.parquet").read_bytes()))
    assert len(next(open_table(tmp_path / "c.gz").frames())) == 24


def test_a_file_can_be_read_again_and_an_open_one_stays_open(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"a\n1\n2\n")
    with open(tmp_path / "a.csv", "rb") as file:
        for table in (open_table(tmp_path / "a.csv"), open_table(file)):
            assert [len(next(table.frames())) for _ in range(3)] == [2, 2, 2]
        assert not file.closed


class Pipe(io.RawIOBase):
    """Bytes that come a few at a time, and only once."""

    def __init__(self, data, at_once):
        self._rest, self._at_once = data, at_once

    def readable(self):
        return True

    def read(self, n=-1):
        n = min(n, self._at_once)
        part, self._rest = self._rest[:n], self._rest[n:]
        return part


@pytest.mark.parametrize("name", ["commas.csv", "packed.csv.gz", "typed.parquet"])
@pytest.mark.parametrize("at_once", [1, 100_000])
def test_a_pipe_that_trickles_is_read_as_a_file_is(name, at_once):
    data = (CORPUS / name).read_bytes()
    expected = next(open_table(CORPUS / name).frames())
    pd.testing.assert_frame_equal(next(open_table(Pipe(data, at_once)).frames()), expected)


def test_a_pipe_is_read_once_unless_it_is_stored():
    table = open_table(Pipe(b"a\n1\n", 10))
    list(table.frames())
    with pytest.raises(TableError, match="can be read only once; store it in a file first"):
        list(table.frames())
    stored = open_table(Pipe(b"a\n1\n", 10)).repeatable()
    assert [len(next(stored.frames())) for _ in range(2)] == [1, 1]


@pytest.mark.posix("named pipes")
@pytest.mark.parametrize("name", ["commas.csv", "packed.csv.gz", "typed.parquet"])
def test_a_pipe_with_a_name_is_read_from_its_beginning(name, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    data = (CORPUS / name).read_bytes()
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(data))
    writer.start()
    table = open_table(tmp_path / "pipe").repeatable()
    writer.join()
    assert [sum(map(len, table.frames())) for _ in range(2)] == [24, 24]


@pytest.mark.parametrize("name", ["commas.csv", "packed.csv.gz", "typed.parquet"])
def test_a_dash_is_standard_input(name, monkeypatch):
    with open(CORPUS / name, "rb") as file:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(file))
        table = open_table("-")
        assert table.label == "standard input"
        assert sum(map(len, table.frames())) == 24


def test_without_pyarrow_an_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r'^pyarrow is needed for this; pip install "gbmap\[cli\]"\.$'):
        read(b"a\n1\n")


# --- Parquet --------------------------------------------------------------------------------------


def test_whole_numbers_and_truth_values_in_parquet_stay_exact_beside_missing_ones(tmp_path):
    table = pa.table({"n": pa.array([2**62 + 1, None]), "t": pa.array([True, None])})
    pq.write_table(table, tmp_path / "a.parquet")
    frame = next(open_table(tmp_path / "a.parquet").frames())
    assert int(frame["n"][0]) == 2**62 + 1  # NumPy compares with whole numbers as floats
    assert frame["t"][0] is np.True_ or frame["t"][0] is True
    assert frame.isna().iloc[1].all()


def test_parquet_columns_of_like_names_are_told_apart(tmp_path):
    table = pa.table({"a.b": [1], "a": [{"b": 2, "c": 3}], "b": ["x"]})
    pq.write_table(table, tmp_path / "a.parquet")
    opened_table = open_table(tmp_path / "a.parquet")
    assert opened_table.names == ["a.b", "a", "b"]
    assert next(opened_table.frames(columns=["b", "a.b"])).iloc[0].tolist() == ["x", 1]


def test_two_threads_read_two_tables_at_once():
    data = b"a,b\n" + b"1,x\n" * 100_000
    found = []
    threads = [threading.Thread(target=lambda: found.append(len(read(data)))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [100_000, 100_000]


# --- encodings ------------------------------------------------------------------------------------

TEXT = "stad;päron\nÅbo;1,5\n緑;2\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_text_tells_its_encoding_by_a_mark_or_by_being_utf_8(encoding):
    assert rows_of(TEXT.encode(encoding)) == [["Åbo", "1,5"], ["緑", "2"]]
    assert opened(TEXT.encode(encoding)).names == ["stad", "päron"]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_is_told_by_its_zeros(encoding):
    text = "city,pears\n" + "Oslo,1\n" * 50
    assert rows_of(text.encode(encoding)) == [["Oslo", "1"]] * 50


def test_what_windows_writes_in_western_europe_is_read_and_that_is_said():
    text = "straße,käse\n" + "Größe,5 €\n" * 3
    with pytest.warns(
        UserWarning, match="is not in UTF-8 and was read as cp1252, .*; --encoding names another"
    ):
        table = open_table(io.BytesIO(text.encode("cp1252")))
    assert table.names == ["straße", "käse"]
    assert next(table.frames()).to_numpy().tolist() == [["Größe", "5 €"]] * 3


def test_an_encoding_can_be_named_and_a_mark_goes_before_a_fallback():
    data = "a,b\nЖизнь,1\n".encode("cp1251")
    for options in ({"encoding": "cp1251"}, {"fallback": "cp1251"}):
        assert next(open_table(io.BytesIO(data), **options).frames())["a"][0] == "Жизнь"
    marked = open_table(io.BytesIO(TEXT.encode("utf-16")), fallback="cp1251")
    assert marked.names == ["stad", "päron"]
    with pytest.raises(TableError, match="'klingon' is no encoding that is known, as utf-8"):
        open_table(io.BytesIO(data), encoding="klingon")
    with pytest.raises(TableError, match="is no encoding"):
        open_table(io.BytesIO(data), encoding="base64")


def test_characters_across_blocks_are_whole():
    rows = 400_000
    table = open_table(io.BytesIO(("a,b\n" + "Å緑,1\n" * rows).encode("utf-16")))
    assert sum((frame["a"] == "Å緑").sum() for frame in table.frames()) == rows


# --- lines above the names ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "above",
    [
        "Umsätze;\n\nKonto:;DE12\n",
        "Report of 2024\n",
        '"a title; with ""quotes"""\r\n\r\n',
        "Report;;;;\n;;;;\n",
    ],
)
def test_lines_above_the_names_are_left_out_and_that_is_said(above):
    body = "Tag;Wert;Text;Ort;Art\n" + "1.2.24;5,5;a;b;c\n" * 30
    with pytest.warns(UserWarning, match="left out above the names of the columns, which begin with 'Tag'"):
        table = opened((above + body).encode())
    assert table.names == ["Tag", "Wert", "Text", "Ort", "Art"]
    assert rows_of_table(table) == [["1.2.24", "5,5", "a", "b", "c"]] * 30


def test_a_header_that_lacks_the_name_of_an_index_is_no_title():
    with pytest.raises(TableError, match="',' cuts row 1 into 3 cells, but the header into 2"):
        read(b"a,b\n" + b"1,x,y\n" * 30)
    with pytest.raises(TableError, match="cells, but the header into 1"):
        read(b"a\n" + b"1,2,3\n" * 30)


def test_row_names_of_pandas_and_r_are_a_column():
    assert opened(b",a\n0,1\n1,5\n").names == ["row name", "a"]
    assert rows_of(b'"","a"\n"Oslo",1\n"Bergen",2\n') == [["Oslo", "1"], ["Bergen", "2"]]
    table = b",a,b\n" + b"".join(b"%d,%d,%d\n" % (k, k % 7, k % 3) for k in range(60))
    columns = {
        each.name: each
        for each in TableModel("b", n_components=1).fit(open_table(io.BytesIO(table))).schema_.columns
    }
    assert columns["row name"].kind == "dropped"


def test_columns_at_the_end_without_names_and_values_are_none():
    assert opened(b"a;b;;\n1;2;;\n3;4;;\n").names == ["a", "b"]
    assert rows_of(b"a;b;;\n1;2;;\n3;4;;\n") == [["1", "2"], ["3", "4"]]
    with pytest.raises(TableError, match="has no name for column 3 of 3"):
        opened(b"a;b;\n1;2;5\n3;4;\n")


def rows_of_table(table):
    return [row for frame in table.frames() for row in frame.to_numpy().tolist()]


# --- JSON -----------------------------------------------------------------------------------------

OBJECTS = [
    {"id": 12345678901234567890, "who": {"name": "Åsa", "tags": ["a", 1]}, "ok": True, "x": 1.50},
    {"id": 2, "x": None, "late": "yes"},
    {"who": {"name": "two\nlines"}, "x": "NaN"},
]


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("as_array", [False, True])
def test_json_is_read_an_object_a_row_what_is_nested_by_paths_and_what_lacks_as_missing(as_array, indent):
    rows = [json.dumps(each, indent=indent) for each in OBJECTS]
    text = f"[{', '.join(rows)}]\n" if as_array else "\n".join(rows)
    table = opened(text.encode())
    assert table.names == ["id", "ok", "x", "who.name", "who.tags", "late"]
    frame = read(text.encode())
    assert frame["id"].tolist()[:2] == ["12345678901234567890", "2"]
    assert frame["who.name"].tolist()[::2] == ["Åsa", "two\nlines"]
    assert (frame["ok"][0], frame["who.tags"][0], frame["late"][1]) == ("true", '["a", "1"]', "yes")
    assert frame["x"].isna().tolist() == [False, True, True]


def test_json_of_more_than_one_block_is_whole_and_keys_that_come_late_are_named():
    rows = "".join(f'{{"a": {k}, "b": "{"x" * 40}"}}\n' for k in range(60_000)) + '{"a": 1, "z": 2}\n'
    table = opened(rows.encode())
    with pytest.warns(UserWarning, match="keys were left out that none of the first rows has: 'z'"):
        frame = pd.concat(table.frames())
    assert frame["a"].astype(int).sum() == 60_000 * 59_999 // 2 + 1


# --- Excel ----------------------------------------------------------------------------------------


def workbook(*sheets):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for k, rows in enumerate(sheets):
        sheet = book.active if k == 0 else book.create_sheet()
        for row in rows:
            sheet.append(row)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


HEADER = ["day", "paid", "ok", "note"]
ROWS = [
    [datetime.datetime(2024, 2, 29), 1.5, True, "a"],
    [datetime.datetime(2024, 3, 1, 12, 30), 2, False, None],
    [None, 1e300, None, "#N/A"],
]
READ = [
    ["2024-02-29", "1.5", "true", "a"],
    ["2024-03-01 12:30:00", "2", "false", None],
    [None, "1e+300", None, None],
]


def test_a_sheet_is_read_as_text():
    data = workbook([HEADER, *ROWS])
    assert opened(data).names == HEADER
    assert rows_of(data) == READ
    assert [len(frame) for frame in opened(data).frames(2)] == [2, 1]
    assert rows_of(workbook([HEADER, [], *ROWS, [None]])) == READ


def test_a_title_above_a_table_that_does_not_begin_in_the_first_column_is_left_out():
    shifted = [[None, *row] for row in (HEADER, *ROWS)]
    with pytest.warns(UserWarning, match="1 line was left out above the names of the columns"):
        assert opened(workbook([["Sales of the year"], [], *shifted])).names == HEADER


def test_of_several_sheets_the_first_with_values_is_read_and_that_is_said():
    with pytest.warns(UserWarning, match="has 2 sheets, 'Sheet1', 'Sheet2'; the first was read"):
        assert opened(workbook([], [HEADER, *ROWS], [["x"], [1]])).names == HEADER
    with pytest.raises(TableError, match="is a workbook without values"):
        opened(workbook([]))


@pytest.mark.parametrize("flip", range(0, 5000, 97))
def test_a_workbook_with_any_byte_changed_is_read_or_refused(flip):
    data = bytearray(workbook([HEADER, *ROWS]))
    data[flip % len(data)] ^= 0x55
    try:
        read(bytes(data))
    except TableError as error:
        assert "\n" not in str(error)  # noqa: PT017 - either way is fine


def test_without_openpyxl_an_error_says_what_to_install(monkeypatch):
    data = workbook([HEADER, *ROWS])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ImportError, match=r'^openpyxl is needed for this; pip install "gbmap\[excel\]"\.$'):
        opened(data)
