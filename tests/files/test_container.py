"""The file itself: what it may claim, how it is written, and what a reader does with a forged one."""

import errno
import hashlib
import json
import os
import stat
import struct
import subprocess
import tracemalloc
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

import gbmap
from gbmap._files import container
from gbmap._files.codec import NotStorableError, Registry, decode, encode
from gbmap._files.container import Container, ModelFileError, read, write
from gbmap._utils import replacing

VERSIONS = {"gbmap": "0"}
NOTHING = Registry({}, lambda instance: None)
PREFIX = struct.Struct("<8sIQ")
MAGIC = b"\x89GBMAP\r\n"


def sealed(body):
    return body + hashlib.sha256(body).digest()


def forged(header, data=b"", version=1, length=None):
    """A file with any header and a checksum that fits."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    text += b" " * (-(PREFIX.size + len(text)) % 64)
    return sealed(PREFIX.pack(MAGIC, version, len(text) if length is None else length) + text + data)


def header_of(content=None, arrays=(), **more):
    return {"arrays": list(arrays), "content": content, "versions": VERSIONS, **more}


def refusal(path, blob, load=read):
    """What the reader says, after a check that it took little memory to say so."""
    path.write_bytes(blob)
    tracemalloc.start()
    with pytest.raises(ModelFileError) as caught:
        load(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000 + 100 * len(blob)
    message = str(caught.value)
    assert str(path) in message
    assert len(message) < 1000
    return message


@pytest.mark.posix("named pipes")
def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    pipe, model = (
        tmp_path / "pipe",
        gbmap.GBMAPRegressor(2, random_state=0).fit([[0.0], [1.0], [3.0]], [1, 2, 5]),
    )
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE)
    gbmap.save(model, pipe)
    gbmap.save(model, tmp_path / "file")
    assert reader.communicate()[0] == (tmp_path / "file").read_bytes()
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def there_and_back(value, path):
    write(path, Container(*encode(value, NOTHING), VERSIONS))
    stored = read(path)
    assert stored.versions == VERSIONS
    return decode(stored.content, stored.arrays, NOTHING)


# --- values ---------------------------------------------------------------------------------------

NUMBERS = arrays_of.arrays(
    st.sampled_from(["?", "u1", "i1", "<i2", ">i4", "<i8", "<u8", "<f2", "<f4", "<f8", ">f8"]),
    arrays_of.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)
TEXTS = arrays_of.arrays(st.sampled_from(["<U1", ">U3", "<U9"]), st.integers(0, 5))
ATOMS = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
VALUES = st.recursive(
    ATOMS | NUMBERS | TEXTS | arrays_of.from_dtype(np.dtype("f4")) | st.slices(9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(ATOMS, inner, max_size=3)
        | st.frozensets(st.text(), max_size=3)
    ),
    max_leaves=12,
)


def assert_same(one, other):
    assert type(one) is type(other)
    if isinstance(one, np.ndarray | np.generic):
        assert one.dtype == other.dtype.newbyteorder("<")
        assert one.shape == other.shape
        assert one.tobytes() == other.astype(one.dtype).tobytes()
    elif isinstance(one, list | tuple):
        assert len(one) == len(other)
        for each, twin in zip(one, other):
            assert_same(each, twin)
    elif isinstance(one, dict):
        assert_same(list(one.items()), list(other.items()))
    elif isinstance(one, float):
        assert struct.pack("d", one) == struct.pack("d", other) or (one != one and other != other)
    else:
        assert one == other


@settings(derandomize=True, deadline=None, max_examples=50)
@given(value=VALUES)
def test_values_of_every_kind_come_back_as_they_were(value, tmp_path_factory):
    assert_same(there_and_back(value, tmp_path_factory.mktemp("values") / "v"), value)


def test_each_nan_is_a_key_of_its_own(tmp_path):
    value = {float("nan"): 1, float("nan"): 2}
    assert_same(there_and_back(value, tmp_path / "v"), value)


def test_objects_in_arrays_keep_their_places_and_kinds(tmp_path):
    array = np.empty((2, 2), dtype=object)
    array[0, 0], array[0, 1], array[1, 0], array[1, 1] = [1, 2], (3, "x"), np.float32(0.1), "\ud800 lone"
    loaded = there_and_back(array, tmp_path / "v")
    assert loaded.shape == (2, 2)
    assert [list(map(repr, row)) for row in loaded] == [list(map(repr, row)) for row in array]


def test_types_are_stored_by_name_even_those_of_no_array(tmp_path):
    types = [bool, object, np.number, np.floating, np.float64, np.dtype("<f4"), np.dtype("O"), np.dtype("U7")]
    assert there_and_back(types, tmp_path / "v") == types


def test_what_is_shared_stays_shared(tmp_path):
    array = np.arange(3)
    first, (second, third) = there_and_back((array, [array, array.copy()]), tmp_path / "v")
    assert first is second
    assert third is not first


def test_a_sparse_matrix_comes_back(tmp_path):
    matrix = scipy.sparse.random_array((20, 30), density=0.1, format="csc", rng=0)
    loaded = there_and_back(matrix, tmp_path / "v")
    assert loaded.format == "csr"
    assert (loaded != matrix).nnz == 0


def test_views_that_are_not_contiguous_are_stored_as_they_look(tmp_path):
    array = np.arange(24.0).reshape(4, 6)
    for view in (array[::2, ::-3], array.T, np.asfortranarray(array)):
        np.testing.assert_array_equal(there_and_back(view, tmp_path / "v"), view)


def test_arrays_that_were_read_can_be_written_to(tmp_path):
    loaded = there_and_back(np.zeros(3), tmp_path / "v")
    loaded[0] = 1
    assert loaded.tolist() == [1, 0, 0]


def holds_itself():
    value = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (np.array([1j]), "an array of type complex128"),
        (np.array(["2020-01-01"], dtype="M8[D]"), "an array of type datetime64"),
        (np.zeros(1, dtype=[("a", "f8")]), "an array of type"),
        (np.longdouble(1), "an array of type"),
        (np.dtype([("a", "f8")]), "a numpy.dtype"),
        (b"bytes", "a builtins.bytes"),
        (print, "a builtins.builtin_function"),
        (np.void, "a builtins.type"),
        (np.ma.masked_array([1.0]), "numpy.ma"),
        (holds_itself(), "holds itself"),
    ],
)
def test_other_values_are_refused_when_they_are_stored(value, reason):
    with pytest.raises(NotStorableError, match=r"skops\.io\.dump") as caught:
        encode([value], NOTHING)
    assert reason in str(caught.value)


# --- writing --------------------------------------------------------------------------------------


def small(value=0):
    return Container(*encode([value, np.arange(5.0)], NOTHING), VERSIONS)


def content_of(path):
    return read(path).content[0]


def test_the_same_content_gives_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        write(tmp_path / name, small())
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_a_fault_while_writing_leaves_the_old_file_and_no_other(tmp_path, monkeypatch, call, error):
    write(tmp_path / "m", small(1))

    def fail(*arguments):
        raise error

    monkeypatch.setattr(replacing.os, call, fail)
    with pytest.raises(type(error)) as caught:
        write(tmp_path / "m", small(2))
    if isinstance(error, OSError):
        assert str(tmp_path / "m") in str(caught.value)
        assert caught.value.errno == errno.ENOSPC
    assert os.listdir(tmp_path) == ["m"]
    assert content_of(tmp_path / "m") == 1


def test_a_folder_that_cannot_be_synchronised_is_no_fault(tmp_path, monkeypatch):
    def fail(folder):
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(replacing, "_sync_folder", fail)
    write(tmp_path / "m", small(1))
    assert content_of(tmp_path / "m") == 1


@pytest.mark.posix("links and permissions of POSIX")
def test_a_link_and_the_permissions_of_a_file_stay(tmp_path):
    write(tmp_path / "real", small(1))
    os.chmod(tmp_path / "real", 0o640)
    (tmp_path / "link").symlink_to("real")
    write(tmp_path / "link", small(2))
    assert (tmp_path / "link").is_symlink()
    assert content_of(tmp_path / "real") == 2
    assert stat.S_IMODE(os.stat(tmp_path / "real").st_mode) == 0o640


def test_a_name_as_long_as_the_system_allows_will_do(tmp_path):
    path = tmp_path / ("\u6a21" * 85)
    write(path, small(1))
    assert content_of(path) == 1


@pytest.mark.parametrize("make", [str, os.fspath, lambda path: path])
def test_paths_may_be_text_or_objects(tmp_path, make):
    write(make(tmp_path / "m"), small(3))
    assert content_of(make(tmp_path / "m")) == 3


# --- reading --------------------------------------------------------------------------------------


def test_every_cut_and_a_flipped_bit_anywhere_is_noticed(tmp_path):
    write(tmp_path / "m", small())
    sound, path = (tmp_path / "m").read_bytes(), tmp_path / "damaged"
    for length in range(len(sound)):
        path.write_bytes(sound[:length])
        with pytest.raises(ModelFileError):
            read(path)
    for bit in range(0, 8 * len(sound), 7):
        damaged = bytearray(sound)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        with pytest.raises(ModelFileError):
            read(path)


def test_bytes_after_the_end_are_noticed(tmp_path):
    write(tmp_path / "m", small())
    assert "checksum" in refusal(tmp_path / "damaged", (tmp_path / "m").read_bytes() + b"\0")


def test_other_files_are_told_from_damaged_ones(tmp_path):
    assert "is no gbmap model: it has 0 bytes" in refusal(tmp_path / "f", b"")
    assert "does not begin like one" in refusal(tmp_path / "f", b"\x80\x04pickle" + bytes(100))
    text_mode = forged(header_of()).replace(b"\r\n", b"\n")
    assert "does not begin like one" in refusal(tmp_path / "f", text_mode)


@pytest.mark.parametrize("version", [0, 2, 1 << 24, 2**32 - 1])
def test_another_format_names_the_way_out(tmp_path, version):
    message = refusal(tmp_path / "f", forged(header_of(), version=version))
    assert f"has format {version}, but this version of gbmap reads formats up to 1" in message


def test_a_file_of_the_other_byte_order_is_refused(tmp_path):
    text = json.dumps(header_of(arrays=[[">f8", [1]]])).encode()
    text += b" " * (-(20 + len(text)) % 64)
    swapped = sealed(struct.pack(">8sIQ", MAGIC, 1, len(text)) + text + bytes(64))
    assert "has format 16777216" in refusal(tmp_path / "f", swapped)
    assert "unknown type '>f8'" in refusal(
        tmp_path / "f", forged(header_of(arrays=[[">f8", [1]]]), bytes(64))
    )


def test_a_file_that_shrinks_while_it_is_read_does_not_end_the_process(tmp_path, monkeypatch):
    write(tmp_path / "m", Container(*encode(np.zeros(100_000), NOTHING), VERSIONS))
    real = np.empty

    def cut_then_allocate(*arguments, **keywords):
        os.truncate(tmp_path / "m", 100)
        return real(*arguments, **keywords)

    monkeypatch.setattr(container.np, "empty", cut_then_allocate)
    with pytest.raises(ModelFileError, match="changed while it was read"):
        read(tmp_path / "m")


def test_arrays_that_begin_between_the_multiples_of_64_are_refused(tmp_path):
    text = json.dumps(header_of(arrays=[["|u1", [64]]])).encode()
    blob = sealed(PREFIX.pack(MAGIC, 1, len(text)) + text + bytes(64))
    assert len(text) % 64 != 44
    assert "the header does not fit" in refusal(tmp_path / "f", blob)


@pytest.mark.parametrize("length", [0, 1, 63, 64 + 45, 2**31, 2**63, 2**64 - 1])
def test_a_header_of_impossible_length_is_refused(tmp_path, length):
    refusal(tmp_path / "f", forged(header_of(), length=length))


@pytest.mark.parametrize(
    "entry",
    [
        ["<f8", [2**60]],
        ["<f8", [2**61]],
        ["<f8", [2**32, 2**32]],
        ["<f8", [2**64 + 1]],
        ["<f8", [10**4000]],
        ["<f8", [-1]],
        ["<f8", [-1, -1]],
        ["<f8", [True]],
        ["<f8", [1.0]],
        ["<f8", ["1"]],
        ["<f8", [None]],
        ["<f8", [1] * 9],
        ["<f8", [1] * 100_000],
        ["<f8", [0, 2**60]],
        ["<f8", [0, 2**50]],
        ["<f8", [2**60, 0]],
        ["<f8", 1],
        ["<f8", {"1": 1}],
        ["<f8", "8"],
        ["<f8", [9]],
        ["<f8", []],
        ["|O", [1]],
        ["<U2305843009213693951", [1]],
        ["<f16", [1]],
        ["f8,(", [1]],
        ["|V8", [1]],
        [["<f8"], [1]],
        [None, [1]],
        ["<f8"],
        ["<f8", [1], 0],
        "<f8",
        5,
        None,
    ],
)
def test_impossible_claims_about_arrays_are_refused_before_anything_is_allocated(tmp_path, entry):
    # One number and its padding are there; an array of no dimension or of one number would be right.
    rest = [] if entry == ["<f8", []] else [["<f8", [1]]]
    refusal(tmp_path / "f", forged(header_of(arrays=[entry, *rest] if rest else [entry, entry]), bytes(64)))


def test_arrays_that_leave_a_rest_are_refused(tmp_path):
    assert "do not fill the file" in refusal(
        tmp_path / "f", forged(header_of(arrays=[["<f8", [1]]]), bytes(128))
    )


def test_truth_values_are_true_or_false(tmp_path):
    blob = forged(header_of({"array": 0}, arrays=[["|b1", [1]]]), b"\2" + bytes(63))
    assert "neither true nor false" in refusal(tmp_path / "f", blob)


RAW_HEADERS = {
    "nothing": b"",
    "no object": b"[]",
    "a number": b"7",
    "no end": b'{"arrays": [',
    "not ASCII": '{"arrays": [], "content": "\u00e9", "versions": {}}'.encode(),
    "UTF-16": '{"arrays": [], "content": 1, "versions": {}}'.encode("utf-16-le"),
    "a null byte": b'{"arrays": [], "content": 1, "versions": {}}\0',
    "deep lists": b"[" * 100_000 + b"]" * 100_000,
    "deep objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "a name twice": b'{"arrays":[],"arrays":[],"content":1,"versions":{}}',
    "NaN": b'{"arrays":[],"content":NaN,"versions":{}}',
    "infinity": b'{"arrays":[],"content":-Infinity,"versions":{}}',
    "a float too large": b'{"arrays":[],"content":1e999,"versions":{}}',
    "an integer too large": b'{"arrays":[],"content":' + b"9" * 50_000 + b',"versions":{}}',
    "no arrays": b'{"content":1,"versions":{}}',
    "no content": b'{"arrays":[],"versions":{}}',
    "no versions": b'{"arrays":[],"content":1}',
    "versions of another kind": b'{"arrays":[],"content":1,"versions":["ab"]}',
    "versions that are numbers": b'{"arrays":[],"content":1,"versions":{"gbmap":1}}',
}


@pytest.mark.parametrize("name", RAW_HEADERS)
def test_headers_that_gbmap_would_not_write_are_refused(tmp_path, name):
    refusal(tmp_path / "f", forged(RAW_HEADERS[name]))


CONTENTS = {
    "no kind": {},
    "two kinds": {"tuple": [], "set": []},
    "an unknown kind": {"code": "print()"},
    "a method of the reader": {"_items": []},
    "the value method": {"": []},
    "no float": {"float": "7"},
    "a float of another kind": {"float": []},
    "a tuple of no list": {"tuple": "abc"},
    "a set of lists": {"set": [[1]]},
    "a dict of no pairs": {"dict": [1]},
    "a dict with a key twice": {"dict": [["a", 1], ["a", 2]]},
    "a dict of lists": {"dict": [[[1], 2]]},
    "a slice of four": {"slice": [1, 2, 3, 4]},
    "a type by expression": {"type": "os.system"},
    "a type of no name": {"type": ["float"]},
    "a dtype by expression": {"dtype": "f8,("},
    "a record": {"dtype": "|V8"},
    "a long text type": {"dtype": "<U99999999999"},
    "a reference before": {"same": 0},
    "a reference to what follows": [{"same": 1}, {"objects": [[0], []]}],
    "a negative reference": [{"objects": [[0], []]}, {"same": -1}],
    "a reference by truth": [{"objects": [[0], []]}, {"same": False}],
    "a reference in a circle": {"objects": [[1], [{"same": 0}]]},
    "an array that is not there": {"array": 1},
    "a negative array": {"array": -1},
    "an array of another kind": {"array": "0"},
    "text of floats": {"text": 0},
    "objects of the wrong number": {"objects": [[3], [1, 2]]},
    "objects of negative shape": {"objects": [[-1], [1, 2]]},
    "objects of huge shape": {"objects": [[2**60], []]},
    "objects of huge empty shape": {"objects": [[0, 2**62, 4], []]},
    "objects of many dimensions": {"objects": [[1] * 70, [1]]},
    "objects in no list": {"objects": [[1], "a"]},
    "a scalar that is a list": {"scalar": [1]},
    "a scalar of some dimension": {"scalar": {"array": 0}},
    "a sparse matrix of nothing": {"csr": [[1, 1]]},
    "a sparse matrix of one part": {"csr": [[1, 1], {"array": 0}, {"same": 0}, {"same": 0}]},
    "an unknown class": {"instance": ["os.system", {}]},
    "a class of no name": {"instance": [["Plain"], {}]},
    "a class without a state": {"instance": ["Plain"]},
    "a state of no members": {"instance": ["Plain", [1]]},
    "a state that hides a method": {"instance": ["Plain", {"method": 1}]},
    "a record without a field": {"instance": ["Record", {}]},
    "a record with another field": {"instance": ["Record", {"field": 1, "more": 2}]},
    "an instance that fails its check": {"instance": ["Record", {"field": -1}]},
}


class Plain:
    def method(self):
        return 1


@dataclass(frozen=True)
class Record:
    field: int


def check(instance):
    if isinstance(instance, Record) and instance.field < 0:
        raise ValueError("a negative field")


PARTS = Registry({"Plain": Plain, "Record": Record}, check)


@pytest.mark.parametrize("name", CONTENTS)
def test_content_that_gbmap_would_not_write_is_refused(name):
    with pytest.raises(ValueError, match=r".") as caught:
        decode(CONTENTS[name], [np.zeros(1)], PARTS)
    assert len(str(caught.value)) < 300


def test_content_that_was_written_is_not_refused():
    assert decode({"instance": ["Plain", {"more": 1}]}, [], PARTS).more == 1
    assert decode({"instance": ["Record", {"field": 2}]}, [], PARTS) == Record(2)


WHOLE = {
    "no model": b"7",
    "no estimator": b'{"tuple":[]}',
    "deep lists": b"[" * 500 + b"]" * 500,
    "deep tuples": b'{"tuple":[' * 400 + b"]}" * 400,
    "many lists": b"[" + b"[]," * 30_000 + b"[]]",
    "lists in lists": b"[" + (b"[" * 99 + b"]" * 99 + b",") * 150 + b"0]",
    "a scaler in its place": b'{"instance":["StandardScaler",{}]}',
    "a learner in place of a model": b'{"instance":["losses.Huber",{"delta":1.0}]}',
}


@pytest.mark.parametrize("name", WHOLE)
def test_files_that_hold_no_model_are_refused_within_bounds(tmp_path, name):
    blob = forged(b'{"arrays":[],"versions":{},"content":' + WHOLE[name] + b"}")
    assert "is damaged, or was not written by gbmap" in refusal(tmp_path / "f", blob, gbmap.load)


@pytest.mark.parametrize("codes", [[0x110000], [2**32 - 1], [65, 0x110000]])
def test_characters_that_do_not_exist_are_refused(tmp_path, codes):
    data = np.array(codes, dtype="<u4").tobytes()
    blob = forged(header_of({"text": 0}, arrays=[["<u4", [1, len(codes)]]]), data.ljust(64, b"\0"))
    assert "a character that does not exist" in refusal(tmp_path / "f", blob, gbmap.load)


@pytest.mark.parametrize(
    ("indices", "indptr", "shape"),
    [([5], [0, 1], [1, 3]), ([-1], [0, 1], [1, 3]), ([0], [0, 9], [1, 3]), ([0], [1, 0], [1, 3]),
     ([0], [0, 1], [2**60, 3]), ([0], [0, 1], [-1, 3]), ([0], [0, 1, 1, 1], [1, 3])],
)  # fmt: skip
def test_a_sparse_matrix_with_wrong_indices_is_refused(tmp_path, indices, indptr, shape):
    parts = [np.ones(1), np.array(indices), np.array(indptr)]
    data = b"".join(part.tobytes().ljust(64, b"\0") for part in parts)
    arrays = [["<f8", [1]], ["<i8", [len(indices)]], ["<i8", [len(indptr)]]]
    blob = forged(header_of({"csr": [shape, *({"array": k} for k in range(3))]}, arrays), data)
    path = tmp_path / "f"
    path.write_bytes(blob)
    stored = read(path)
    with pytest.raises(ValueError):  # noqa: PT011 - the words are SciPy's
        decode(stored.content, stored.arrays, NOTHING)


def test_a_long_word_of_the_file_does_not_make_a_long_message(tmp_path):
    refusal(tmp_path / "f", forged(header_of({"x" * 100_000: 1})), gbmap.load)
    long_versions = {"arrays": [], "content": 1, "versions": {"x": "y" * 100_000}}
    refusal(tmp_path / "f", forged(long_versions), gbmap.load)
