"""What a command says: results on standard output, as text or JSON; progress on standard error."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Any, TextIO

from gbmap._utils.plain import plain
from gbmap._utils.text import duration, inert

_SECONDS_BETWEEN_LINES = 2.0  # of progress that goes to a file: it shows life, and stays short
_IS_WINDOWS = sys.platform == "win32"
_WIDE = 1000  # columns of a page that is no terminal, so that programs find a row in one line


_UNITS = {"fitting": "learners", "calibrating": "", "writing the page": ""}  # of steps that count no rows

Progress = Callable[[str, int, int | None], None]


@dataclass(frozen=True)
class Screen:
    """Where a command writes."""

    json: bool = False  # whether the result is one JSON document
    quiet: bool = False  # whether to leave out progress and notes

    def result(self, document: dict[str, Any], show: Callable[[Page, dict[str, Any]], None]) -> None:
        """Print a document as JSON, or let `show` write it on a page."""
        if self.json:
            write(json.dumps(plain(document), indent=2, allow_nan=False) + "\n")
        else:
            page = Page()
            show(page, document)
            page.print()

    def note(self, line: str) -> None:
        """Write a line to standard error that the result does not need."""
        if not self.quiet:
            say(line)

    @contextmanager
    def progress(self) -> Iterator[Progress]:
        """Yield a function that is told how far each step has come: its name, done, total or None."""
        if self.quiet:
            yield lambda step, done, total: None
        elif sys.stderr.isatty():
            with _bars() as progress:
                yield progress
        else:
            yield _lines()


class Page:
    """Lines and tables, written at once at the end. Every text is shown as it is, never as markup."""

    def __init__(self) -> None:
        self._parts: list[Any] = []

    def line(self, text: Any = "") -> None:
        """Add a line of text."""
        from rich.text import Text

        self._parts.append(Text(inert(text)))

    def heading(self, text: str) -> None:
        """Add an empty line and a heading."""
        from rich.text import Text

        self.line()
        self._parts.append(Text(inert(text), style="bold"))

    def table(
        self,
        names: Sequence[str],
        rows: Sequence[Sequence[Any]],
        numbers: Sequence[int] = (),
        most: int | None = None,
    ) -> None:
        """Add a table of the first rows; columns at the positions `numbers` are set to the right."""
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 2), header_style="dim", show_edge=False)
        for position, name in enumerate(names):
            table.add_column(
                Text(inert(name)), justify="right" if position in numbers else "left", overflow="fold"
            )
        for row in rows[:most]:
            table.add_row(*(Text(inert(cell)) for cell in row))
        self._parts.append(table)
        if most is not None and len(rows) > most:
            self.line(f"... and {len(rows) - most} more; --json has them all.")

    def print(self) -> None:
        """Write everything to standard output."""
        from rich.console import Console

        width = None if sys.stdout.isatty() else _WIDE
        console = Console(file=sys.stdout, width=width)
        with console.capture() as capture:
            for part in self._parts:
                console.print(part, soft_wrap=False)
        write("\n".join(line.rstrip() for line in capture.get().split("\n")))


def say(line: str) -> None:
    """Write a line to standard error, wherever that leads."""
    _put(sys.stderr, line + "\n")


def is_unread(error: BaseException) -> bool:
    """Return whether a stream could not be written to since nobody reads it any more."""
    is_invalid = isinstance(error, OSError) and (error.errno, error.filename) == (errno.EINVAL, None)
    return isinstance(error, BrokenPipeError) or (_IS_WINDOWS and is_invalid)  # which is what Windows says


def flush(stream: TextIO, *, whatever_happens: bool = False) -> None:
    """Flush a stream; if nobody reads it any more, or whatever happens, send what is left nowhere."""
    try:
        stream.flush()
    except OSError as error:
        if not (whatever_happens or is_unread(error)):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def write(text: str) -> None:
    """Write text to standard output."""
    _put(sys.stdout, text)
    flush(sys.stdout)


def _put(stream: TextIO, text: str) -> None:
    encoding = stream.encoding or "utf-8"
    try:
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    except OSError as error:
        if not is_unread(error):
            raise
        flush(stream)


@contextmanager
def _bars() -> Iterator[Progress]:
    from rich import progress as bars
    from rich.console import Console

    columns = (
        bars.TextColumn("{task.description}"),
        bars.BarColumn(),
        bars.TextColumn("{task.fields[count]}"),
        bars.TimeElapsedColumn(),
    )
    with bars.Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        tasks: dict[str, Any] = {}
        pace = _Pace()

        def progress(step: str, done: int, total: int | None) -> None:
            if step not in tasks:
                tasks[step] = shown.add_task(step, total=total, count="")
            count = pace.told(step, done, total, monotonic())
            shown.update(tasks[step], completed=done, total=total, count=count)

        yield progress


def _lines() -> Progress:
    last, pace = monotonic(), _Pace()

    def progress(step: str, done: int, total: int | None) -> None:
        nonlocal last
        now = monotonic()
        count = pace.told(step, done, total, now)
        if now - last >= _SECONDS_BETWEEN_LINES:
            last = now
            say(f"{step} {count}".rstrip())

    return progress


class _Pace:
    """Says how far a step has come and, by the pace so far, how long it goes on."""

    def __init__(self) -> None:
        self._began: dict[str, tuple[float, int]] = {}  # when each step was first told of, and how far it was

    def told(self, step: str, done: int, total: int | None, now: float) -> str:
        unit = _UNITS.get(step, "rows")
        start, already = self._began.setdefault(step, (now, done))
        if not unit:
            return ""
        if total is None:
            return f"{done:,} {unit}"
        # A fit ends when another learner is not worth its while, mostly before the last.
        most = "at most " if step == "fitting" and done < total else ""
        count = f"{done:,} of {most}{total:,} {unit}"
        if not already < done < total or now == start:
            return count
        left = (now - start) / (done - already) * (total - done)
        return f"{count}, {most or 'about '}{duration(left)} left"
