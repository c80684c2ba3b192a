"""DriftDetector: an alarm for rows whose prediction should not be trusted, without labels."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, Self

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from gbmap._utils.refitting import whole_or_undone
from gbmap._utils.sampling import seed_of
from gbmap._utils.scikit_learn import HasMethods, Interval, StrOptions, fit_context
from gbmap._utils.typing import Array
from gbmap.drift._alarm import Alarm
from gbmap.drift._calibration import Calibration, Measures
from gbmap.drift._drifter import Drifter
from gbmap.drift._fitting import DetectorPlan
from gbmap.drift._gauge import Gauge
from gbmap.drift._judging import Evidence, Settings, judge, judge_columns
from gbmap.drift._measuring import Measuring
from gbmap.drift._reading import read_batch, read_rows, read_y
from gbmap.drift._threshold import CalibratedAlarm
from gbmap.drift.assessment import DriftAssessment, assess_rows
from gbmap.drift.constants import ConstantColumn
from gbmap.drift.explanation import DriftExplanation
from gbmap.drift.loss_estimate import LossEstimate
from gbmap.drift.verdict import DriftVerdict


class DriftDetector(CalibratedAlarm, BaseEstimator):  # type: ignore[misc]
    """Tell, without labels, which new rows a model's prediction should not be trusted on.

    The indicator of a row is ``|f - f_kNN| + d_k``: how far the prediction is from the mean of the k training
    rows that are nearest in the embedding distance, and that distance to the k-th of them. Within the data
    both are small. Outside, f goes on linearly along the directions that matter for y while f_kNN and the
    neighbours stay behind, and columns that do not matter change nothing. The paper's indicator is the first
    part, ``distance_weight=0``.

    Parameters
    ----------
    estimator : estimator or None, default=None
        The model to monitor. A GBMAP, or a pipeline that ends in one, fitted or not; any other
        classifier or regressor, for which a GBMAP is fitted to the model's own predictions to
        say which rows are near. None is a GBMAP with default settings: a classifier if y holds text,
        truth values or at most 20 whole numbers, else a regressor. A fitted one is used as it is;
        wrap it in ``sklearn.frozen.FrozenEstimator`` if the detector is to be cloned. If it is fitted
        again, the detector has to be too, and says so.
    n_neighbors : int, default=5
        k.
    measure : {"neighbours", "spread"}, default="neighbours"
        What the indicator is. "spread" is the standard deviation of f by the posterior of its weights (see
        ``GBMAPRegressor.predict``), which is wide where there was no data to determine them. It keeps no
        reference rows, so that files are small and hold none, and takes as long for any number of them;
        `explain`, `assess` and ``reference_inputs_`` are not to be had then.
    distance_weight : float or None, default=None
        The indicator gains so many times the embedding distance to the k-th neighbour. 0 is the
        paper's indicator. None is 1, which finds more of the rows that go wrong on most data sets; with
        ``measure="spread"``, which has no distances, None is 0.
    surrogate : GBMAPRegressor, a pipeline that ends in one, or None, default=None
        What to fit to a foreign model's predictions; None is the default GBMAPRegressor.
    false_alarm_rate : float, default=0.05
        Rows raise the alarm after `fit` whose p-value is at most this: of rows like the calibration rows, at
        most this share.
    cv : int, default=5
        Folds of the cross-fitting that calibrates an unfitted estimator.
    algorithm : {"kd_tree", "ball_tree", "brute", "approximate"}, default="kd_tree"
        How to find neighbours: exactly, as in ``sklearn.neighbors.NearestNeighbors``, or
        approximately by pynndescent, which finds about 95 % of them much faster once its index is
        built; for a million rows against a million. Among few rows it is exact.
    n_jobs : int or None, default=None
        Threads for finding neighbours.
    random_state : int, RandomState instance or None, default=None
        Seeds the folds, and the GBMAP if ``estimator`` is None.

    Attributes
    ----------
    threshold_ : float
        Rows with an indicator above it raise the alarm. Only if calibrated, or set by `set_threshold`.
    offset_ : float
        ``-threshold_``, as in scikit-learn's outlier detectors.
    calibration_size_ : int
        The number of calibration rows; 0 if there are none.
    faithfulness_ : float or None
        For a foreign model, R2 of the GBMAP on the model's predictions for rows that it was not
        fitted to: the calibration rows, or without them the reference rows it was fitted to.
    estimator_ : estimator
        The fitted model.
    reference_inputs_ : array or CSR matrix of shape (n, q)
        The reference rows as the GBMAP takes them: in a pipeline, after the steps before it.
    gauge_ : object
        What the package's other parts ask of a fitted detector; it may change with any version.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features,)

    See Also
    --------
    gbmap.drift.EuclideanDetector : The paper's baseline, which knows no y.

    Notes
    -----
    Calibration never uses rows that the model was trained on. Pass ``X_cal, y_cal`` to `fit`; else an
    unfitted estimator is cross-fitted. A fitted estimator without them has an indicator, but no
    threshold, p-values or loss estimate.

    Examples
    --------
    >>> import numpy as np
    >>> from gbmap import DriftDetector, GBMAPRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3))
    >>> y = X[:, 0] ** 2 + 0.1 * rng.normal(size=500)
    >>> detector = DriftDetector(GBMAPRegressor(n_components=5, random_state=0), random_state=0).fit(X, y)
    >>> new = np.array([[0.1, 0.0, 0.0], [4.0, 0.0, 0.0], [0.1, 0.0, 4.0]])
    >>> detector.predict(new).tolist()  # the second column counts, the third does not
    [1, -1, 1]
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "measure": [StrOptions({"neighbours", "spread"})],
        "distance_weight": [Interval(Real, 0, None, closed="left"), None],
        "surrogate": [HasMethods(["fit", "predict"]), None],
        "false_alarm_rate": [Interval(Real, 0, 1, closed="neither")],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "algorithm": [StrOptions({"kd_tree", "ball_tree", "brute", "approximate"})],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any = None,
        n_neighbors: int = 5,
        *,
        measure: str = "neighbours",
        distance_weight: float | None = None,
        surrogate: Any = None,
        false_alarm_rate: float = 0.05,
        cv: int = 5,
        algorithm: str = "kd_tree",
        n_jobs: int | None = None,
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.n_neighbors = n_neighbors
        self.measure = measure
        self.distance_weight = distance_weight
        self.surrogate = surrogate
        self.false_alarm_rate = false_alarm_rate
        self.cv = cv
        self.algorithm = algorithm
        self.n_jobs = n_jobs
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    @whole_or_undone
    def fit(self, X: Any, y: Any, *, X_cal: Any = None, y_cal: Any = None) -> Self:
        """Fit the model, unless it is, store the reference rows, and calibrate.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            The reference rows, among which neighbours are found. For an unfitted estimator also
            what it is fitted to.
        y : array-like of shape (n,) or (n, n_targets)
            Their labels.
        X_cal, y_cal : array-like, default=None
            Rows that the model was not trained on, to calibrate with. They are refused if all of them are
            in X with their labels, and warned of if more are than rows that repeat would explain.
            Whether a fitted estimator was trained on them cannot be seen.

        Returns
        -------
        self : DriftDetector
        """
        X = read_rows(self, X, reset=True)
        if (X_cal is None) != (y_cal is None):
            raise ValueError("X_cal and y_cal must be given together, or neither of them.")
        y = read_y(y, X, "y")
        if self.measure == "spread" and self.distance_weight:
            raise ValueError(
                f"distance_weight must be 0 with measure='spread', which has no distances, "
                f"got {self.distance_weight!r}."
            )
        held_out = None
        if X_cal is not None:
            X_cal = read_rows(self, X_cal)
            held_out = X_cal, read_y(y_cal, X_cal, "y_cal")
        found = self._plan().fitted(X, y, held_out)
        self._drifter: Measuring = found.drifter
        self._calibration: Calibration | None = found.calibration
        self.estimator_ = found.drifter.monitored.model
        self.faithfulness_ = found.faithfulness
        self.__dict__.pop("threshold_", None)  # of an earlier fit
        self.__dict__.pop("offset_", None)
        self.calibration_size_ = 0 if found.calibration is None else len(found.calibration.indicators)
        if found.calibration is not None:
            self.set_threshold(false_alarm_rate=self.false_alarm_rate)
        return self

    def _plan(self) -> DetectorPlan:
        return DetectorPlan(
            self.estimator,
            self.surrogate,
            self.measure == "spread",
            (self.n_neighbors, self.algorithm, self.n_jobs),
            self._weight,
            self.cv,
            seed_of(self.random_state) % 2**32,
        )

    @property
    def gauge_(self) -> Gauge:
        """What the package's other parts ask of a fitted detector."""
        check_is_fitted(self)
        rounding = (1 + self._weight) * self._drifter.rounding
        alarm = Alarm.of(getattr(self, "threshold_", None), self._weight, rounding, self._calibration)
        return Gauge(self._drifter, self._calibration, alarm)

    def indicator(self, X: Any) -> Array:
        """Return the drift indicator, in the units of y (log-odds for classes).

        Parameters
        ----------
        X : array-like or frame of shape (n, p)

        Returns
        -------
        indicator : array of shape (n,)
            ``|f - f_kNN|``, summed over outputs if there are several, and ``distance_weight`` times the
            embedding distance to the k-th neighbour, which is in these units too; or the spread of f.
        """
        return self._measure(X).indicators(self._weight)

    def _measure(self, X: Any) -> Measures:
        gauge = self.gauge_  # an unfitted detector cannot read rows
        return gauge.measure(read_rows(self, X))

    @property
    def reference_inputs_(self) -> Any:
        """The reference rows as the GBMAP takes them."""
        check_is_fitted(self)
        if not isinstance(self._drifter, Drifter):
            raise AttributeError("a detector with measure='spread' keeps no reference rows.")
        return self._drifter.inputs

    @property
    def _weight(self) -> float:
        """How many times the embedding distance counts."""
        if self.distance_weight is None:
            return 0.0 if self.measure == "spread" else 1.0
        return self.distance_weight

    def indicator_and_loss(self, X: Any, y: Any, name: str = "y") -> tuple[Array, Array]:
        """Return the drift indicator of rows with labels, and the loss that the model has on them.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
        y : array-like of shape (n,) or (n, n_targets)
        name : str, default="y"
            What errors call y.

        Returns
        -------
        indicator, loss : arrays of shape (n,)
        """
        drifter, rows = self._checked().drifter, read_rows(self, X)
        _, measures, outcome = drifter.read_and_measure(rows, read_y(y, rows, name), name)
        assert outcome is not None
        return measures.indicators(self._weight), outcome.losses

    def _checked(self) -> Gauge:
        """Return the gauge, if the model is still the one that it was."""
        gauge = self.gauge_
        gauge.drifter.check_model()
        return gauge

    def estimate_loss(self, X: Any, *, confidence: float = 0.9) -> LossEstimate:
        """Return the loss to expect, of each row and on average, without labels.

        Within the data it follows the losses of the calibration rows. Outside, it grows with the
        embedding distance to the neighbours, which bounds how far the prediction can have moved from
        theirs (or with ``|f - f_kNN|`` if a foreign model has moved farther): the error is then taken to be
        uniform up to that distance. With ``measure="spread"`` it is taken to be uniform and to spread as far.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
        confidence : float, default=0.9
            Of the intervals, for rows like those of the calibration. Outside the data the upper end
            assumes the largest error, the lower end none.

        Returns
        -------
        estimate : LossEstimate
        """
        gauge = self.gauge_
        _ = gauge.calibration  # else an error, before anything is computed
        _check_confidence(confidence)
        return gauge.estimate(gauge.measure(read_rows(self, X)), float(confidence))

    def explain(self, X: Any) -> DriftExplanation:
        """Split f - f_kNN of each row into extrapolation, by feature, and local misfit.

        The parts cover how far the prediction has moved from the neighbours, with its sign. The embedding
        distance that the indicator adds is of all learners together and is not split; of a GBMAP it is at
        least as large as the extrapolation.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)

        Returns
        -------
        explanation : DriftExplanation
        """
        return self._checked().reference("explain").explain(read_rows(self, X))

    def assess(
        self,
        X: Any,
        y: Any = None,
        *,
        delta: float = 0.1,
        tolerated_alarms: float = 0.1,
        tolerated_increase: float = 0.1,
        confidence: float = 0.95,
        constants: Sequence[ConstantColumn] = (),
    ) -> DriftAssessment:
        """Compare a batch of rows with the reference rows: whether predictions have shifted, why and where.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            The batch; one row will do.
        y : array-like of shape (n,) or (n, n_targets), default=None
            Its labels, for the losses, if they are known; NaN or None where one is not.
        delta : float, default=0.1
            The shift of the mean prediction that is tolerated, in standard deviations of y over the
            reference rows (of y - f_0 if the model has an ``init``; for classes, of their scores).
        tolerated_alarms, tolerated_increase : float, default=0.1
            As those of `verdict`.
        confidence : float, default=0.95
            One less the level of the verdict; and that of the interval of the expected loss.
        constants : sequence of ConstantColumn, default=()
            As those of `verdict`.

        Returns
        -------
        assessment : DriftAssessment

        Notes
        -----
        Rows are read in chunks. What is kept of them takes some 200 bytes a row and output, however many
        columns X has. Beyond 2^25 numbers in the embedding (1.6 million rows with 20 components) the
        distances of coordinates are those of a random sample of the rows, the same each time.

        Examples
        --------
        >>> import numpy as np
        >>> from gbmap import DriftDetector, GBMAPRegressor
        >>> X = np.random.default_rng(0).normal(size=(300, 2))
        >>> model = GBMAPRegressor(2, random_state=0).fit(X, X[:, 0])
        >>> drift = DriftDetector(model).fit(X, X[:, 0]).assess(X + 1)
        >>> round(drift.shift, 1), abs(drift.contributions).round(1).tolist()
        (1.0, [1.0, 0.0])
        """
        gauge = self._checked()
        gauge.reference("assess")
        _check_confidence(confidence)
        settings = Settings(delta, tolerated_alarms, tolerated_increase, round(1 - float(confidence), 12))
        return assess_rows(gauge, *read_batch(self, X, y), settings, constants)

    def verdict(
        self,
        X: Any,
        y: Any = None,
        *,
        delta: float = 0.1,
        tolerated_alarms: float = 0.1,
        tolerated_increase: float = 0.1,
        level: float = 0.05,
        constants: Sequence[ConstantColumn] = (),
    ) -> DriftVerdict:
        """Tell whether the model can still be trusted on a batch of rows, and if not, why.

        Asked are whether the mean prediction has shifted, whether more rows raise the alarm, what loss is to
        be expected, with labels whether the loss has grown, and of each column whether there are categories
        that were not seen, other shares of missing values, numbers out of range or of other units, values
        beside a constant, one value where there were several, or another type, and of labels whether there
        are classes that the model does not know. Everything is compared with rows that the model was not
        fitted to, and one error rate is for all of it.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            The batch; one row will do, though it can hardly show anything.
        y : array-like of shape (n,) or (n, n_targets), default=None
            Its labels, if they are known; NaN or None where one is not.
        delta : float, default=0.1
            The shift of the mean prediction that is tolerated, in standard deviations of y over the
            reference rows (of y - f_0 if the model has an ``init``; for classes, of their scores).
        tolerated_alarms : float, default=0.1
            The share of rows that may raise the alarm, and of rows of a column that may be another way before
            it asks for action.
        tolerated_increase : float, default=0.1
            By how much of itself the mean loss may grow.
        level : float, default=0.05
            The chance of a verdict other than "none" if nothing has changed is at most this.
        constants : sequence of ConstantColumn, default=()
            Columns that had one value in training and are no part of X, as `TableModel.constants` tells them
            of a table: the verdict says if they hold other values now.

        Returns
        -------
        verdict : DriftVerdict

        Notes
        -----
        The level holds if the batch and the calibration rows are exchangeable. After cross-fitting it does
        nearly, since the folds' models differ. Rows of a time series are not: take rows of all seasons
        for calibration, and expect more findings than the level says.

        Examples
        --------
        >>> import numpy as np
        >>> from gbmap import DriftDetector, GBMAPRegressor
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(600, 2))
        >>> y = X[:, 0] + 0.1 * rng.normal(size=600)
        >>> model = GBMAPRegressor(2, random_state=0).fit(X[:300], y[:300])
        >>> detector = DriftDetector(model).fit(X[:300], y[:300], X_cal=X[300:500], y_cal=y[300:500])
        >>> detector.verdict(X[500:], y[500:]).degree
        'none'
        >>> print(detector.verdict(X[500:], 2 * y[500:]).findings[0].kind)
        loss
        """
        gauge = self._checked()
        calibration = gauge.calibration
        settings = Settings(delta, tolerated_alarms, tolerated_increase, level)
        settings.check()
        X, y, new_classes = read_batch(self, X, y)
        columns = gauge.monitored.columns_in(X)
        if columns is not None and columns.has_other_type.any():
            return judge_columns(gauge.drifter, columns, constants, len(calibration.losses), float(level))
        evidence = Evidence.of(gauge, X, y, columns=columns, constants=constants, new_classes=new_classes)
        estimate = gauge.estimate(evidence.measures, 1 - float(level))
        return judge(gauge, evidence, estimate, settings)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_drifter")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags


def _check_confidence(confidence: float) -> None:
    if not (isinstance(confidence, Real) and 0 < confidence < 1):
        raise ValueError(f"confidence must be a number between 0 and 1, got {confidence!r}.")
