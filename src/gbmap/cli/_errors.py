"""What goes wrong becomes one sentence and an exit code."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from enum import IntEnum
from functools import wraps
from typing import Any

import typer

from gbmap._utils.text import sentence
from gbmap.cli._screen import is_unread, say


class Code(IntEnum):
    """How a command ended."""

    FINE = 0
    DRIFT = 1
    USAGE = 2
    DATA = 3
    FAULT = 70  # as in sysexits.h; a low number would be taken for one of the others
    INTERRUPTED = 130  # as shells report it


class UsageError(ValueError):
    """A command that cannot be carried out as it was given."""


def guarded(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command that ends with an exit code, whatever happens in it."""

    @wraps(command)
    def run(*arguments: Any, **options: Any) -> Any:
        try:
            return command(*arguments, **options)
        except BaseException as error:  # the parser would turn some of them into others
            return fail(error)

    return run


def fail(error: BaseException) -> int:
    """Say what went wrong, and return the exit code."""
    if is_unread(error):  # the reader has seen enough
        return Code.FINE
    if isinstance(error, typer.Exit):
        return error.exit_code
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 0
    if os.environ.get("GBMAP_DEBUG", "") not in ("", "0"):
        traceback.print_exception(error)
    code, message = describe(error)
    say(f"gbmap: {message}")
    return code


def describe(error: BaseException) -> tuple[Code, str]:
    """Return the exit code and the sentence for an error."""
    if isinstance(error, (KeyboardInterrupt, typer.Abort)):
        return Code.INTERRUPTED, "interrupted; no file was written."
    if hasattr(error, "format_message"):  # of the parser
        return Code.USAGE, _of_parser(error)
    if isinstance(error, (UsageError, ImportError)) or type(error).__name__ == "InvalidParameterError":
        return Code.USAGE, sentence(error)
    if isinstance(error, OSError):
        return Code.DATA, sentence(_of_system(error))
    if isinstance(error, MemoryError):
        return Code.DATA, "there is not enough memory for this; give fewer rows."
    if _is_about_values(error):
        return Code.DATA, sentence(error)
    what = sentence(f"{type(error).__name__}: {error}")
    return Code.FAULT, f"this should not have happened: {what}; GBMAP_DEBUG=1 shows where it did."


def _of_parser(error: BaseException) -> str:
    message = sentence(error.format_message()).removesuffix(".")  # type: ignore[attr-defined]
    context = getattr(error, "ctx", None)
    command = "gbmap" if context is None else context.command_path
    return f"{message}; see {command} --help."


def _of_system(error: OSError) -> str:
    if error.strerror is None:
        return str(error)
    what = error.strerror[:1].lower() + error.strerror[1:]
    return f"{what}." if error.filename is None else f"{os.fspath(error.filename)}: {what}."


def _is_about_values(error: BaseException) -> bool:
    """Return whether gbmap or scikit-learn refused a value; one that others refuse is a slip of gbmap's."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    place = str(frames[-1].f_globals.get("__name__", "")) if frames else ""
    return isinstance(error, ValueError) and place.partition(".")[0] in ("gbmap", "sklearn")
