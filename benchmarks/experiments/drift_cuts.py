"""Drift made by every feature in turn, on the sets where the paper's AUC is not reached.

The paper does not say by which feature it cut a set. A problem "NAME by FEATURE" is a case of the drift
experiment, cut by that feature instead of the one that makes the most drift.
"""

from __future__ import annotations

from sklearn.metrics import roc_auc_score

from benchmarks.experiments.drift import INDICATORS, chosen_sets, keep, load, make_case, truth, unfinished
from benchmarks.experiments.drift_points import DRIFTERS
from benchmarks.methods.base import Result, timed
from benchmarks.runner import Settings

SETS = ("qm9-10k", "eeg-eye-state")
BY = " by "


def run(settings: Settings) -> None:
    """Judge both drifters on those of the sets that are asked for."""
    table = settings.table("drift_cuts")
    for name in (name for name in chosen_sets(settings) if name in SETS):
        frame, _, _ = load(name)
        for feature in frame.columns:
            problem = f"{name}{BY}{feature}"
            for repeat in range(settings.repeats):
                todo = unfinished(table, settings, problem, DRIFTERS, repeat)
                if not todo:
                    continue
                case = make_case(name, repeat, feature)
                outside, drift = truth(case, case.losses(case.judged))
                for method in todo:
                    seconds, values = timed(lambda case=case, method=method: INDICATORS[method](case))
                    auc = round(float(roc_auc_score(outside, values)), 6)
                    keep(table, problem, method, case, Result(seconds, extra={"score": auc} | drift))
            print(problem, flush=True)
