"""The rounds of fits on Dask: what is measured, and what the report makes of it."""

import json
import logging
from contextlib import contextmanager

import pytest
from distributed import Client, LocalCluster

from benchmarks.experiments import dask
from benchmarks.experiments.dask import FEW_ROWS, MEMORY, Case, anatomy
from benchmarks.internals import EVALUATION, Round, dask_table, watched_rounds
from benchmarks.records import COLUMNS, OK
from benchmarks.runner import Settings
from benchmarks.sections.dask import rows_of_thread, section


@pytest.fixture(scope="module")
def client():
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    with LocalCluster(**options, silence_logs=logging.CRITICAL) as cluster, Client(cluster) as client:
        yield client


def row(case, **extra):
    known = {"problem": case.problem, "method": case.method, "threads": str(case.threads), "repeat": "0"}
    known |= {"n": str(case.n_rows), "status": OK, "seconds": "2", "passes": "8", "loss": "0.5"}
    return dict.fromkeys(COLUMNS, "") | known | {"extra": json.dumps(extra)}


def few(parts):
    return row(Case(FEW_ROWS, 2, parts), round_seconds=0.005 + 0.001 * parts, parts=parts, rounds=27)


def many(n, workers=1):
    """A fit with 15 rounds and 6 for each of 2 learners, 4 of them passes of 10 ns a row; others take 20."""
    anatomy = {"parts": workers, "rounds": 27, "first_rounds": 15, "client_seconds": 0.6}
    anatomy |= {"round_seconds": 0.006 + 1e-8 * n / workers, "other_seconds": 0.05 + 2 * 2e-8 * n}
    return row(Case(n, workers), **anatomy)


def test_the_model_of_large_clusters_follows_from_the_measured_constants():
    text = section([few(2), few(64), many(10**6), many(2 * 10**6)])
    assert "a pass takes 5.00 ms, 1.00 ms for each part and 10.0 ns for each row of a thread" in text
    assert "takes 20.0 ns a row. A fit has 15 rounds and 6 for each learner, 4 of them passes" in text
    # (15 + 20 * 6) rounds of 105 ms; 20 * (4 * 10 + 20) ns for each of 10^7 rows; 20 * 0.3 s.
    assert "| 10^9 | 100 x 1 | 100 | 0.205 | 14.2 | 12.0 | 6.00 | 32.2 |" in text
    assert "| 10^9 | 25 x 4 | 94 |" in text
    assert "| 10^8 | 25 x 4 | 25 | 0.0400 | 4.05 | 1.20 | 6.00 |" in text


def test_scaling_compares_the_largest_rows_that_were_measured():
    rows = [many(10**5), many(2 * 10**5), many(10**6), many(2 * 10**6), many(2 * 10**6, workers=2)]
    text = section(rows)
    assert "| strong: 2*10^6 rows on 1 worker / on 2 | 1.62 | 1.00 |" in text
    assert "| weak: 2*10^6 rows on 2 workers / 10^6 rows on 1 | 1.00 | 1.00 |" in text
    assert "| strong: 2*10^6 rows in memory, 1 thread / 2 | - | - |" in text


def test_an_interrupted_run_is_reported_without_a_model():
    text = section([few(2), many(10**6)])
    assert "| 2 | 7.00 | 3.50 | 27 |" in text
    assert "100 x 1" not in text


def test_other_losses_of_the_same_rows_are_noticed():
    local = row(Case(10**6, 1, method=MEMORY), round_seconds=0.01)
    assert "the same loss: 1 of 1." in section([many(10**6), local])
    assert "the same loss: 0 of 1." in section([many(10**6), local | {"loss": "0.6"}])


@pytest.mark.parametrize(
    ("threads", "parts", "rows"), [(100, 100, 6), (400, 100, 1.5), (100, 60, 10), (40, 100, 18)]
)
def test_a_thread_has_a_share_of_a_part_or_several_parts(threads, parts, rows):
    assert rows_of_thread(600, threads, parts) == rows


def test_what_is_neither_a_round_nor_before_the_learners_is_the_clients():
    spans = [("moments", 0, 1), (EVALUATION, 4, 6), (EVALUATION, 7, 8), ("scores", 8, 11)]
    found = anatomy([Round(what, 3, start, stop) for what, start, stop in spans], stop=13)
    expected = {"parts": 3, "rounds": 4, "first_rounds": 1, "other_seconds": 3, "client_seconds": 6}
    assert found == expected


def test_rows_on_workers_and_in_memory_give_the_same_model(client):
    on_workers, in_memory = (
        dask.measure(Case(FEW_ROWS, 1, method=method), seed=0) for method in ("dask", MEMORY)
    )
    assert on_workers["loss"] == in_memory["loss"]
    assert on_workers["passes"] == in_memory["passes"]


def test_rows_stay_in_the_parts_that_are_asked_for(client):
    found = dask.measure(Case(FEW_ROWS, 1, parts=4), seed=0)
    extra = json.loads(found["extra"])
    assert extra["parts"] == 4
    assert extra["rounds"] > extra["first_rounds"] + int(found["passes"])
    assert 0 < extra["round_seconds"] < float(found["seconds"])


def test_rounds_are_watched_no_longer_than_asked():
    before = dask_table.collect
    with watched_rounds():
        assert dask_table.collect is not before
    assert dask_table.collect is before


def test_what_is_measured_already_needs_no_cluster(tmp_path, monkeypatch):
    started, fitted = [], []

    @contextmanager
    def cluster(n_workers):
        started.append(n_workers)
        yield

    def measure(case, seed):
        fitted.append(case)
        return {"status": OK, "seconds": "1", "extra": "{}"}

    monkeypatch.setattr(dask, "cluster", cluster)
    monkeypatch.setattr(dask, "measure", measure)
    settings = Settings(quick=True, repeats=1, results=tmp_path)
    dask.run(settings)
    listed = [case for listed in dask.cases(settings).values() for case in listed]
    assert fitted == listed
    assert started == [1, 2, 0]
    dask.run(settings)
    assert fitted == listed
    assert started[3:] == [0, 0, 0]
