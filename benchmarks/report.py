"""Report: ``python -m benchmarks.report`` writes ``benchmarks/RESULTS.md`` from ``benchmarks/results``."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import pictures
from benchmarks.markdown import table
from benchmarks.records import RESULTS, Row, latest, read_rows
from benchmarks.scores import Tally
from benchmarks.sections import (
    clusters,
    costs,
    damage,
    dask,
    device,
    distances,
    drift,
    drift_cuts,
    drift_loss,
    drift_points,
    explaining,
    features,
    linearity,
    local_model,
    memory,
    neighbour_scores,
    neighbours,
    out_of_core,
    passes,
    predictors,
    scaling,
    sets,
    small,
    sparse,
    starts,
)

OUTPUT = Path(__file__).parent / "RESULTS.md"

# The name of a CSV file, and what is said about its rows; in the order of the report.
SECTIONS: dict[str, Callable[[Sequence[Row]], str]] = {
    "sets": sets.section,
    "scaling": scaling.section,
    "predictors": predictors.section,
    "neighbour_scores": neighbour_scores.section,
    "drift": drift.section,
    "drift_cuts": drift_cuts.section,
    "drift_points": drift_points.section,
    "drift_loss": drift_loss.section,
    "features": features.section,
    "local_model": local_model.section,
    "clusters": clusters.section,
    "costs": costs.section,
    "starts": starts.section,
    "device": device.section,
    "passes": passes.section,
    "linearity": linearity.section,
    "memory": memory.section,
    "out_of_core": out_of_core.section,
    "sparse": sparse.section,
    "dask": dask.section,
    "small": small.section,
    "explaining": explaining.section,
    "distances": distances.section,
    "neighbours": neighbours.section,
    "damage": damage.section,
}

# The pictures of a section, by the names of their files.
FIGURES: dict[str, Callable[[Sequence[Row]], dict[str, Any]]] = {
    "features": features.figures,
    "drift_points": drift_points.figures,
    "local_model": local_model.figures,
    "clusters": clusters.figures,
    "costs": costs.figures,
    "starts": starts.figures,
    "neighbour_scores": neighbour_scores.figures,
}

# What is told about the paper's tables as a whole.
SUMMARIES: dict[str, Callable[[Sequence[Row]], list[tuple[str, Tally]]]] = {
    "predictors": predictors.summary,
    "neighbour_scores": neighbour_scores.summary,
    "drift": drift.summary,
    "features": features.summary,
}

INTRODUCTION = """\
# Results

Made by `python -m benchmarks.report` from the rows in `results/`; how to measure again is in README.md.
Times are wall-clock unless it is said otherwise. PASS and short say whether a target of the project is met;
"3 of 4" counts the problems that meet it. Each section shows the version and machine that were measured last.

One protocol for all scores: encoders and scalers are fitted on training rows only; real data are
standardised, synthetic data come as they are; the settings behind a score are chosen by rows other than its
test rows, while what gbmap tries by default was settled on data like these, as sections say; mean and
standard deviation are over at least five random splits unless it is said otherwise; the paper's figure stands
beside ours. Each section says what the paper did otherwise, as far as it is known."""

SUMMARY_HEADER = ["table", "within two deviations", "by the mean", "not measured"]
SUMMARY = """\
## In short

Cells of gbmap where the paper's figure is at most our mean plus two standard deviations of our splits, and
where it is at most our mean; the paper's own figures have a spread of their own, or come from one split.
HIGGS counts as two sets: two samples stand in for the paper's one, and both are held to its figures. Each
section names the cells that are further below, and says why as far as that is known."""


def report(results: Path) -> str:
    """The whole report; an experiment without rows is named, not left out."""
    parts = [INTRODUCTION, summary(results)]
    for name, section in SECTIONS.items():
        rows = latest(read_rows(results / f"{name}.csv"))
        parts += (
            [section(rows), *trouble(rows), provenance(rows)] if rows else [f"*{name}: not measured yet.*"]
        )
    return "\n\n".join(parts) + "\n"


def summary(results: Path) -> str:
    """How many of the paper's figures are reached, table by table."""
    lines = []
    for name, told in SUMMARIES.items():
        rows = latest(read_rows(results / f"{name}.csv"))
        for title, tally in told(rows) if rows else ():
            shares = [f"{part} of {tally.known}" for part in (tally.within, tally.by_mean)]
            lines.append([title, *shares, str(tally.missing)])
    return f"{SUMMARY}\n\n{table(SUMMARY_HEADER, lines)}"


def draw(results: Path, folder: Path) -> None:
    """Write the pictures of all sections that have rows."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["axes.prop_cycle"] = matplotlib.cycler(color=pictures.PALETTE)
    for name, figures in FIGURES.items():
        rows = latest(read_rows(results / f"{name}.csv"))
        for title, figure in figures(rows).items() if rows else ():
            pictures.save(figure, folder / f"{title}.png")


def trouble(rows: Sequence[Row]) -> list[str]:
    """What failed and what was missing, since a section may have no place for it."""
    found = Counter(
        f"{row['method']}: {row['status']}" for row in rows if row["status"].startswith(("failed", "missing"))
    )
    lines = [f"- {one} ({count} times)" for one, count in found.items()]
    return ["Rows without a result:\n\n" + "\n".join(lines)] if lines else []


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
    parser.add_argument(
        "--output", type=Path, default=OUTPUT, help="the Markdown file to write, beside its figures/"
    )
    options = parser.parse_args(arguments)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(report(options.results))
    draw(options.results, options.output.parent / "figures")


if __name__ == "__main__":
    main()
