"""DriftDetector: an alarm for rows whose prediction should not be trusted, without labels."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import check_is_fitted, validate_data

from gbmap._core.arrays import in_memory
from gbmap._utils.missing import known_labels
from gbmap._utils.random import seed_of
from gbmap._utils.refitting import whole_or_undone
from gbmap._utils.scikit_learn import (
    HasMethods,
    Interval,
    StrOptions,
    fit_context,
    num_samples,
    safe_indexing,
)
from gbmap._utils.typing import Array
from gbmap.drift._alarm import IndicatorAlarm
from gbmap.drift._calibration import Calibration, Measures, Outcome
from gbmap.drift._drifter import Drifter
from gbmap.drift._estimating import estimated
from gbmap.drift._evidence import Alarm, columns_in, gather
from gbmap.drift._held_out import HeldOut, check_held_out
from gbmap.drift._judging import Settings, judge, judge_columns
from gbmap.drift._measuring import Measuring
from gbmap.drift._monitored import ScoredRows, is_fitted, labels_of, monitor
from gbmap.drift._spread import SpreadDrifter
from gbmap.drift.assessment import DriftAssessment, assess_rows
from gbmap.drift.explanation import DriftExplanation
from gbmap.drift.loss_estimate import LossEstimate
from gbmap.drift.verdict import DriftVerdict


class DriftDetector(IndicatorAlarm, BaseEstimator):  # type: ignore[misc]
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

    offset_: float

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
        X = self._read_rows(X, reset=True)
        if (X_cal is None) != (y_cal is None):
            raise ValueError("X_cal and y_cal must be given together, or neither of them.")
        was_fitted = self.estimator is not None and is_fitted(self.estimator)
        y = _read_y(y, X, "y")
        if self.measure == "spread" and self.distance_weight:
            raise ValueError(
                f"distance_weight must be 0 with measure='spread', which has no distances, "
                f"got {self.distance_weight!r}."
            )
        self._seed = seed_of(self.random_state) % 2**32
        self._drifter, rows = self._make_drifter(X, y)
        monitored = self._drifter.monitored
        self.estimator_ = monitored.model
        self.faithfulness_ = monitored.faithfulness(X, rows.phi, rows.scores)
        self._calibration: Calibration | None = None
        self.__dict__.pop("threshold_", None)  # of an earlier fit
        self.__dict__.pop("offset_", None)
        deviation = monitored.values(X, y, rows.scores).std(axis=0)
        if X_cal is not None:
            X_cal = self._read_rows(X_cal)
            y_cal = _read_y(y_cal, X_cal, "y_cal")
            lot = HeldOut.of(self._drifter, X_cal, y_cal)
            check_held_out(monitored, self._drifter.rounding, (rows.phi, y), (lot.rows.phi, y_cal))
            self._calibrate([lot], deviation, X_cal)
            self.faithfulness_ = monitored.faithfulness(X_cal, lot.rows.phi, lot.rows.scores)
        elif not was_fitted and (folds := self._folds(y)) is not None:
            lots = self._cross_fit(X, y, folds)
            self._calibrate(lots, deviation, None)
            assert self._calibration is not None
            reaches = [lot.measures.reach for lot in lots]
            self._calibration = self._calibration.crossed(rows.scores, reaches)
        self.calibration_size_ = 0 if self._calibration is None else len(self._calibration.indicators)
        if self._calibration is not None:
            self.set_threshold(false_alarm_rate=self.false_alarm_rate)
        return self

    def _make_drifter(self, X: Any, y: Array) -> tuple[Measuring, ScoredRows]:
        monitored = monitor(self.estimator, X, y, self.surrogate, self._seed)
        given = monitored.fitted.read_given(X)
        monitored = monitored.met(X, given)
        rows = monitored.read(X, given)
        if self.measure == "spread":
            return SpreadDrifter.of(monitored, rows), rows
        search = (self.n_neighbors, self.algorithm, self.n_jobs)
        return Drifter.of(monitored, rows, X, y, search), rows

    def _cross_fit(self, X: Any, y: Array, folds: Any) -> list[HeldOut]:
        """Return what each fold is like for the model and the reference rows of the others."""
        lots = []
        for train, test in folds.split(np.zeros(len(y)), y):
            drifter, _ = self._make_drifter(safe_indexing(X, train), y[train])
            lots.append(HeldOut.of(drifter, safe_indexing(X, test), y[test]))
        return lots

    def _calibrate(self, lots: list[HeldOut], deviation: Array, others: Any) -> None:
        """Keep what held-out rows are like; `others` are these if the reference does not hold them."""
        self._calibration = Calibration.of(
            Measures.join([lot.measures for lot in lots]),
            Outcome.join([lot.outcome for lot in lots]),
            np.concatenate([lot.rows.scores for lot in lots]),
            deviation,
            self._weight,
            self._rounding,
        )
        monitored, n_rows = self._drifter.monitored, sum(len(lot.rows.scores) for lot in lots)
        if monitored.profile is not None:
            n_unseen = np.sum([lot.n_unseen for lot in lots], axis=0)
            profile = monitored.profile.calibrated(others, n_unseen, n_rows)
            self._drifter = replace(self._drifter, monitored=replace(monitored, profile=profile))  # type: ignore[type-var]

    def _folds(self, y: Array) -> Any:
        """Return how to cut the rows, or None if they are too few to leave neighbours in every fold."""
        is_classes = self._drifter.monitored.classes is not None
        smallest = int(np.unique(y, return_counts=True)[1].min()) if is_classes else len(y)
        n_folds = min(self.cv, smallest)
        needed = self.n_neighbors if self.measure == "neighbours" else 1
        if n_folds < 2 or len(y) - -(-len(y) // n_folds) < needed:
            return None
        kind = StratifiedKFold if is_classes else KFold
        return kind(n_folds, shuffle=True, random_state=self._seed)

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

    def _ranks(self, X: Any) -> Array:
        return self._measure(X).ranks(self._weight)

    def _measure(self, X: Any) -> Measures:
        return self._checked_drifter().measure(self._read_rows(X))

    def _checked_drifter(self) -> Measuring:
        check_is_fitted(self)
        self._drifter.check_model()
        return self._drifter

    def _with_reference(self, what: str) -> Drifter:
        drifter = self._checked_drifter()
        if not isinstance(drifter, Drifter):
            raise ValueError(
                f"{what} needs reference rows, which a detector with measure='spread' does not keep; fit one "
                "with measure='neighbours'."
            )
        return drifter

    def _decide(self, ranks: Array) -> Array:
        if not hasattr(self, "threshold_"):
            self._need_calibration()
        return super()._decide(ranks)

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

    @property
    def _rounding(self) -> float:
        return (1 + self._weight) * self._drifter.rounding

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
        drifter, rows = self._checked_drifter(), self._read_rows(X)
        _, measures, outcome = drifter.read_and_measure(rows, _read_y(y, rows, name), name)
        assert outcome is not None
        return measures.indicators(self._weight), outcome.losses

    def p_values(self, X: Any) -> Array:
        """Return conformal p-values: small for rows unlike the calibration rows.

        For rows exchangeable with the calibration rows the chance of a p-value of at most a is at
        most a. After cross-fitting that holds nearly, since the folds' models differ.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)

        Returns
        -------
        p : array of shape (n,)
            Multiples of ``1 / (calibration_size_ + 1)``.
        """
        return self._p_values(self._ranks(X))

    def _p_values(self, ranks: Array) -> Array:
        return self._need_calibration().p_values(ranks, self._rounding)

    def alarms(self, X: Any) -> dict[str, Any]:
        """Return all that is known of each row, of one measurement.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)

        Returns
        -------
        alarms : dict of arrays of shape (n,)
            "indicator"; "p_value", None without calibration rows; "is_alarm", None without a threshold.
        """
        measures = self._measure(X)
        ranks = measures.ranks(self._weight)
        return {
            "indicator": measures.indicators(self._weight),
            "p_value": None if self._calibration is None else self._p_values(ranks),
            "is_alarm": self._decide(ranks) < 0 if hasattr(self, "threshold_") else None,
        }

    def _read_rows(self, X: Any, *, reset: bool = False) -> Any:
        """Return rows with the right columns; what they hold, the model's own validation sees to."""
        if hasattr(X, "columns"):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        return validate_data(
            self,
            in_memory(X),
            reset=reset,
            accept_sparse="csr",
            dtype=None,
            ensure_all_finite=False,
            ensure_min_samples=1,
        )

    def _need_calibration(self) -> Calibration:
        check_is_fitted(self)
        if self._calibration is None:
            raise ValueError(
                "this needs calibration rows: pass X_cal and y_cal to fit, rows that the estimator was not "
                "trained on; or an unfitted estimator with enough rows, of each class, to be cross-fitted."
            )
        return self._calibration

    def set_threshold(
        self,
        threshold: float | None = None,
        *,
        quantile: float | None = None,
        false_alarm_rate: float | None = None,
        tolerated_loss: float | None = None,
    ) -> Self:
        """Set the level of alarm anew; nothing is refitted. Exactly one of the arguments is to be given.

        Parameters
        ----------
        threshold : float, default=None
            The level itself, in the units of the indicator.
        quantile : float, default=None
            The quantile of the calibration indicators, in [0, 1].
        false_alarm_rate : float, default=None
            A row raises the alarm if and only if its p-value is at most this, in [0, 1]: of rows like the
            calibration rows, at most this share. The level is infinite, and no row raises the alarm, if
            there are fewer than ``1 / false_alarm_rate - 1`` calibration rows.
        tolerated_loss : float, default=None
            The expected loss up to which a row is to pass, in the units of the model's loss. The
            level is then that of the calibration rows at which the loss, as a rising function of
            the indicator, exceeds it.

        Returns
        -------
        self : DriftDetector
        """
        check_is_fitted(self)
        ways = {
            "threshold": threshold, "quantile": quantile, "false_alarm_rate": false_alarm_rate,
            "tolerated_loss": tolerated_loss,
        }  # fmt: skip
        given = [(name, value) for name, value in ways.items() if value is not None]
        if len(given) != 1:
            names = " and ".join(name for name, _ in given) or "none"
            raise ValueError(f"set_threshold takes exactly one of {', '.join(ways)}; got {names}.")
        name, value = given[0]
        share = name in ("quantile", "false_alarm_rate")
        if not (isinstance(value, Real) and 0 <= value <= (1 if share else np.inf)):
            rule = "a number between 0 and 1" if share else "a number of at least 0"
            raise ValueError(f"{name} must be {rule}, got {value!r}.")
        if name != "threshold":
            calibration = self._need_calibration()
            if name == "tolerated_loss":
                value = calibration.level_of_loss(float(value))
            elif name == "quantile":
                value = calibration.level_of_quantile(float(value))
            else:
                value = calibration.level_of_rate(float(value))
        self.threshold_ = float(value)
        self.offset_ = -self.threshold_
        return self

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
        calibration = self._need_calibration()
        if not (isinstance(confidence, Real) and 0 < confidence < 1):
            raise ValueError(f"confidence must be a number between 0 and 1, got {confidence!r}.")
        return estimated(calibration, self._drifter, self._measure(X), float(confidence))

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
        return self._with_reference("explain").explain(self._read_rows(X))

    def assess(
        self,
        X: Any,
        y: Any = None,
        *,
        delta: float = 0.1,
        tolerated_alarms: float = 0.1,
        tolerated_increase: float = 0.1,
        confidence: float = 0.95,
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
        drifter = self._with_reference("assess")
        if not (isinstance(confidence, Real) and 0 < confidence < 1):
            raise ValueError(f"confidence must be a number between 0 and 1, got {confidence!r}.")
        X, y = self._read_batch(X, y)
        settings = Settings(delta, tolerated_alarms, tolerated_increase, round(1 - float(confidence), 12))
        return assess_rows(drifter, X, y, calibration=self._calibration, alarm=self._alarm, settings=settings)

    def verdict(
        self,
        X: Any,
        y: Any = None,
        *,
        delta: float = 0.1,
        tolerated_alarms: float = 0.1,
        tolerated_increase: float = 0.1,
        level: float = 0.05,
    ) -> DriftVerdict:
        """Tell whether the model can still be trusted on a batch of rows, and if not, why.

        Asked are whether the mean prediction has shifted, whether more rows raise the alarm, what loss is to
        be expected, with labels whether the loss has grown, and of each column whether there are categories
        that were not seen, other shares of missing values, numbers out of range or of other units, values
        beside a constant, or another type. Everything is compared with rows that the model was not fitted
        to, and one error rate is for all of it.

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
        drifter, calibration = self._checked_drifter(), self._need_calibration()
        settings = Settings(delta, tolerated_alarms, tolerated_increase, level)
        settings.check()
        X, y = self._read_batch(X, y)
        columns = columns_in(drifter.monitored, X)
        if columns is not None and columns.has_other_type.any():
            return judge_columns(drifter, columns, len(calibration.losses), float(level))
        evidence = gather(drifter, X, y, self._alarm, columns)
        estimate = estimated(calibration, drifter, evidence.measures, 1 - float(level))
        return judge(drifter, calibration, evidence, estimate, self._alarm.threshold, settings)

    def _read_batch(self, X: Any, y: Any) -> tuple[Any, Array | None]:
        X = self._read_rows(X)
        if y is not None and num_samples(y) != num_samples(X):
            raise ValueError(f"y must have as many rows as X, {num_samples(X)}, got {num_samples(y)}.")
        if y is None:
            return X, None
        labels = labels_of(y)
        n_known = len(known_labels(labels))
        if n_known == len(labels):
            return X, _read_y(y, X, "y")
        return X, labels if n_known else None

    @property
    def _alarm(self) -> Alarm:
        threshold = getattr(self, "threshold_", None)
        known = None if self._calibration is None else self._calibration.indicators
        if threshold == np.inf and known is not None and np.isfinite(known).all():
            threshold = None  # there are too few rows for one
        return Alarm(threshold, self._weight, self._rounding)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_drifter")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags


def _read_y(y: Any, X: Any, name: str) -> Array:
    """Return y as an array, of as many rows as X."""
    if y is None:
        raise ValueError(f"DriftDetector requires y to be passed, but the target {name} is None.")
    values: Array = check_array(in_memory(y), ensure_2d=False, dtype=None, input_name=name)
    check_consistent_length(X, values)
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
