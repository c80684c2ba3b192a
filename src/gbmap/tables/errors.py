"""What is wrong with a table, in one sentence."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

from gbmap._utils.optional import require

_LONGEST_VALUE = 60


class TableError(ValueError):
    """Data that cannot be read or used; the message names the file, the column, the row and the way out.

    Rows are counted from 1, after the header; empty lines do not count.

    Examples
    --------
    >>> from gbmap.tables import TableError, open_table
    >>> try:
    ...     open_table("nowhere.csv")
    ... except TableError as error:
    ...     print(error)
    nowhere.csv does not exist.
    """


def shown(value: Any) -> str:
    """Return a value as it appears in a message: in quotes, in one line, and not too long."""
    text = repr(value if isinstance(value, str) else str(value))
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 4]}...{text[0]}"


def listed(names: Any, most: int = 10) -> str:
    """Return names as they appear in a message."""
    names = list(names)
    rest = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(shown(name) for name in names[:most]) + rest


def listed_near(names: Any, wanted: str) -> str:
    """Return names as they appear in a message, those first that are spelled nearly as the wanted one."""
    near = get_close_matches(wanted, names)
    return listed([*near, *(name for name in names if name not in near)])


@contextmanager
def readable(label: str, what: str) -> Iterator[None]:
    """Turn what the reading of a file may raise into a TableError."""
    pyarrow = require("pyarrow", "cli")
    try:
        yield
    except TableError:
        raise
    except (EOFError, zlib.error) as error:
        raise TableError(f"{label} is a compressed file that is damaged: {_first_line(error)}.") from error
    except (pyarrow.ArrowException, OSError, MemoryError, ValueError) as error:
        raise TableError(f"{label} cannot be read as {what}: {_first_line(error)}.") from error


def _first_line(error: BaseException) -> str:
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return text.strip().partition("\n")[0][:200].rstrip(".")
