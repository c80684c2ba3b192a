"""A fit that fails leaves the earlier fit whole. For the GBMAPs themselves see `test_fit_control.py`."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from gbmap import DriftDetector, GBMAPRegressor, GBMAPRegressorCV
from gbmap.drift import EuclideanDetector
from gbmap.tables import TableModel

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
y = np.abs(X[:, 0]) + 0.1 * rng.normal(size=60)
NEW = X[:5] + 0.1
FRAME = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y})
SMALL = GBMAPRegressor(2, random_state=0)


def last_fold_fails(seen):
    """Return folds of which the last trains on one row, which is too few."""
    rows = np.arange(seen)
    return [(rows[10:], rows[:10]), (rows[:1], rows[1:])]


CASES = {
    "detector": (
        DriftDetector(SMALL, random_state=0),
        lambda detector: detector.fit(X, y),
        lambda detector: detector.fit(X[:, :2], y, X_cal=NEW[:, :2], y_cal=np.full(5, np.nan)),
        "y_cal contains NaN",
        lambda detector: detector.p_values(NEW),
    ),
    "euclidean": (
        EuclideanDetector(random_state=0),
        lambda detector: detector.fit(X),
        lambda detector: detector.fit(X[:4, :2]),
        "n_neighbors",
        lambda detector: detector.predict(NEW),
    ),
    "search": (
        GBMAPRegressorCV(2, betas=[1.0], l2_regularizations=[0.1], cv=2, random_state=0),
        lambda search: search.fit(X, y),
        lambda search: search.set_params(cv=last_fold_fails(60), betas=[1.0, 5.0]).fit(X[:, :2], y),
        "minimum of 2",
        lambda search: search.predict(NEW),
    ),
    "table": (
        TableModel("y", n_components=2, random_state=0),
        lambda model: model.fit(FRAME),
        lambda model: model.set_params(n_jobs=0).fit(FRAME[["a", "y"]]),
        "n_jobs",
        lambda model: model.predict(FRAME[:5]),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_refit_that_fails_leaves_the_earlier_fit_as_it_was(case):
    estimator, fit, fail, rule, ask = CASES[case]
    expected = ask(fit(estimator))
    parameters = estimator.get_params()
    fitted = {name: value for name, value in vars(estimator).items() if name not in parameters}
    with pytest.raises(ValueError, match=rule):
        fail(estimator)
    left = {name: value for name, value in vars(estimator).items() if name not in parameters}
    assert left.keys() == fitted.keys()
    assert all(left[name] is fitted[name] for name in fitted)
    assert_array_equal(ask(estimator), expected)
