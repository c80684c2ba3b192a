"""One file of plain data: a JSON header, arrays, and a checksum.

    offset  bytes
    0       8     magic: 0x89 "GBMAP" CR LF, which a transfer as text would break
    8       4     format version, little endian like all numbers
    12      8     length of the header
    20      ...   header: JSON in UTF-8, padded with spaces to end at a multiple of 64 bytes
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
import mmap
import os
import secrets
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

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
    """What a file holds: plain content that refers to arrays by their position."""

    content: Any
    arrays: list[Array]
    versions: dict[str, str]


def write(path: str | os.PathLike[str], container: Container) -> None:
    """Write a file at once or not at all: a crash leaves what was there before."""
    target = Path(path)
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as file:
            digest = hashlib.sha256()
            for piece in _pieces(container):
                digest.update(piece)
                file.write(piece)
            file.write(digest.digest())
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _pieces(container: Container) -> Iterator[Any]:
    arrays = [_little_endian(array) for array in container.arrays]
    header = {
        "arrays": [[array.dtype.str, list(array.shape)] for array in arrays],
        "content": container.content,
        "versions": container.versions,
    }
    text = json.dumps(header, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    text += b" " * (-(_PREFIX.size + len(text)) % _ALIGNMENT)
    yield _PREFIX.pack(_MAGIC, FORMAT, len(text))
    yield text
    for array in arrays:
        yield array.reshape(-1).view(np.uint8).data
        yield bytes(-array.nbytes % _ALIGNMENT)


def _little_endian(array: Array) -> Array:
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))


def _sync_folder(folder: Path) -> None:
    """Let the new name survive a loss of power, where folders can be opened for that."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read(path: str | os.PathLike[str]) -> Container:
    """Read a file, or say what is wrong with it."""
    name = os.fspath(path)
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size < _PREFIX.size + _CHECKSUM_BYTES:
            raise ModelFileError(f"{name} is no gbmap model: it has {size} bytes only.")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            magic, version, length = _PREFIX.unpack_from(data)
            if magic != _MAGIC:
                raise ModelFileError(f"{name} is no gbmap model: it does not begin like one.")
            if version != FORMAT:
                raise ModelFileError(
                    f"{name} has format {version}, but this version of gbmap reads formats up to {FORMAT}; "
                    "install a newer gbmap, or load a copy that is not damaged."
                )
            _check_sum(data, size, name)
            try:
                return _parse(data, _PREFIX.size + length, size - _CHECKSUM_BYTES)
            except (KeyError, TypeError, ValueError, RecursionError) as error:
                raise ModelFileError(f"{name} is damaged, or was not written by gbmap: {error}") from error


def _check_sum(data: mmap.mmap, size: int, name: str) -> None:
    digest = hashlib.sha256()
    with memoryview(data) as view:
        digest.update(view[: size - _CHECKSUM_BYTES])
        if digest.digest() != view[size - _CHECKSUM_BYTES :]:
            raise ModelFileError(f"{name} is damaged: its checksum does not fit; load another copy of it.")


def _parse(data: mmap.mmap, start: int, end: int) -> Container:
    """Return the content between the prefix and the checksum; `start` is where the arrays begin."""
    if start > end:
        raise ValueError("the header is longer than the file")
    header = json.loads(
        data[_PREFIX.size : start].decode(), object_pairs_hook=_unique, parse_constant=_refuse_constant
    )
    arrays = []
    for kind, shape in header["arrays"]:
        dtype, n_bytes = _TYPES[kind], _n_bytes(kind, shape)
        if n_bytes > end - start:
            raise ValueError(f"an array of shape {shape} is longer than the file")
        arrays.append(np.frombuffer(data[start : start + n_bytes], dtype).reshape(shape).copy())
        start += n_bytes + -n_bytes % _ALIGNMENT
    if start != end:
        raise ValueError("the arrays do not fill the file")
    return Container(header["content"], arrays, dict(header["versions"]))


def _n_bytes(kind: str, shape: list[int]) -> int:
    if len(shape) > _MOST_DIMENSIONS or any(type(n) is not int or n < 0 for n in shape):
        raise ValueError(f"an array of shape {shape}")
    return math.prod(shape) * _TYPES[kind].itemsize


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a name that occurs twice")
    return members


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"a number that is {name}")
