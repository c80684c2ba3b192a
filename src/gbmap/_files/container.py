"""One file of plain data: a JSON header, arrays, and a checksum.

    offset  bytes
    0       8     magic: 0x89 "GBMAP" CR LF, which a transfer as text would break
    8       4     format version, little endian like all numbers
    12      8     length of the header
    20      ...   header: JSON in ASCII, padded with spaces to end at a multiple of 64 bytes
    ...     ...   the arrays, C order, each padded with zeros to a multiple of 64 bytes
    -32     32    SHA-256 of all bytes before

The header is an object with the members "arrays", a list of [type, shape] in the order of the arrays,
"content", which refers to them by position, and "versions". Everything is checked against the size of the
file before anything is allocated.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gbmap._files.codec import FAULTS, describe
from gbmap._utils.replacing import replacing
from gbmap._utils.typing import Array

FORMAT = 1
_MAGIC = b"\x89GBMAP\r\n"
_PREFIX = struct.Struct("<8sIQ")
_ALIGNMENT = 64
_CHECKSUM_BYTES = 32
_TYPES = {
    kind: np.dtype(kind)
    for kind in ("|b1", "|u1", "|i1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8")
}
_MOST_DIMENSIONS = 8
_MOST_DIGITS = 100  # which take longer to read than in proportion to their number


class ModelFileError(ValueError):
    """A model file that cannot be read: damaged, cut short, of another kind or of a newer format.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import gbmap
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "notes.txt"
    ...     _ = path.write_text("not a model, but long enough to look at; " * 5)
    ...     try:
    ...         gbmap.load(path)
    ...     except gbmap.persistence.ModelFileError as error:
    ...         print(str(error).replace(str(path), "notes.txt"))
    notes.txt is no gbmap model: it does not begin like one.
    """


@dataclass(frozen=True)
class Container:
    """What a file holds: plain content that refers to arrays by their position.

    Arrays that were read are views of one buffer, the file.
    """

    content: Any
    arrays: list[Array]
    versions: dict[str, str]


def write(path: str | os.PathLike[str], container: Container) -> None:
    """Write a file at once or not at all: a crash leaves what was there before."""
    with replacing(path) as file:
        _write_with_checksum(file, container)


def _write_with_checksum(file: Any, container: Container) -> None:
    digest = hashlib.sha256()
    for piece in _pieces(container):
        digest.update(piece)
        file.write(piece)
    file.write(digest.digest())


def _pieces(container: Container) -> Iterator[Any]:
    arrays = [_little_endian(array) for array in container.arrays]
    header = {
        "arrays": [[array.dtype.str, list(array.shape)] for array in arrays],
        "content": container.content,
        "versions": container.versions,
    }
    text = json.dumps(header, allow_nan=False, separators=(",", ":")).encode()
    text += b" " * (-(_PREFIX.size + len(text)) % _ALIGNMENT)
    yield _PREFIX.pack(_MAGIC, FORMAT, len(text))
    yield text
    for array in arrays:
        yield array.reshape(-1).view(np.uint8).data
        yield bytes(-array.nbytes % _ALIGNMENT)


def _little_endian(array: Array) -> Array:
    return np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")


def read(path: str | os.PathLike[str]) -> Container:
    """Read a file, or say what is wrong with it."""
    name = os.fspath(path)
    data = _read_bytes(name)
    if hashlib.sha256(data[:-_CHECKSUM_BYTES].data).digest() != data[-_CHECKSUM_BYTES:].tobytes():
        raise ModelFileError(f"{name} is damaged: its checksum does not fit; load another copy of it.")
    try:
        return _parse(data[:-_CHECKSUM_BYTES])
    except FAULTS as error:
        raise ModelFileError(f"{name} is damaged, or was not written by gbmap: {describe(error)}.") from error


def _read_bytes(name: str) -> Array:
    """Return the bytes of a file that begins like a model.

    They are read, not mapped: a mapped file that somebody cuts short meanwhile ends the process.
    """
    with open(name, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        prefix = file.read(_PREFIX.size)
        if size < _PREFIX.size + _CHECKSUM_BYTES or len(prefix) < _PREFIX.size:
            raise ModelFileError(f"{name} is no gbmap model: it has {size} bytes only.")
        magic, version, _ = _PREFIX.unpack(prefix)
        if magic != _MAGIC:
            raise ModelFileError(f"{name} is no gbmap model: it does not begin like one.")
        if version != FORMAT:
            raise ModelFileError(
                f"{name} has format {version}, but this version of gbmap reads formats up to {FORMAT}; "
                "install a newer gbmap, or load a copy that is not damaged."
            )
        data = np.empty(size, dtype=np.uint8)
        file.seek(0)
        if file.readinto(data.data) != size:
            raise ModelFileError(f"{name} changed while it was read; load it again.")
        return data


def _parse(data: Array) -> Container:
    """Return what the bytes before the checksum hold."""
    start = _PREFIX.size + _PREFIX.unpack_from(data.data)[2]
    if start > len(data) or start % _ALIGNMENT:
        raise ValueError("the header does not fit the file")
    header = json.loads(
        str(data[_PREFIX.size : start].data, "ascii"),
        object_pairs_hook=_unique,
        parse_constant=_finite,
        parse_float=_finite,
        parse_int=_whole,
    )
    arrays = []
    for kind, shape in header["arrays"]:
        stop = start + _n_bytes(kind, shape, len(data))
        if stop > len(data):
            raise ValueError(f"an array of shape {shape} is longer than the file")
        arrays.append(_view(data[start:stop], _TYPES[kind]).reshape(shape))
        start = stop + -stop % _ALIGNMENT
    if start != len(data):
        raise ValueError("the arrays do not fill the file")
    return Container(header["content"], arrays, _versions(header["versions"]))


def _view(data: Array, dtype: np.dtype[Any]) -> Array:
    if dtype == np.bool_ and data.max(initial=0) > 1:
        raise ValueError("a truth value that is neither true nor false")
    return data.view(dtype).astype(dtype.newbyteorder("="), copy=False)


def _n_bytes(kind: Any, shape: Any, most: int) -> int:
    if kind not in _TYPES:
        raise ValueError(f"an array of the unknown type {kind!r}")
    # Empty arrays need no bytes, so that their shapes are bounded too.
    if len(shape) > _MOST_DIMENSIONS or any(type(n) is not int or not 0 <= n <= most for n in shape):
        raise ValueError(f"an array of shape {shape}")
    return int(math.prod(shape) * _TYPES[kind].itemsize)


def _versions(content: Any) -> dict[str, str]:
    if not isinstance(content, dict) or not all(isinstance(text, str) for text in content.values()):
        raise ValueError("versions that are no text")
    return content


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a name that occurs twice")
    return members


def _whole(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise ValueError(f"a number of {len(text)} digits")
    return int(text)


def _finite(text: str) -> float:
    if len(text) > _MOST_DIGITS:
        raise ValueError(f"a number of {len(text)} digits")
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text[:20]}")
    return number
