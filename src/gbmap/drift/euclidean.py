"""EuclideanDetector: the paper's baseline, which knows no y."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection import KFold
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted, validate_data

from gbmap._core.arrays import in_memory
from gbmap._utils.refitting import whole_or_undone
from gbmap._utils.sampling import seed_of
from gbmap._utils.scikit_learn import Interval, fit_context
from gbmap._utils.typing import Array
from gbmap.drift._alarm import IndicatorAlarm

_ULPS = 16  # by which numbers that are equal may differ, of the sizes of all that is added up


class EuclideanDetector(IndicatorAlarm, BaseEstimator):  # type: ignore[misc]
    """Tell which rows are far from the training rows, whether that matters for y or not.

    The indicator is the Euclidean distance to the k-th nearest training row, columns in standard
    deviations.

    Parameters
    ----------
    n_neighbors : int, default=5
        k.
    false_alarm_rate : float, default=0.05
        The share of held-out training rows above ``threshold_``.
    cv : int, default=5
        Folds, to hold training rows out for the threshold.
    n_jobs : int or None, default=None
        Threads for finding neighbours.
    random_state : int, RandomState instance or None, default=None
        Seeds the folds.

    Attributes
    ----------
    threshold_ : float
        Rows with an indicator above it raise the alarm.
    offset_ : float
        ``-threshold_``.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features,)

    See Also
    --------
    gbmap.DriftDetector : Ignores directions that do not matter for y.

    Examples
    --------
    >>> import numpy as np
    >>> from gbmap.drift import EuclideanDetector
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> detector = EuclideanDetector(random_state=0).fit(X)
    >>> detector.predict([[0.0, 0.0, 0.0], [9.0, 0.0, 0.0]]).tolist()
    [1, -1]
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "false_alarm_rate": [Interval(Real, 0, 1, closed="neither")],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        false_alarm_rate: float = 0.05,
        cv: int = 5,
        n_jobs: int | None = None,
        random_state: Any = None,
    ):
        self.n_neighbors = n_neighbors
        self.false_alarm_rate = false_alarm_rate
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    @whole_or_undone
    def fit(self, X: Any, y: Any = None) -> Self:
        """Store the training rows, and set the threshold by rows held out in turn.

        Parameters
        ----------
        X : array-like of shape (n, p)
        y : ignored

        Returns
        -------
        self : EuclideanDetector
        """
        X = validate_data(self, in_memory(X), dtype=np.float64, ensure_min_samples=2)
        most = len(X) - -(-len(X) // self.cv) if len(X) >= self.cv else 0
        if most < self.n_neighbors:
            raise ValueError(
                f"n_neighbors={self.n_neighbors} must be at most {most}, the rows outside a fold, got "
                f"n_samples={len(X)} and cv={self.cv}; fit more rows, or lower n_neighbors."
            )
        self._scaler = StandardScaler().fit(X)
        rows = self._scaler.transform(X)
        folds = KFold(self.cv, shuffle=True, random_state=seed_of(self.random_state) % 2**32).split(rows)
        held_out = np.concatenate([self._far(self._index(rows[train]), rows[test]) for train, test in folds])
        self._neighbours = self._index(rows)
        self.threshold_ = float(np.quantile(held_out, 1 - self.false_alarm_rate, method="inverted_cdf"))
        self.offset_ = -self.threshold_
        sizes = np.linalg.norm(rows, axis=1) + np.linalg.norm(self._scaler.mean_ / self._scaler.scale_)
        self._rounding = _ULPS * float(np.finfo(np.float64).eps * np.median(sizes))
        return self

    def _index(self, rows: Array) -> NearestNeighbors:
        # Brute force would take distances from the product of all pairs, whose rounding makes 1e-7 of 0.
        neighbours = NearestNeighbors(n_neighbors=self.n_neighbors, algorithm="kd_tree", n_jobs=self.n_jobs)
        return neighbours.fit(rows)

    def _far(self, index: NearestNeighbors, rows: Array) -> Array:
        return index.kneighbors(rows)[0][:, -1]

    def indicator(self, X: Any) -> Array:
        """Return the distance to the k-th nearest training row.

        Parameters
        ----------
        X : array-like of shape (n, p)

        Returns
        -------
        indicator : array of shape (n,)
        """
        check_is_fitted(self)
        X = validate_data(self, in_memory(X), reset=False, dtype=np.float64)
        return self._far(self._neighbours, self._scaler.transform(X))
