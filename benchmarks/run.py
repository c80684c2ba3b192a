"""Measure: ``python -m benchmarks.run EXPERIMENT``.

Rows go to ``benchmarks/results``; what was measured before is not measured again.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.experiments import (
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
from benchmarks.problems import REAL_SETS, parse_size
from benchmarks.records import RESULTS
from benchmarks.runner import Settings

EXPERIMENTS: dict[str, tuple[Callable[[Settings], None], ...]] = {
    "scaling": (scaling.run,),
    "small": (small.run,),
    "passes": (passes.run, linearity.run),
    "memory": (memory.run,),
    "explaining": (explaining.run,),
    "distances": (distances.run, neighbours.run),
    "neighbours": (neighbour_scores.run,),
    "drift": (drift.run, drift_loss.run),
}
HELP = {
    "scaling": "the paper's runtime table, beside the peers",
    "small": "m = 20 on the real data sets, beside XGBoost",
    "passes": "one pass against reading X, and how time grows with n, p and m",
    "memory": "memory beyond X during a fit",
    "neighbours": "k-NN in the embedding and in the columns, on the real data sets",
    "distances": "path distances beside embedding distances; exact and approximate neighbours",
    "explaining": "the time to explain rows, beside that to predict them",
    "drift": "indicators of drift and estimates of the loss, on the drift splits of the real data sets",
}


def parse(arguments: Sequence[str] | None = None) -> tuple[str, Settings]:
    """The experiment and its settings from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    experiments = parser.add_subparsers(dest="experiment", required=True)
    for name in EXPERIMENTS:
        _add_options(experiments.add_parser(name, help=HELP[name], description=HELP[name]), name)
    options: dict[str, Any] = vars(parser.parse_args(arguments))
    experiment = str(options.pop("experiment"))
    lists = {name: tuple(value) for name, value in options.items() if isinstance(value, list)}
    return experiment, Settings(**(options | lists))


def _add_options(parser: argparse.ArgumentParser, experiment: str) -> None:
    parser.add_argument("--quick", action="store_true", help="fewer and smaller problems")
    parser.add_argument("--fresh", action="store_true", help="measure again what was measured before")
    repeats = 5 if experiment in ("drift", "neighbours") else 3
    parser.add_argument("--repeats", type=int, default=repeats, help="of each kind (default: %(default)s)")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the CSV files")
    if experiment in ("scaling", "small"):
        parser.add_argument("--only", nargs="+", default=[], metavar="METHOD", help="these methods alone")
    if experiment in ("small", "drift", "neighbours"):
        parser.add_argument("--datasets", nargs="+", default=[], choices=REAL_SETS, metavar="NAME")
    if experiment == "small":
        parser.add_argument("--threads", nargs="+", default=[], type=int, help="numbers of threads")
    if experiment in ("scaling", "passes", "memory"):
        parser.add_argument("--sizes", nargs="+", default=[], type=parse_size, metavar="NxP", help="1e5x25")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one experiment."""
    experiment, settings = parse(arguments)
    for run in EXPERIMENTS[experiment]:
        run(settings)


if __name__ == "__main__":
    main()
