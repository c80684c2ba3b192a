"""GBMAP, linear models and XGBoost as predictors: the first block of the paper's Table 4.

70/30 splits, one a repeat. Settings are drawn within the paper's Table 2 and chosen by folds of the training
rows; for synth-cos once, on 6*10^4 further rows that belong to no split. Problems "NAME@49" are the split of
the paper, whose seed was 49: there the repeats differ in what is drawn and in random starts only.
"gbmap-cv" and "gbmap-refined" choose by themselves, within their one fit. All run on one thread; a row keeps
the processor seconds of its fit, and of all fits of its search.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from typing import Any

from benchmarks import methods
from benchmarks.data import quality
from benchmarks.methods.base import Predictor, Result, timed, worked
from benchmarks.problems import REAL_SETS, SYNTH_COS, SYNTH_COS_UNROTATED
from benchmarks.records import Row, Table
from benchmarks.runner import Settings, base_row, failure, measured, progress
from benchmarks.search import Budget, Found, tune
from benchmarks.splits import at_paper_split, is_synthetic, load, plain, split

TEST_SIZE, THREADS = 0.3, 1
QUICK = ("autompg", "concrete", "diabetes")
# The quick form has these on its first set alone.
CHOOSING = ("gbmap-cv", "gbmap-refined")
QUICK_DRAWS, DRAWS, PAPER_DRAWS = 2, 5, 100
# A draw on synth-cos takes about a minute of a processor, a last fit up to three: few are made there, and
# one of XGBoost, whose last fits take longest.
SYNTH_DRAWS, SYNTH_DRAWS_OF_TREES = 3, 1
# The folds that judge a draw, of five: fewer where each has rows enough, unless as many draws are asked for
# as the paper made.
FEW_ROWS, FOLDS_IF_FEW, FOLDS_IF_MANY = 5_000, 3, 1
PROBLEMS = (*REAL_SETS, *map(at_paper_split, REAL_SETS), *SYNTH_COS, *SYNTH_COS_UNROTATED)


def run(settings: Settings) -> None:
    """Score every method on every problem and split that is not there yet."""
    table = settings.table("predictors")
    for name in settings.datasets or (QUICK if settings.quick else PROBLEMS):
        for repeat in range(settings.repeats):
            for method in settings.choose(methods.predictors(synthetic=is_synthetic(name))):
                if not (settings.quick and method.name in CHOOSING and name != QUICK[0]):
                    _measure(table, settings, name, method, repeat)


def budget_of(settings: Settings, name: str, method: str, n: int) -> Budget:
    """So many draws, and the folds that judge each."""
    draws = settings.draws or (QUICK_DRAWS if settings.quick else _default_draws(name, method))
    if draws >= PAPER_DRAWS:
        return Budget(draws)
    return Budget(draws, FOLDS_IF_FEW if n <= FEW_ROWS else FOLDS_IF_MANY)


def _default_draws(name: str, method: str) -> int:
    if not is_synthetic(name):
        return DRAWS
    return SYNTH_DRAWS_OF_TREES if method == "xgboost" else SYNTH_DRAWS


def _measure(table: Table, settings: Settings, name: str, method: Predictor, repeat: int) -> None:
    row = base_row(name, method.name, repeat, THREADS)
    budget = budget_of(settings, name, method.name, len(load(plain(name)).y))
    if not settings.fresh and table.finished(row, draws=budget.draws):
        return
    try:
        row |= _scored(name, method, budget, repeat)
    except Exception as error:
        row |= {"status": failure(error)}
    table.put(row)
    print(progress(row), row.get("extra", ""), flush=True)


def _scored(name: str, method: Predictor, budget: Budget, repeat: int) -> Row:
    rows = split(name, repeat, TEST_SIZE)
    if is_synthetic(name):
        found = _tuned_on_reserve(name, method, budget)
    else:
        found = tune(method, rows.train, budget, repeat)
    train = partial(method.train, rows.train, found.settings, seed=repeat)
    cpu, (seconds, model) = worked(lambda: timed(train))
    score = quality(rows.task, rows.test.y, list(method.path(model, rows.test.X).values())[-1])
    extra = {"score": score, "draws": budget.draws, "folds": budget.folds, **_plain(found.settings)}
    extra |= _plain(method.told(model)) | {"cpu_seconds": round(cpu, 4)}
    if found.seconds is not None:
        extra["search_cpu_seconds"] = round(found.seconds, 4)
    return measured(rows.train, Result(seconds, peer=method.peer(), extra=extra))


@cache
def _tuned_on_reserve(name: str, method: Predictor, budget: Budget) -> Found:
    reserve = load(name).reserve
    assert reserve is not None
    return tune(method, reserve, budget, 0)


def _plain(settings: Mapping[str, Any]) -> dict[str, float]:
    return {name: round(float(value), 6) for name, value in settings.items()}
