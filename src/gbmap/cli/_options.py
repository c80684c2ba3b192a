"""The arguments and options that several commands share, and what is asked of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from gbmap.cli._errors import UsageError

_TABLE = "A CSV, TSV, JSON lines (also .gz), Excel or Parquet file; - is standard input."


def existing(path: Path | None) -> Path | None:
    """Refuse a path that leads nowhere, or to a folder."""
    if path is None or str(path) == "-" or (path.exists() and not path.is_dir()):
        return path
    raise typer.BadParameter(f"{path} is a folder." if path.is_dir() else f"{path} does not exist.")


def _some(number: int | None) -> int | None:
    if number == 0:
        raise typer.BadParameter("0 threads do nothing; give 1 or more, or -1 for all cores.")
    return number


def finite(number: float | None) -> float | None:
    """Refuse what an option may let through: infinity without an upper bound, and in some versions NaN."""
    if number is not None and not math.isfinite(number):
        raise typer.BadParameter(f"{number} is no finite number.")
    return number


def _positive(number: float | None) -> float | None:
    if number is not None and not 0 < number < math.inf:
        raise typer.BadParameter(f"{number:g} is no finite number above 0.")
    return number


def _ridge(text: Any) -> float | str:
    """Return a ridge: a number, or "auto"."""
    if text == "auto":
        return "auto"
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf:
        raise typer.BadParameter(f"{text} is neither auto nor a finite number of at least 0.")
    return number


def _components(text: Any) -> int | str:
    """Return a number of learners, or "auto"."""
    if text == "auto":
        return "auto"
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise typer.BadParameter(f"{text} is neither auto nor a whole number of at least 1.")
    return number


def _file(metavar: str, text: str) -> Any:
    return typer.Argument(metavar=metavar, help=text, callback=existing, show_default=False)


Data = Annotated[Path, _file("DATA", _TABLE)]
Model = Annotated[Path, _file("MODEL", "A model file, as gbmap fit writes it.")]
OtherModel = Annotated[Path, _file("MODEL2", "The model to compare it with.")]
NewData = Annotated[
    Path | None,
    typer.Option("--new", metavar="DATA2", callback=existing, help="A later table, to be watched for drift."),
]
Target = Annotated[
    str, typer.Option("--target", "-t", metavar="COLUMN", help="The column to predict.", show_default=False)
]
Task = Annotated[
    Literal["regression", "classification"] | None,
    typer.Option(metavar="TASK", help="regression or classification; guessed from the target if not given."),
]
Components = Annotated[
    Any,
    typer.Option(
        "--components",
        "-m",
        metavar="NUMBER",
        parser=_components,
        help="Learners: coordinates of the map; auto, the default: the fit finds how many.",
    ),
]
Beta = Annotated[
    float | None,
    typer.Option(
        metavar="NUMBER",
        callback=_positive,
        help="Sharpness of the bends, large is close to ReLU; 5 by default.",
    ),
]
L2 = Annotated[
    Any,
    typer.Option(
        "--l2",
        metavar="NUMBER",
        parser=_ridge,
        help="Ridge, large for few rows or many columns; auto, the default: the fit finds it.",
    ),
]
Loss = Annotated[
    Literal["squared_error", "huber", "quantile", "log_loss", "exponential", "hinge"] | None,
    typer.Option(
        metavar="LOSS",
        help="squared_error, huber or quantile (the median); for classes log_loss, exponential or hinge. "
        "The first is the default.",
    ),
]
TestSize = Annotated[
    float,
    typer.Option(
        min=0, max=0.9, metavar="SHARE", callback=finite, help="The share of rows held out; 0 fits all."
    ),
]
_SEVERAL = "Repeatable, or several with commas."
Drop = Annotated[list[str] | None, typer.Option(metavar="COLUMN", help=f"A column to leave out. {_SEVERAL}")]
Category = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help=f"A column to take for a category, such as a code. {_SEVERAL}"),
]
Number = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN[=HOW]",
        help="A column to take for numbers; what is none there is missing. HOW is point or comma, the mark "
        f"before decimals. {_SEVERAL}",
    ),
]
Date = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN[=HOW]",
        help="A column to take for dates; what is none there is missing. HOW is dmy, mdy or a format such as "
        f"%d.%m.%Y. {_SEVERAL}",
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="What text in DATA is encoded in, such as cp1251; found out if not given."
    ),
]
Seed = Annotated[
    int, typer.Option(min=0, max=2**32 - 1, metavar="NUMBER", help="Seed of all that is random.")
]
Jobs = Annotated[
    int | None,
    typer.Option(metavar="NUMBER", callback=_some, help="Threads; all cores for large tables."),
]
RowsOut = Annotated[
    str,
    typer.Option(
        "--out",
        "-o",
        metavar="FILE",
        help="Where to: .csv, .tsv, .jsonl (also .gz), .xlsx or .parquet; - is standard output.",
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        "--keep", "-k", metavar="COLUMN", help="A column of DATA to pass on, such as a key. Repeatable."
    ),
]
NoOverwrite = Annotated[
    bool, typer.Option("--no-overwrite", help="Refuse an output that is there, before any work is done.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Neither progress nor notes on standard error.")]


@dataclass(frozen=True)
class Said:
    """What options say of columns, before the table is there whose columns they are."""

    drop: list[str] | None
    category: list[str] | None
    number: list[str] | None
    date: list[str] | None

    def of(self, names: list[str]) -> dict[str, Any]:
        """Return the arguments of a fit to a table with such columns."""
        plain = {"drop": self.drop, "category": self.category}
        formed = {"number": self.number, "date": self.date}
        return {
            **{name: [each for each, _ in _columns(given, names)] for name, given in plain.items()},
            **{name: dict(_columns(given, names)) for name, given in formed.items()},
        }


def _columns(given: list[str] | None, names: list[str]) -> list[tuple[str, str]]:
    """Return the columns that options name, and how they are written; names may hold , and =."""
    found = []
    for text in given or []:
        whole = _column(text, names)
        parts = (
            [whole]
            if whole
            else [_column(part.strip(), names) or (part.strip(), "") for part in text.split(",")]
        )
        found += [part for part in parts if part is not None]
    return found


def _column(text: str, names: list[str]) -> tuple[str, str] | None:
    """Return a column and how it is written, None if there is no such column."""
    cuts = [place for place, sign in enumerate(text) if sign == "="]
    splits = [(text, ""), *((text[:place], text[place + 1 :]) for place in reversed(cuts))]
    return next((split for split in splits if split[0] in names), None)


def kept(keep: list[str] | None, names: list[str]) -> list[str]:
    """Return the columns to pass on, each once; those that are not there are refused."""
    for name in keep or []:
        if name not in names:
            raise UsageError(f"--keep must name columns of the table, {', '.join(names[:20])}; got {name!r}.")
    return list(dict.fromkeys(keep or []))
