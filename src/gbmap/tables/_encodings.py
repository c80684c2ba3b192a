"""What text in a file is encoded in: told by its first bytes, named by the user, or as Windows does it."""

from __future__ import annotations

import codecs
import io
import re
import warnings
from typing import Any

from gbmap.tables._sources import HEAD, Source, Stream
from gbmap.tables.errors import TableError, shown

UTF_8 = "utf-8-sig"
_MARKS = {
    codecs.BOM_UTF8: UTF_8,
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_WINDOWS = "cp1252"
_IN_A_ROW = re.compile("[\u00c0-\u024f]{3}")  # letters with accents, which come alone in Western Europe
_AT_ONCE = 1 << 20


def known_encoding(name: str) -> str:
    """Return the name of an encoding of text that Python knows, or refuse it."""
    try:
        codec = codecs.lookup(name)
    except (LookupError, ValueError):
        codec = None
    if codec is None or not getattr(codec, "_is_text_encoding", True):
        raise TableError(
            f"{shown(name)} is no encoding that is known, as utf-8, utf-16, cp1252 and latin-1 are."
        )
    return UTF_8 if codec.name in ("utf-8", UTF_8) else codec.name


def encoding_of(source: Source, asked: str | None, fallback: str | None) -> str:
    """Return what the text of a source is encoded in.

    `asked` holds whatever the file says, `fallback` where it says nothing.
    """
    if asked:
        return known_encoding(asked)
    head = source.head
    for mark, encoding in sorted(_MARKS.items(), key=lambda each: -len(each[0])):
        if head.startswith(mark):
            return encoding
    if b"\0" in head[:_AT_ONCE]:
        return _wide(source)
    try:
        # The head may end within a character.
        codecs.getincrementaldecoder("utf-8")().decode(head, final=len(head) < HEAD)
    except UnicodeDecodeError as error:
        return known_encoding(fallback) if fallback else _of_windows(source, error)
    return UTF_8


def _wide(source: Source) -> str:
    """Return the encoding of text without a mark in which every other byte is zero."""
    start = source.head[:4000]
    for encoding, zeros in (("utf-16-le", start[1::2]), ("utf-16-be", start[::2])):
        if len(zeros) > 1 and zeros.count(0) > 0.7 * len(zeros) and start.count(0) == zeros.count(0):
            return encoding
    raise TableError(
        f"{source.label} holds bytes of value zero, so it is neither text nor Parquet; if it is text, name "
        "its encoding (--encoding utf-16-le)."
    )


def _of_windows(source: Source, error: UnicodeDecodeError) -> str:
    """Return the encoding of Windows in Western Europe, if the text makes sense in it, and say so."""
    try:
        makes_sense = _IN_A_ROW.search(source.head.decode(_WINDOWS)) is None
    except UnicodeDecodeError:
        makes_sense = False
    if not makes_sense:
        line = source.head[: error.start].count(b"\n") + 1
        raise TableError(
            f"{source.label} is not in UTF-8: line {line:,} holds {source.head[error.start :][:1]!r}; "
            "name its encoding (--encoding cp1251, for instance), or store it in UTF-8."
        ) from error
    warnings.warn(
        f"{source.label} is not in UTF-8 and was read as cp1252, which Windows writes in Western Europe; "
        "--encoding names another one.",
        stacklevel=2,
    )
    return _WINDOWS


def decoded_head(source: Source, encoding: str) -> str:
    """Return the first bytes of a source as text, without a mark of the encoding."""
    try:
        decoder = codecs.getincrementaldecoder(encoding)()
        return decoder.decode(source.head, final=len(source.head) < HEAD).removeprefix("\ufeff")
    except UnicodeError as error:
        raise TableError(_undecodable(source.label, encoding, error)) from error


def _undecodable(label: str, encoding: str, error: UnicodeError) -> str:
    name = encoding.removesuffix("-sig").upper()
    return f"{label} is not in {name}: {getattr(error, 'reason', error)}; name its encoding (--encoding)."


class Utf8(io.RawIOBase):
    """The text of a stream as UTF-8, whatever it is encoded in."""

    def __init__(self, stream: Stream, encoding: str, label: str):
        self._stream, self._encoding, self._label = stream, encoding, label
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._rest = b""
        self._is_start = True

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        n = 0
        while n < len(buffer) and (self._rest or self._fill()):
            part, self._rest = self._rest[: len(buffer) - n], self._rest[len(buffer) - n :]
            buffer[n : n + len(part)] = part
            n += len(part)
        return n

    def _fill(self) -> bool:
        """Decode what comes next; False at the end."""
        while not self._rest:
            data = self._stream.read(_AT_ONCE) or b""
            try:
                text = self._decoder.decode(data, final=not data)
                self._rest = (text.removeprefix("\ufeff") if self._is_start else text).encode()
            except UnicodeError as error:
                raise TableError(_undecodable(self._label, self._encoding, error)) from error
            self._is_start = self._is_start and not text
            if not data:
                return bool(self._rest)
        return True

    def close(self) -> None:
        self._stream.close()
        super().close()


def text_of(source: Source, encoding: str) -> Any:
    """Return the bytes of a source in UTF-8; a mark at their beginning may stay."""
    stream = source.open()
    return stream if encoding == UTF_8 else Utf8(stream, encoding, source.label)
