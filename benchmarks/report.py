"""Report: ``python -m benchmarks.report`` writes ``benchmarks/RESULTS.md`` from ``benchmarks/results``."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.records import RESULTS, Row, latest, read_rows
from benchmarks.sections import (
    damage,
    distances,
    drift,
    drift_loss,
    explaining,
    linearity,
    memory,
    neighbour_scores,
    neighbours,
    passes,
    scaling,
    small,
)

OUTPUT = Path(__file__).parent / "RESULTS.md"

# The name of a CSV file, and what is said about its rows; in the order of the report.
SECTIONS: dict[str, Callable[[Sequence[Row]], str]] = {
    "scaling": scaling.section,
    "passes": passes.section,
    "linearity": linearity.section,
    "memory": memory.section,
    "small": small.section,
    "explaining": explaining.section,
    "distances": distances.section,
    "neighbours": neighbours.section,
    "neighbour_scores": neighbour_scores.section,
    "drift": drift.section,
    "drift_loss": drift_loss.section,
    "damage": damage.section,
}

INTRODUCTION = """\
# Results

Made by `python -m benchmarks.report` from the rows in `results/`; how to measure again is in README.md.
Times are wall-clock. PASS and short say whether a target of the project is met; "3 of 4" counts the
problems that meet it. Each section shows the version and machine that were measured last."""


def report(results: Path) -> str:
    """The whole report; an experiment without rows is named, not left out."""
    parts = [INTRODUCTION]
    for name, section in SECTIONS.items():
        rows = latest(read_rows(results / f"{name}.csv"))
        parts += [section(rows), provenance(rows)] if rows else [f"*{name}: not measured yet.*"]
    return "\n\n".join(parts) + "\n"


def provenance(rows: Sequence[Row]) -> str:
    """Machine, versions, repeats and dates behind a section."""
    newest = max(rows, key=lambda row: row["date"])
    versions = [f"{name} {newest[name]}" for name in ("gbmap", "python", "numpy", "scipy", "scikit-learn")]
    peers = sorted({row["peer"] for row in rows if row["peer"]})
    repeats = f"up to {1 + max(int(row['repeat']) for row in rows)}"
    dates = sorted({row["date"][:10] for row in rows})
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    machine = f"{newest['cpu']}, {newest['cores']} cores"
    return f"*{machine}; {', '.join([*versions, *peers])}; repeats: {repeats}; {when}.*"


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.report", description=__doc__)
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the CSV files")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="the Markdown file to write")
    options = parser.parse_args(arguments)
    options.output.write_text(report(options.results))


if __name__ == "__main__":
    main()
