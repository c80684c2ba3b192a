"""Rows that the workers cannot hold lie in files, and change no bit of the fit."""

import pickle
from types import SimpleNamespace

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from gbmap import GBMAPRegressor
from gbmap._rows.dask import cluster
from gbmap._rows.dask.cluster import part_bytes
from gbmap._rows.dask.parts import OnDisk, on_disk_if_tight

GIGABYTE = 1 << 30


@pytest.fixture
def opened(monkeypatch):
    """Collect the shapes of parts that are read from files."""
    shapes, array = [], OnDisk.array

    def watched(part):
        shapes.append(part.shape)
        return array(part)

    monkeypatch.setattr(OnDisk, "array", watched)
    return shapes


def set_workers(monkeypatch, *workers):
    monkeypatch.setattr(cluster, "_workers", lambda: list(workers))


def set_memory_in_use(monkeypatch, share, folder):
    worker = SimpleNamespace(
        memory_manager=SimpleNamespace(memory_limit=1000),
        monitor=SimpleNamespace(get_process_memory=lambda: 1000 * share),
        local_directory=folder,
    )
    monkeypatch.setattr("gbmap._rows.dask.parts.current_worker", lambda: worker)


def test_rows_beyond_the_memory_of_workers_are_fitted_from_files_to_the_same_bits(
    problem, contents, opened, monkeypatch
):
    X, y = problem
    local = GBMAPRegressor(2, random_state=0).fit(X, y)
    set_workers(monkeypatch, (X.nbytes, 1), (X.nbytes, 1))
    model = GBMAPRegressor(2, random_state=0).fit(da.from_array(X, chunks=60_000), y)
    np.testing.assert_array_equal(contents(model), contents(local))
    assert max(np.prod(shape) for shape in opened) * X.itemsize <= X.nbytes / 8


def test_rows_that_fit_stay_in_memory(problem, opened, monkeypatch):
    X, y = problem
    set_workers(monkeypatch, (8 * X.nbytes, 1))
    GBMAPRegressor(1, knots=0, refine=False, random_state=0).fit(da.from_array(X, chunks=60_000), y)
    assert not opened


def test_parquet_file_read_by_a_worker_short_of_memory_has_the_bits_of_the_local_fit(
    problem, contents, opened, monkeypatch, tmp_path
):
    X, y = problem
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y)
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=30_000)
    rows = dd.read_parquet(tmp_path / "rows.parquet", split_row_groups=1)
    local = GBMAPRegressor(2, knots=0, refine=False, random_state=0).fit(frame[list("abcd")], y)
    set_memory_in_use(monkeypatch, 0.6, tmp_path)
    model = GBMAPRegressor(2, knots=0, refine=False, random_state=0).fit(rows[list("abcd")], rows["y"])
    np.testing.assert_array_equal(contents(model), contents(local))
    assert rows.npartitions == 7
    assert (30_000, 4) in opened


def test_only_numbers_leave_memory_and_only_if_it_is_half_full(monkeypatch, tmp_path):
    numbers = np.arange(6.0).reshape(2, 3)
    assert on_disk_if_tight(numbers) is numbers  # on no worker
    set_memory_in_use(monkeypatch, 0.4, tmp_path)
    assert on_disk_if_tight(numbers) is numbers
    set_memory_in_use(monkeypatch, 0.6, tmp_path)
    np.testing.assert_array_equal(on_disk_if_tight(numbers).array(), numbers)
    for other in (numbers[:0], np.array(["a", "b"], dtype=object)):
        assert on_disk_if_tight(other) is other


def test_a_part_in_a_file_travels_as_its_numbers_and_leaves_no_file(monkeypatch, tmp_path):
    set_memory_in_use(monkeypatch, 0.6, tmp_path)
    numbers = np.arange(6, dtype=np.float32).reshape(2, 3)
    part = OnDisk(numbers)
    sent = pickle.dumps(part)
    del part
    np.testing.assert_array_equal(pickle.loads(sent).array(), numbers)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("workers", "expected"),
    [((), GIGABYTE), (((64 * GIGABYTE, 2),), GIGABYTE), (((8 * GIGABYTE, 4), (GIGABYTE, 1)), GIGABYTE // 8)],
)
def test_a_part_is_small_against_the_memory_of_a_thread(monkeypatch, workers, expected):
    set_workers(monkeypatch, *workers)
    assert part_bytes() == expected
