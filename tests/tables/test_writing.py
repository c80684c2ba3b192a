"""Frames as files: whole or not at all, and read back as they were."""

import gzip
import io
import os
import sys

import numpy as np
import pandas as pd
import pytest

from gbmap.tables import TableError, open_table, write_table

FRAMES = [pd.DataFrame({"n": [1, 2], "t": ["a,b", 'say "x"']}), pd.DataFrame({"n": [3], "t": ["two\nlines"]})]


@pytest.mark.parametrize(
    "name",
    ["a.csv", "a.tsv", "a.csv.gz", "a.tsv.gz", "a.parquet", "a.pq", "a.xlsx", "a.jsonl", "a.ndjson.gz"],
)
def test_what_is_written_is_read_back(tmp_path, name):
    assert write_table(tmp_path / name, iter(FRAMES)) == 3
    frame = next(open_table(tmp_path / name).frames())
    assert frame["n"].astype(int).tolist() == [1, 2, 3]
    assert frame["t"].tolist() == ["a,b", 'say "x"', "two\nlines"]
    assert os.listdir(tmp_path) == [name]


def test_suffixes_say_how_it_is_written(tmp_path):
    for name in ("a.tsv", "a.csv.gz", "a.PARQUET"):
        write_table(tmp_path / name, FRAMES)
    assert (tmp_path / "a.tsv").read_text().startswith("n\tt\n1\t")
    assert gzip.decompress((tmp_path / "a.csv.gz").read_bytes()).startswith(b"n,t\n1,")
    assert (tmp_path / "a.PARQUET").read_bytes().startswith(b"PAR1")


@pytest.mark.parametrize("name", ["a", "a.xls", "a.json", "a.gz", "a.csv.zip", "csv"])
def test_a_name_that_does_not_say_what_to_write_is_refused(tmp_path, name):
    with pytest.raises(TableError, match=r"a?.* must end in one of \.csv, .*\.parquet"):
        write_table(tmp_path / name, FRAMES)
    assert os.listdir(tmp_path) == []


def test_a_missing_whole_number_in_a_later_frame_fits_the_first(tmp_path):
    frames = [pd.DataFrame({"n": [1, 2]}), pd.DataFrame({"n": [None, 3.0]})]
    write_table(tmp_path / "a.parquet", frames)
    assert next(open_table(tmp_path / "a.parquet").frames())["n"].isna().tolist() == [
        False,
        False,
        True,
        False,
    ]


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.csv.gz"])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, name):
    def broken():
        yield FRAMES[0]
        raise KeyError("half way")

    (tmp_path / name).write_text("old")
    with pytest.raises(KeyError):
        write_table(tmp_path / name, broken())
    assert (tmp_path / name).read_text() == "old"
    assert os.listdir(tmp_path) == [name]


@pytest.mark.posix("links and permissions of POSIX")
def test_a_file_that_was_private_stays_private_and_a_link_a_link(tmp_path):
    (tmp_path / "a.csv").write_text("old")
    (tmp_path / "a.csv").chmod(0o600)
    (tmp_path / "link.csv").symlink_to(tmp_path / "a.csv")
    write_table(tmp_path / "link.csv", FRAMES)
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "a.csv").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "a.csv").read_text().startswith("n,t")


@pytest.mark.posix("paths of open files")
def test_a_pipe_is_written_to_not_replaced(tmp_path):
    reading, writing = os.pipe()
    with os.fdopen(reading) as file:
        write_table(f"/dev/fd/{writing}", FRAMES)
        os.close(writing)
        assert file.read().startswith("n,t\n")


def test_a_dash_is_standard_output(capsys):
    write_table("-", FRAMES)
    assert capsys.readouterr().out == 'n,t\n1,"a,b"\n2,"say ""x"""\n3,"two\nlines"\n'


def test_no_frames_are_no_file(tmp_path):
    for name in ("a.csv", "a.parquet"):
        with pytest.raises(TableError, match="there are no rows to write to"):
            write_table(tmp_path / name, iter(()))
    assert os.listdir(tmp_path) == []


def test_places_that_cannot_be_written_are_named(tmp_path):
    with pytest.raises(TableError, match="is a folder; name a file to write"):
        write_table(tmp_path, FRAMES)
    with pytest.raises(TableError, match=r"no.a\.csv cannot be written: No such file or directory"):
        write_table(tmp_path / "no" / "a.csv", FRAMES)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is full")
def test_a_full_disk_is_named():
    with pytest.raises(TableError, match="/dev/full cannot be written: No space left on device"):
        write_table("/dev/full", FRAMES)


def test_standard_output_is_utf_8_whatever_the_locale_says(monkeypatch):
    frames, out = [pd.DataFrame({"päron": ["緑"]})], io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding="ascii"))
    write_table("-", frames)
    sys.stdout.flush()
    assert out.getvalue().decode() == "päron\n緑\n"


def test_a_terminal_is_written_to_in_its_encoding(monkeypatch):
    frames, out = [pd.DataFrame({"päron": ["緑"]})], io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding="latin-1"))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    write_table("-", frames)
    sys.stdout.flush()
    assert out.getvalue() == "päron\n\\u7dd1\n".encode("latin-1")


VALUES = pd.DataFrame(
    {
        "n": [1.5, np.nan, -np.inf],
        "whole": [2**62 + 1, 2, 3],
        "t": ["=1+1", "a\x01b", None],
        "ok": [True, False, True],
        "day": pd.to_datetime(["2024-02-29 00:00", None, "2024-03-01 12:30"]),
    }
)


@pytest.mark.parametrize("name", ["a.xlsx", "a.jsonl"])
def test_excel_and_json_keep_every_kind_of_value_and_run_no_formula(tmp_path, name):
    write_table(tmp_path / name, [VALUES])
    frame = next(open_table(tmp_path / name).frames())
    assert frame["n"].fillna("-").tolist() == ["1.5", "-", "-inf"]
    assert frame["whole"].tolist() == [str(2**62 + 1), "2", "3"]
    assert frame["t"].fillna("-").tolist() == ["=1+1", "a\ufffdb" if name == "a.xlsx" else "a\x01b", "-"]
    assert frame["ok"].tolist() == ["true", "false", "true"]
    assert pd.to_datetime(frame["day"], format="ISO8601").tolist() == VALUES["day"].tolist()


def test_a_table_that_a_sheet_cannot_hold_is_refused(tmp_path):
    with pytest.raises(
        TableError, match=r"a cell of Excel holds 32,767 characters; write the table to \.csv"
    ):
        write_table(tmp_path / "a.xlsx", [pd.DataFrame({"a": ["x" * 40_000]})])
    assert os.listdir(tmp_path) == []
