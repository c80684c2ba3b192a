"""How far maps depend on the seed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from statistics import mean

from benchmarks.experiments.stability import AS_THEY_COME, DRAWN, FITS, OTHER_ROWS, PROBLEMS
from benchmarks.markdown import NOTHING, number, table
from benchmarks.records import OK, Row, matches

METHODS = (AS_THEY_COME, OTHER_ROWS, DRAWN, *(fit for fit in FITS if fit not in (AS_THEY_COME, OTHER_ROWS)))
TITLES = {
    AS_THEY_COME: "as they come",
    OTHER_ROWS: "other rows",
    DRAWN: "on the map",
    "five starts": "five starts, `n_init=5`",
}
PLACES = {"first": "first", "second": "second"}

INTRODUCTION = """\
Five fits of the same rows with seeds 0 to 4, and the correlation over all rows between a coordinate of one
fit and the same coordinate of another: the mean over the ten pairs of seeds, the least in brackets. A
coordinate whose sign turned would have a negative one. *As they come*: the first two coordinates of
`transform`, with default settings. *Other rows*: the same where each fit also knows another nine tenths
of the rows. *On the map*: the two that `EmbeddingDisplay` draws by default, principal components of all
coordinates, the first turned so that it rises with the prediction, the second so that its longer tail points
up. *Two learners*: `n_components=2`. *digits* asks for even or odd. Seconds are
processor seconds of one fit on one thread."""

READ = """\
A value near one: the axis means the same whatever the seed. The seed has no part in the first two learners,
and refinement leaves the second one as it is and moves the first, of numbers. What other rows change in it
is what several learners that do about equally leave open. From the third coordinate on, and in principal
components, the seed decides among such learners: look at the predictions, which agree, fix `random_state`,
or look at the first two coordinates."""


def section(rows: Sequence[Row]) -> str:
    """One line a table, one group of columns a way to fit or to look."""
    known = [name for name in PROBLEMS if any(matches(row, problem=name, status=OK) for row in rows)]
    header = ["data set", "coordinate", *(TITLES.get(method, method) for method in METHODS)]
    lines = [
        [name, title, *(_cell(rows, name, method, place) for method in METHODS)]
        for name in known
        for place, title in PLACES.items()
    ]
    seconds = [[name, "seconds", *(_seconds(rows, name, method) for method in METHODS)] for name in known]
    return "\n\n".join(
        ["## How far maps depend on the seed", INTRODUCTION, table(header, lines + seconds), READ]
    )


def finding(rows: Sequence[Row]) -> str:
    """The agreement of the axes that are drawn."""
    told = []
    for place in PLACES:
        means = [mean(found) for name in PROBLEMS if (found := _found(rows, name, DRAWN, place))]
        told += [f"{place} axis {min(means):.2f} to {max(means):.2f}"] if means else []
    return f"Correlation of maps over seeds: {', '.join(told)}." if told else ""


def _cell(rows: Sequence[Row], name: str, method: str, place: str) -> str:
    found = _found(rows, name, method, place)
    return f"{mean(found):.2f} ({min(found):.2f})" if found else NOTHING


def _found(rows: Sequence[Row], name: str, method: str, place: str) -> list[float]:
    mine = [row for row in rows if matches(row, problem=name, method=method, status=OK)]
    return list(json.loads(mine[0]["extra"])[place]) if mine else []


def _seconds(rows: Sequence[Row], name: str, method: str) -> str:
    mine = [row for row in rows if matches(row, problem=name, method=method, status=OK)]
    return number(float(mine[0]["seconds"])) if mine else NOTHING
