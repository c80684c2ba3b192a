"""Damaged model files: what became of them."""

from __future__ import annotations

import json
from collections.abc import Sequence

from benchmarks.damage.formats import FORMATS
from benchmarks.markdown import NOTHING, number, table
from benchmarks.records import OK, Row
from benchmarks.verdicts import PASS, SHORT

TITLES = {"gbmap-forged": "gbmap, forged", "pickle": "gbmap by pickle", "skops": "gbmap by skops"}
HEADER = {
    "crash": "crash",
    "hang": "hang",
    "memory": "too much memory",
    "different": "silently different",
    "error": "clean error",
    "unchanged": "unchanged",
}
BAD = ("crash", "hang", "memory", "different")

INTRODUCTION = """\
Model files with flipped bits, a cut end, zeroed spans, swapped or huge numbers, 100,000 nested brackets,
keys that occur twice and claims of 2^60 elements, an eighth of the files each: on the text of text formats,
on the bytes of others, on both for gbmap. A hundred files share a child process that loads each and
predicts. *Crash*: the process ended. *Hang*: ten seconds without an answer. *Too much memory*: an allocation
failed at 1 GB beyond the start; or the resident size grew by more than 16 MB and than twice what the sound
file takes; or, for formats that are read in Python, more than twice the file's need was allocated: what the
sound file takes, and the bytes that the damaged one has more. *Most memory* is the largest multiple of that
need. *Silently different*: a prediction other than that of the sound file."""

FORGED = """\
*Forged* are files of gbmap whose checksum was made to fit after the damage, as somebody with intent would. A
number that was changed so is then another model, which no reader can tell from the right one: only the other
three columns must be zero. gbmap's files hold a regressor, a classifier, a pipeline and a drift detector in
turn; so do those by pickle and skops. The peers' hold a regressor of twenty trees."""


def section(rows: Sequence[Row]) -> str:
    """One line per format, and whether gbmap's are as they should be."""
    found = {row["method"]: row for row in rows}
    known = [name for name in FORMATS if name in found]
    header = ["format", "files", *HEADER.values(), "most memory"]
    return "\n\n".join(
        [
            "## Damaged model files",
            INTRODUCTION,
            table(header, [_line(name, found[name]) for name in known]),
            FORGED,
            table(["target", "verdict"], _verdicts(found)),
        ]
    )


def finding(rows: Sequence[Row]) -> str:
    """What became of gbmap's damaged files."""
    found = {row["method"]: row for row in rows}
    return " ".join(f"{verdict}: {text}." for text, verdict in _verdicts(found))


def _line(name: str, row: Row) -> list[str]:
    title = TITLES.get(name, name)
    if row["status"] != OK:
        return [title, row["status"], *([NOTHING] * (len(HEADER) + 1))]
    extra = json.loads(row["extra"])
    counts = [str(extra["outcomes"][outcome]) for outcome in HEADER]
    most = number(extra["most_traced"], 2) if FORMATS[name].in_python else NOTHING
    return [title, row["n"], *counts, most]


def _verdicts(found: dict[str, Row]) -> list[list[str]]:
    lines = []
    for name, bad in (("gbmap", BAD), ("gbmap-forged", BAD[:3])):
        if name in found and found[name]["status"] == OK:
            outcomes = json.loads(found[name]["extra"])["outcomes"]
            count = sum(outcomes[outcome] for outcome in bad)
            words = ", ".join(HEADER[outcome] for outcome in bad)
            text = f"{TITLES.get(name, name)}: no {words} in {found[name]['n']} files"
            lines.append([text, PASS if count == 0 else f"{SHORT}, {count} files"])
    return lines
