"""Measure: ``python -m benchmarks.run EXPERIMENT``, or ``all`` for all of them one after another.

Rows go to ``benchmarks/results``; what was measured before is not measured again.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.experiments import (
    clusters,
    costs,
    dask,
    defaults,
    device,
    distances,
    drift,
    drift_cuts,
    drift_levels,
    drift_loss,
    drift_points,
    explaining,
    features,
    linearity,
    local_model,
    maps,
    memory,
    monitor,
    neighbour_scores,
    neighbours,
    out_of_core,
    passes,
    predictors,
    scaling,
    sets,
    shapley,
    small,
    sparse,
    stability,
    starts,
)
from benchmarks.problems import parse_size
from benchmarks.records import RESULTS
from benchmarks.runner import Settings

EXPERIMENTS: dict[str, tuple[Callable[[Settings], None], ...]] = {
    "scaling": (scaling.run,),
    "small": (small.run,),
    "passes": (passes.run, linearity.run),
    "memory": (memory.run, out_of_core.run),
    "sparse": (sparse.run,),
    "dask": (dask.run,),
    "explaining": (explaining.run, shapley.run),
    "distances": (distances.run, neighbours.run),
    "neighbours": (neighbour_scores.run,),
    "drift": (drift.run, drift_cuts.run, drift_loss.run),
    "levels": (drift_levels.run,),
    "monitor": (monitor.run,),
    "features": (features.run,),
    "maps": (maps.run, stability.run),
    "predictors": (predictors.run,),
    "defaults": (defaults.run,),
    "sets": (sets.run,),
    "pictures": (drift_points.run, clusters.run, local_model.run),
    "costs": (costs.run,),
    "starts": (starts.run,),
    "device": (device.run,),
}
ALL = "all"
QUICK_REPEATS = 2  # of all of them in their quick form, which is there to see them work
# Those whose rows are scores or processor time: they need no quiet machine, but splits enough for a spread.
SCORED = ("defaults", "drift", "neighbours", "features", "maps", "predictors", "pictures", "starts")
KNOWN = tuple(
    {
        *predictors.PROBLEMS,
        *features.PROBLEMS,
        *neighbour_scores.SYNTHETIC,
        *costs.PROBLEMS,
        *defaults.PROBLEMS,
    }
)
HELP = {
    "sets": "rows and columns of the data sets: the paper's Table 1",
    "pictures": "points of drift, clusters and a local model: the paper's Figures 2 to 8",
    "costs": "score against training time and model size, beside the peers",
    "starts": "training loss against time with several random starts of each learner",
    "predictors": "GBMAP, linear models and XGBoost: the first block of the paper's Table 4",
    "defaults": "GBMAP, linear models and boosted trees with default settings",
    "features": "linear models of m coordinates: the paper's Table 5 and Figure 1",
    "maps": "two coordinates beside PCA, UMAP and ivis; how far they depend on the seed",
    "scaling": "the paper's runtime table, beside the peers",
    "device": "fits on a CUDA device, beside the paper's recipe there",
    "small": "m = 20 on the real data sets, beside XGBoost",
    "passes": "one pass against reading X, and how time grows with n, p and m",
    "memory": "memory beyond X during a fit; a file larger than memory",
    "sparse": "text-like sparse rows, beside logistic regression",
    "dask": "what a round on Dask costs, on one worker and two, beside fits in memory",
    "neighbours": "k-NN in the embedding and in the columns, on the real data sets",
    "distances": "path distances beside embedding distances; exact and approximate neighbours",
    "explaining": "the time to explain rows, beside that to predict them, and beside SHAP",
    "levels": "false verdicts on drift and the coverage of estimated losses where nothing has changed",
    "monitor": "false alarms and delays over time, beside the peers",
    "drift": "indicators of drift and estimates of the loss, on the drift splits of the real data sets",
}


def parse(arguments: Sequence[str] | None = None) -> dict[str, Settings]:
    """The experiments to run, and the settings of each, from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    experiments = parser.add_subparsers(dest="experiment", required=True)
    _add_common(experiments.add_parser(ALL, help="every experiment, one after another"))
    for name in EXPERIMENTS:
        _add_options(experiments.add_parser(name, help=HELP[name], description=HELP[name]), name)
    options: dict[str, Any] = vars(parser.parse_args(arguments))
    experiment = str(options.pop("experiment"))
    lists = {name: tuple(value) for name, value in options.items() if isinstance(value, list)}
    settings = Settings(**(options | lists))
    if experiment != ALL:
        return {experiment: settings}
    return {
        name: replace(settings, repeats=QUICK_REPEATS if settings.quick else _repeats(name))
        for name in EXPERIMENTS
    }


def _repeats(experiment: str) -> int:
    return 5 if experiment in SCORED else 3


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--quick", action="store_true", help="fewer and smaller problems")
    parser.add_argument("--fresh", action="store_true", help="measure again what was measured before")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the CSV files")


def _add_options(parser: argparse.ArgumentParser, experiment: str) -> None:
    _add_common(parser)
    parser.add_argument(
        "--repeats", type=int, default=_repeats(experiment), help="of each kind (default: %(default)s)"
    )
    if experiment in (
        "scaling",
        "small",
        "features",
        "maps",
        "predictors",
        "defaults",
        "costs",
        "starts",
        "monitor",
    ):
        parser.add_argument("--only", nargs="+", default=[], metavar="METHOD", help="these methods alone")
    if experiment in ("small", "costs", *SCORED):
        parser.add_argument("--datasets", nargs="+", default=[], choices=KNOWN, metavar="NAME")
    if experiment == "predictors":
        parser.add_argument("--draws", type=int, default=0, help="settings to try; the paper has 100")
    if experiment == "small":
        parser.add_argument("--threads", nargs="+", default=[], type=int, help="numbers of threads")
    if experiment in ("scaling", "passes", "memory"):
        parser.add_argument("--sizes", nargs="+", default=[], type=parse_size, metavar="NxP", help="1e5x25")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what is asked for."""
    for experiment, settings in parse(arguments).items():
        for run in EXPERIMENTS[experiment]:
            run(settings)


if __name__ == "__main__":
    main()
