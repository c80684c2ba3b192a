"""Where the bytes of a table come from: a path, standard input or an open file; read again where possible."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import sys
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gbmap.tables.errors import TableError, readable

HEAD = 1 << 20  # the bytes that are looked at before the rest is read
_GZIP = b"\x1f\x8b"


class Source:
    """The bytes of one table, unpacked if they are compressed by gzip.

    Attributes
    ----------
    label : str
        What messages call it.
    suffix : str
        The end of its name in lower case, ".gz" aside.
    head : bytes
        The first 2^20 bytes.
    """

    def __init__(self, given: Any):
        self._path: Path | None = None
        self._file: Any = None
        self._start: int | None = None  # where a file that can go back begins
        if isinstance(given, str | os.PathLike) and given != "-":
            self._find(given)
        elif given == "-" or hasattr(given, "read"):
            self._take(given)
        else:
            raise TypeError(
                f"source must be a path, '-' or a file open for reading bytes, got {type(given).__name__}."
            )
        name = Path(self.label.lower())
        self.suffix = Path(name.stem).suffix if name.suffix == ".gz" else name.suffix
        self.head = self._read_head()

    def _find(self, given: Any) -> None:
        self.label, path = os.fspath(given), _existing(given)
        if path.is_file():
            self._path = path
            return
        with readable(self.label, "a file"):  # a pipe, of which opening it again is not the beginning
            self._file = path.open("rb")
            weakref.finalize(self, self._file.close)

    def _take(self, given: Any) -> None:
        self._file = sys.stdin.buffer if given == "-" else given
        self.label = "standard input" if given == "-" else str(getattr(given, "name", "the file"))
        if given != "-" and given.seekable():
            self._start = given.tell()

    def _read_head(self) -> bytes:
        with readable(self.label, "a file"):
            stream = self.open()
            head = stream.read(HEAD) or b""
            if self.can_repeat:
                stream.close()
            else:
                self._file = Stream(stream, owned=False, before=head)
        return head

    @property
    def can_repeat(self) -> bool:
        """Whether the bytes can be read more than once."""
        return self._path is not None or self._start is not None

    def open(self) -> Stream:
        """Return the bytes from the start, unpacked; an error if they have been read and are gone."""
        if self._path is not None:
            return self._unpacked(Stream(self._path.open("rb"), owned=True))
        if self._file is None:
            raise TableError(f"{self.label} can be read only once; store it in a file first.")
        stream = Stream(self._file, owned=False)
        if self._start is not None:
            self._file.seek(self._start)
        else:
            self._file = None
        return self._unpacked(stream)

    def _unpacked(self, stream: Stream) -> Stream:
        start = stream.read(len(_GZIP)) or b""
        whole = Stream(stream, owned=True, before=start)
        self._is_packed = start == _GZIP
        return Stream(gzip.GzipFile(fileobj=whole), owned=True) if self._is_packed else whole

    @contextmanager
    def seekable(self) -> Iterator[Any]:
        """Give a file that can be read at any place; what cannot is copied to a temporary one."""
        if self._path is not None and not self._is_packed:
            with self._path.open("rb") as file:
                yield file
        else:
            if self._start != 0 or self._is_packed:
                self.spool()
            yield self._file

    def spool(self) -> None:
        """Copy bytes that can be read only once, unpacked, to a temporary file that stands in for them."""
        file = tempfile.TemporaryFile(prefix="gbmap-")  # noqa: SIM115 - it lives as long as this
        weakref.finalize(self, file.close)
        with readable(self.label, "a file"), self.open() as stream:
            shutil.copyfileobj(stream, file)
        self._path, self._file, self._start, self._is_packed = None, file, 0, False


class Stream(io.RawIOBase):
    """Bytes of a file, after some that were read from it before; closes the file only if it owns it."""

    def __init__(self, file: Any, *, owned: bool, before: bytes = b""):
        self._file, self._owned, self._before = file, owned, before

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer, or as much of it as there is; arrow takes less for the end."""
        n = 0
        while n < len(buffer) and (data := self._next(len(buffer) - n)):
            buffer[n : n + len(data)] = data
            n += len(data)
        return n

    def _next(self, most: int) -> bytes:
        if self._before:
            data, self._before = self._before[:most], self._before[most:]
            return data
        data = self._file.read(most)
        if not isinstance(data, bytes | None):
            raise TypeError("source must be a file open for reading bytes, not text.")
        return data or b""

    def close(self) -> None:
        """Close the file, if it is owned."""
        if self._owned and not self.closed:
            self._file.close()
        super().close()


def _existing(given: Any) -> Path:
    path, label = Path(given), os.fspath(given)
    try:
        is_folder, exists = path.is_dir(), path.exists()
    except (OSError, ValueError) as error:
        raise TableError(f"{label!r} is no path: {error}.") from error
    if is_folder:
        raise TableError(f"{label} is a folder; give one file of it.")
    if not exists:
        raise TableError(f"{label} does not exist.")
    return path
