"""Files that are there whole or not at all: what everything here that writes a file goes through."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

_STREAMS = {"/dev/stdout": 1, "/dev/stderr": 2}
# Windows does not replace a file while somebody reads it. Seconds between attempts.
_WAITS = (0.01, 0.03, 0.1, 0.3, 1.0) if sys.platform == "win32" else ()
_DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/(\d+)")


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Any]:
    """Yield a binary file to write, which takes the place of another one when all of it is on the disk.

    What goes wrong before, a crash or an interrupt too, leaves the old file as it was. The new one has the
    permissions of the one that it replaces, or those that the system gives to new files. A link stays one:
    the file that it points at is replaced. A device, a pipe or a stream of this process is written to where
    it is.
    """
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".gbmap-{secrets.token_hex(8)}.tmp")
    try:
        with _writable(path, target, temporary) as file:
            yield file
    except OSError as error:
        if error.errno is None or error.filename not in (None, str(target), str(temporary)):
            raise
        # About the file that the user named, not what stands for it.
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


def is_place_of_file(path: str | os.PathLike[str]) -> bool:
    """Return whether what is written to a path becomes a file there, rather than going to what is there.

    A device, a pipe or an open file of this process is no such place.
    """
    target = Path(os.path.realpath(path))
    return _open_descriptor(path) is None and (target.is_file() or not target.exists())


def _writable(path: str | os.PathLike[str], target: Path, temporary: Path) -> AbstractContextManager[Any]:
    descriptor = _open_descriptor(path)
    if descriptor is not None:
        return _shared(descriptor)
    if target.exists() and not target.is_file():
        return open(target, "wb")
    return _beside(target, temporary)


def _open_descriptor(path: str | os.PathLike[str]) -> int | None:
    """Return the number of the open file that a path stands for, None if it is a path like others."""
    name = os.path.abspath(path)
    match = _DESCRIPTOR.fullmatch(name)
    return int(match[1]) if match else _STREAMS.get(name)


@contextmanager
def _shared(descriptor: int) -> Iterator[Any]:
    """Yield an open file of this process: what is printed before and after keeps its place around it."""
    for stream in filter(None, (sys.stdout, sys.stderr)):
        stream.flush()
    with os.fdopen(os.dup(descriptor), "wb") as file:
        yield file


@contextmanager
def _beside(target: Path, temporary: Path) -> Iterator[Any]:
    # What is private is so from the first byte on.
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666
    try:
        with open(str(temporary), "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        _move(temporary, target)
    finally:
        with suppress(OSError):  # it is in its place, or never came to be
            temporary.chmod(stat.S_IREAD | stat.S_IWRITE)  # Windows removes no file that is read-only
            temporary.unlink()
    with suppress(OSError):  # the file is in its place, whether or not the folder can be synchronised
        _sync_folder(target.parent)


def _move(temporary: Path, target: Path) -> None:
    for wait in _WAITS:
        try:
            return os.replace(str(temporary), str(target))
        except PermissionError:
            time.sleep(wait)
    return os.replace(str(temporary), str(target))


def _sync_folder(folder: Path) -> None:
    """Let the new name survive a loss of power, where folders can be opened for that."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
