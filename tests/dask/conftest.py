"""Rows enough for several blocks, and what makes a fitted model."""

import numpy as np
import pytest

N, P = 200_000, 4


@pytest.fixture(scope="session")
def problem():
    """X in float32 with a constant column and one of a large mean, and y: eight blocks."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, P)).astype(np.float32)
    X[:, 2], X[:, 3] = 1e4 + X[:, 2], 7.0
    return X, np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=N)


@pytest.fixture
def parts(monkeypatch):
    """Set the number of parts that rows are cut into."""

    def set_parts(n_parts):
        monkeypatch.setattr("gbmap._rows.dask.parts.slots", lambda: (n_parts, 3))

    return set_parts


@pytest.fixture(scope="session")
def contents():
    """Return all that a fit has learned, as one row of numbers."""

    def contents_of(model):
        ensemble = model.ensemble_
        arrays = [getattr(ensemble, name) for name in ("intercepts", "signs", "weights", "offsets", "beta")]
        arrays += [model.loss_curve_, model.feature_importances_, model.mean_, model.scale_]
        return np.concatenate([np.ravel(array) for array in arrays])

    return contents_of
