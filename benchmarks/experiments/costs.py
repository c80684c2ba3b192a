"""What a better score costs: score against training time and against the size of the model.

70/30 splits, one a repeat; every method with settings as they come, at several sizes. Methods alternate.
"""

from __future__ import annotations

from benchmarks import methods
from benchmarks.data import Split, quality
from benchmarks.environment import usable_cores
from benchmarks.methods.base import Result, Sized
from benchmarks.records import Row
from benchmarks.runner import Settings, base_row, failure, measured, progress
from benchmarks.splits import split

PROBLEMS = ("california", "qm9-10k", "superconductor", "higgs-10k-h2o", "synth-cos-r-20000x50-rotated")
QUICK = ("qm9-10k",)
TEST_SIZE = 0.3


def run(settings: Settings) -> None:
    """Measure every method at every size that is not there yet."""
    table, threads = settings.table("costs"), usable_cores()
    for name in settings.datasets or (QUICK if settings.quick else PROBLEMS):
        for repeat in range(settings.repeats):
            parts = None
            for method, size in _in_turn(settings.choose(methods.COSTS)):
                row = base_row(name, label(method.name, size), repeat, threads)
                if not settings.fresh and table.finished(row):
                    continue
                parts = parts or split(name, repeat, TEST_SIZE)
                row |= _attempt(method, size, parts, repeat)
                table.put(row)
                print(progress(row), row.get("extra", ""), flush=True)


def label(method: str, size: int) -> str:
    """The method of a row: its name, and the size of the model."""
    return f"{method}-{size}"


def _in_turn(chosen: list[Sized]) -> list[tuple[Sized, int]]:
    """All sizes of all methods, the methods in turn."""
    most = max(len(method.sizes) for method in chosen)
    return [
        (method, method.sizes[nth]) for nth in range(most) for method in chosen if nth < len(method.sizes)
    ]


def _attempt(method: Sized, size: int, parts: Split, seed: int) -> Row:
    try:
        outcome = method.at(size, parts, seed=seed)
    except Exception as error:
        return {"status": failure(error)}
    score = quality(parts.task, parts.test.y, outcome.scores)
    extra = {"score": score, "parameters": outcome.parameters, "size": size}
    return measured(parts.train, Result(outcome.seconds, peer=outcome.peer, extra=extra))
