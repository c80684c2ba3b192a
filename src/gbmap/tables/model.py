"""TableModel: one fit from a raw table to a prediction, a map, an explanation and an alarm."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from gbmap._utils.refitting import whole_or_undone
from gbmap._utils.sampling import sample_rows
from gbmap._utils.scikit_learn import Interval, InvalidParameterError, StrOptions
from gbmap._utils.typing import Array
from gbmap.drift import ConstantColumn, DriftDetector
from gbmap.estimators import GBMAPClassifier, GBMAPRegressor
from gbmap.estimators.other_words import ATTRIBUTES, AnsweringAttributes
from gbmap.tables import _holdout as holdout
from gbmap.tables._batches import Batch
from gbmap.tables._features import FeatureReader, as_frame, constants_of, gather
from gbmap.tables._left_out import with_tells
from gbmap.tables._progress import Progress, StageCallback, silent
from gbmap.tables._survey import Asked, survey
from gbmap.tables._targets import read_targets
from gbmap.tables.errors import TableError, shown
from gbmap.tables.reading import Table, batches_of, label_of
from gbmap.tables.schema import TASKS, Schema

_NEIGHBOURS = 5  # the detector's default, as far as there are rows
# Rows of calibration; and of the reference, as far as these hold no more numbers than that, 4 MB of a model
# file. An AUC of large errors was .015 lower at most with 2,000 reference rows than with 12,000, on shifts of
# four tables.
_MOST_ROWS, _FEWEST_REFERENCE_ROWS, _REFERENCE_NUMBERS = 20_000, 1_000, 500_000
_LEARNERS = 40  # with a ridge that is given: the fit cannot find how many
_LOSSES = {
    "regression": ("squared_error", "huber", "quantile"),
    "classification": ("log_loss", "exponential", "hinge"),
}


def _gives_probabilities(model: TableModel) -> bool:
    return hasattr(model.model_, "predict_proba")


class TableModel(AnsweringAttributes, BaseEstimator):  # type: ignore[misc]
    r"""A GBMAP over raw tables: columns of numbers, text and dates, with missing values.

    Parameters
    ----------
    target : str
        The column to predict.
    task : {"regression", "classification"}, default=None
        None is a guess: classification if the target holds text, truth values, or at most 20 different
        whole numbers, each in five rows on average; else regression. ``schema_.task_reason`` says why.
    test_size : float, default=0.2
        The share of rows that are kept out of the fit, for the scores and to calibrate the detector. 0
        fits all rows; there are no scores then, and the detector is calibrated by cross-fitting.
    reference_rows : int or "auto", default="auto"
        The most rows that the detector keeps as neighbours, and calibrates with. 0 leaves it out. "auto" is
        20,000 rows, but of neighbours no more than take 4 MB in a file, or 1,000 of them if these take more;
        without held-out rows to calibrate with, 20,000.
    n_components : int or "auto", default=None
        The number of learners; None is "auto", or 40 with an ``l2_regularization`` that is a number.
    beta, l2_regularization, loss : float, float or "auto", and str, default=None
        As those of the estimators; None is their default, by which a fit finds its ridge itself.
    refine : bool, default=True
        Whether to optimise all learners together in the end: better predictions for a longer fit.
    n_jobs : int, default=None
    random_state : int, default=0
        Seeds everything: the same data give the same bits.

    Attributes
    ----------
    schema_ : Schema
        What the columns are, and the task.
    model_ : GBMAPRegressor or GBMAPClassifier
        Fitted; it takes what `features` returns.
    detector_ : DriftDetector or None
        Likewise.
    classes_ : array of shape (n_classes,)
        The labels, in the order of the columns of `predict_proba`; only of classification.
    scores_ : dict of dict of float, or None
        Metrics on the held-out rows, of "gbmap", "linear" (ridge or logistic regression on the same inputs)
        and "constant": r2, rmse, mae; or accuracy, log_loss and, for two classes, roc_auc.
    n_fitted_, n_held_out_ : int
        The numbers of rows.

    See Also
    --------
    gbmap.tables.open_table : Files as tables.

    Notes
    -----
    What a column is follows from all of its values: numbers, however people write them (words for yes and no
    count as 1 and 0, and whole numbers stay numbers however few there are), dates and times, or else text,
    which is a category. What a frame has types for besides is read so: spans of time are numbers of seconds,
    times of day numbers of hours, periods the dates that they begin with, intervals categories. Where a value
    can be read in two ways and nothing in the table tells, an error asks for `number` or `date`. If at least
    99 %, but not all, are numbers (or dates), the first other value is an error; infinite numbers are
    missing, with a note. Columns that are constant, empty, a running number, whole numbers of 16 digits or
    more that never repeat, or text that hardly repeats are dropped, and ``schema_`` says why; of lists and
    other values that nothing can be made of, a warning does. Text that is empty or says NA, N/A, NaN, null,
    None or ? is missing.

    Categories, missing values and columns whose effect bends are left to the estimators, which see numbers
    and text; `GBMAPRegressor` tells what they make of them.

    `gbmap.inspection`, `gbmap.plots`, `gbmap.report.make_report` and the distances take the model and raw
    tables as they take an estimator and its rows; their answers are in the columns of `features`, and
    exports read these.

    A fit reads the table twice, first to see what the columns are, and then keeps the rows in memory: 8
    bytes a value, some six times over. Predictions need memory for 50,000 rows only. With ``test_size=0``
    the detector profiles a model of its own, fitted to the reference rows; it is the same model if they are
    all rows.

    Examples
    --------
    >>> import io
    >>> import numpy as np
    >>> from gbmap import TableModel
    >>> from gbmap.tables import open_table
    >>> x = np.random.default_rng(0).normal(size=200)
    >>> file = "x,city,y\n" + "".join(f"{v},{'Oslo' if v > 1 else 'Turku'},{v * v}\n" for v in x)
    >>> model = TableModel("y", n_components=5).fit(open_table(io.BytesIO(file.encode())))
    >>> model.schema_.task, {column.name: column.kind for column in model.schema_.columns}
    ('regression', {'x': 'number', 'city': 'category'})
    >>> sorted(model.scores_)
    ['constant', 'gbmap', 'linear']
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "target": [str],
        "task": [StrOptions(set(TASKS)), None],
        "test_size": [Interval(Real, 0, 1, closed="left")],
        "reference_rows": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "refine": ["boolean"],
        "random_state": [Interval(Integral, 0, 2**32 - 1, closed="both")],
    }

    _other_words = {
        name: sentence for name, sentence in ATTRIBUTES.items() if name in ("load", "plot", "report", "save")
    }
    schema_: Schema
    model_: Any  # of files of earlier versions, a pipeline
    detector_: DriftDetector | None
    scores_: dict[str, dict[str, float]] | None

    def __init__(
        self,
        target: str,
        *,
        task: str | None = None,
        test_size: float = 0.2,
        reference_rows: int | str = "auto",
        n_components: int | str | None = None,
        beta: float | None = None,
        l2_regularization: float | str | None = None,
        loss: Any = None,
        refine: bool = True,
        n_jobs: int | None = None,
        random_state: int = 0,
    ):
        self.target = target
        self.task = task
        self.test_size = test_size
        self.reference_rows = reference_rows
        self.n_components = n_components
        self.beta = beta
        self.l2_regularization = l2_regularization
        self.loss = loss
        self.refine = refine
        self.n_jobs = n_jobs
        self.random_state = random_state

    @whole_or_undone
    def fit(
        self,
        data: Any,
        *,
        columns: Iterable[str] | None = None,
        drop: Iterable[str] = (),
        category: Iterable[str] = (),
        number: Iterable[str] | Mapping[str, str] = (),
        date: Iterable[str] | Mapping[str, str] = (),
        progress: Progress | None = None,
    ) -> Self:
        """Find out what the columns are, and fit.

        Parameters
        ----------
        data : Table, or frame of pandas or polars
        columns : iterable of str, default=None
            Those to predict from; None for all but the target.
        drop : iterable of str, default=()
            Those to leave out.
        category : iterable of str, default=()
            Those to take for categories, whatever they hold.
        number : iterable of str, or dict of str to str, default=()
            Those to take for numbers; what is none there is missing. A dict tells of each what the mark
            before decimals is, "point" or "comma"; "" leaves that to be found out.
        date : iterable of str, or dict of str to str, default=()
            Those to take for dates. A dict tells how they are written: "dmy" or "mdy", where days and months
            cannot be told apart, or a format as of ``strptime``, such as "%d.%m.%Y"; "" as above.
        progress : callable, default=None
            Called as ``progress(step, done, total)``: "reading" with rows, twice (total is None the
            first time), "fitting" with components, "calibrating" with 0 and 1.

        Returns
        -------
        self : TableModel

        Raises
        ------
        TableError
            If the data cannot be used.
        """
        self._validate_params()
        progress = progress or silent
        data = data.repeatable() if isinstance(data, Table) else Batch.of(data)
        asked = Asked.of(columns, drop, category, number, date)
        self.schema_ = with_tells(data, survey(data, self.target, self.task, asked, progress))
        X, y, X_test, y_test = self.split(data, progress=progress)
        self.n_fitted_, self.n_held_out_ = len(y), len(y_test)
        if self.test_size and not len(y_test):
            warnings.warn(
                f"{label_of(data)}: no row was held out, so that there are no scores: too few rows"
                f"{' in every class' if self.schema_.task == 'classification' else ''} of the target "
                f"{shown(self.target)}.",
                stacklevel=3,
            )
        self.model_ = self._make_gbmap().set_callbacks(StageCallback(progress))
        self.model_.fit(X, y)
        self.model_.set_callbacks()
        self.scores_ = holdout.scores(self.model_, X, y, X_test, y_test) if len(y_test) else None
        progress("calibrating", 0, 1)
        self.detector_ = self._make_detector(X, y, X_test, y_test) if self.reference_rows else None
        progress("calibrating", 1, 1)
        return self

    def split(self, data: Any, *, progress: Progress | None = None) -> tuple[Any, Array, Any, Array]:
        """Return the rows of the fit's data that have a target, as they were fitted and held out.

        Parameters
        ----------
        data : Table, or frame of pandas or polars
            What was given to `fit`.
        progress : callable, default=None
            As in `fit`.

        Returns
        -------
        X, y, X_test, y_test : pandas.DataFrame and array, twice
            Features and targets of the fitted rows, and of those held out.
        """
        X, y = gather(data, self.schema_, progress or silent)
        classes = self.schema_.task == "classification"
        train, test = holdout.split(y, self.test_size, classes=classes, seed=self.random_state)
        return X.iloc[train] if len(test) else X, y[train], X.iloc[test], y[test]

    def _make_gbmap(self) -> GBMAPRegressor | GBMAPClassifier:
        task = self.schema_.task
        if isinstance(self.loss, str) and self.loss not in _LOSSES[task]:
            raise InvalidParameterError(
                f"loss must be one of {', '.join(_LOSSES[task])} for {task}, which the target "
                f"{self.schema_.target!r} was taken for, got {self.loss!r}; choose one, or give the task."
            )
        kind = GBMAPRegressor if task == "regression" else GBMAPClassifier
        asked = {name: getattr(self, name) for name in ("n_components", "beta", "l2_regularization", "loss")}
        given = {name: value for name, value in asked.items() if value is not None}
        finds_ridge = given.get("l2_regularization", "auto") == "auto"
        size, refine = ("auto", "auto") if finds_ridge else (_LEARNERS, True)
        settings: dict[str, Any] = {"n_components": size, "refine": self.refine and refine, **given}
        return kind(n_jobs=self.n_jobs, random_state=self.random_state, **settings)

    def _make_detector(self, X: Any, y: Array, X_test: Any, y_test: Array) -> DriftDetector:
        n_reference, n_calibration = self._detector_rows(has_held_out=len(y_test) > 0)
        X, y = _sample(X, y, n_reference, self.random_state)
        X_cal, y_cal = _sample(X_test, y_test, n_calibration, self.random_state)
        monitored = self.model_ if len(y_cal) else clone(self.model_)
        calibration = {"X_cal": X_cal, "y_cal": y_cal} if len(y_cal) else {}
        detector = DriftDetector(
            monitored, min(_NEIGHBOURS, len(y)), n_jobs=self.n_jobs, random_state=self.random_state
        )
        with holdout.without_doubts_about_classes():  # which the fit of the model has said
            detector.fit(X, y, **calibration)
        return detector

    def _detector_rows(self, *, has_held_out: bool) -> tuple[int, int]:
        """Return the most rows for reference and calibration."""
        if not isinstance(self.reference_rows, str):
            return self.reference_rows, self.reference_rows
        if not has_held_out:  # the detector's own model is fitted to the reference rows
            return _MOST_ROWS, _MOST_ROWS
        n_learners, n_inputs = self.model_.ensemble_.weights.shape
        numbers_a_row = n_inputs + n_learners + 2 * self.model_.ensemble_.n_outputs  # see Drifter
        most = max(_FEWEST_REFERENCE_ROWS, _REFERENCE_NUMBERS // numbers_a_row)
        return min(most, _MOST_ROWS), _MOST_ROWS

    def features(self, frame: Any) -> Any:
        """Return rows as the frame that `model_` and `detector_` take.

        Parameters
        ----------
        frame : frame of pandas or polars
            Columns in any order; others than those of the fit are ignored.

        Returns
        -------
        features : pandas.DataFrame
            Numbers as float64, categories as str, a date "when" as "when (days)" since 1970 and what else
            of it varies: "when (day of year)", "when (weekday)" from 0 for Monday, "when (hour)"; all in
            UTC. NaN is missing.
        """
        check_is_fitted(self)
        batch = Batch.of(frame)
        return as_frame(FeatureReader(self.schema_).read(batch), len(batch), self.schema_)

    def constants(self, frame: Any) -> tuple[ConstantColumn, ...]:
        """Return the columns that had one value in the fit, and were dropped for it, as they are now.

        Parameters
        ----------
        frame : frame of pandas or polars

        Returns
        -------
        constants : tuple of ConstantColumn
            What `DriftDetector.verdict` takes beside the features. Columns that the frame has not are left
            out.
        """
        check_is_fitted(self)
        return constants_of(Batch.of(frame), self.schema_)

    def targets(self, frame: Any) -> Array:
        """Return the target of rows, none of which may be missing.

        Parameters
        ----------
        frame : frame of pandas or polars

        Returns
        -------
        y : array of shape (n,)
            Numbers, or labels like ``model_.classes_``.
        """
        check_is_fitted(self)
        batch = Batch.of(frame)
        y, is_present = read_targets(batch, self.schema_)
        if not is_present.all():
            row = batch.offset + int(np.argmin(is_present)) + 1
            raise TableError(f"{batch.label}: the target {shown(self.target)} is missing in row {row:,}.")
        return y

    @property
    def classes_(self) -> Array:
        """The labels, in the order of the columns of `predict_proba`; a regression has none."""
        return self.model_.classes_

    def predict(self, data: Any, return_std: bool = False) -> Any:
        """Return the predictions of rows, and how far new targets spread around them if asked to.

        Parameters
        ----------
        data : Table, or frame of pandas or polars
        return_std : bool, default=False
            Whether to return the standard deviation of the target of each row too; of numbers only.

        Returns
        -------
        predicted : array of shape (n,)
        std : array of shape (n,)
            With ``return_std=True``, as `GBMAPRegressor.predict` tells it.
        """
        if not return_std:
            return self._map(lambda X: self.model_.predict(X), data)
        check_is_fitted(self)
        if self.schema_.task == "classification":
            raise ValueError(
                f"return_std is for targets that are numbers, and {shown(self.target)} holds classes; "
                "predict_proba tells how sure each is."
            )
        both = self._map(lambda X: np.column_stack(self.model_.predict(X, return_std=True)), data)
        return both[:, 0], both[:, 1]

    @available_if(_gives_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, data: Any) -> Array:
        """Return the probabilities of the classes; only for classification, with a loss that gives them.

        Parameters
        ----------
        data : Table, or frame of pandas or polars

        Returns
        -------
        probabilities : array of shape (n, n_classes)
            In the order of ``classes_``.
        """
        return self._map(lambda X: self.model_.predict_proba(X), data)

    def transform(self, data: Any) -> Array:
        """Return the coordinates of rows in the map.

        Parameters
        ----------
        data : Table, or frame of pandas or polars

        Returns
        -------
        embedding : array of shape (n, n_coordinates)
        """
        return self._map(lambda X: self.model_.transform(X), data)

    def score(self, data: Any) -> float:
        """Return R2 or accuracy on rows, those without a target left out.

        Parameters
        ----------
        data : Table, or frame of pandas or polars

        Returns
        -------
        score : float
        """
        metrics = self.evaluate(data)
        return metrics["accuracy" if self.schema_.task == "classification" else "r2"]

    def evaluate(self, data: Any) -> dict[str, float]:
        """Return the metrics of ``scores_`` on rows, those without a target left out.

        Parameters
        ----------
        data : Table, or frame of pandas or polars

        Returns
        -------
        metrics : dict of float
            And "n_rows", the number of rows with a target.
        """
        check_is_fitted(self)
        parts = []
        for batch in batches_of(data, [*self._columns, self.target]):
            y, is_present = read_targets(batch, self.schema_)
            X = self.features(batch)[is_present]
            if len(X):
                predicted = self.model_.predict(X)
                parts.append((y[is_present], predicted, holdout.probabilities(self.model_, X)))
        if not parts:
            raise TableError(f"{label_of(data)} has no row with a value of the target {shown(self.target)}.")
        y, predicted = (np.concatenate(part) for part in list(zip(*parts))[:2])
        has_probabilities = parts[0][2] is not None
        probabilities = np.concatenate([part[2] for part in parts]) if has_probabilities else None
        metrics = holdout.metrics(y, predicted, probabilities, getattr(self.model_, "classes_", None))
        return {**metrics, "n_rows": len(y)}

    @property
    def _columns(self) -> list[str]:
        return [column.name for column in self.schema_.used]

    def _map(self, function: Callable[[Any], Array], data: Any) -> Array:
        check_is_fitted(self)
        parts = [function(self.features(batch)) for batch in batches_of(data, self._columns)]
        if not parts:
            raise TableError(f"{label_of(data)} has no rows.")
        return np.concatenate(parts)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")


def _sample(X: Any, y: Array, most: int, seed: int) -> tuple[Any, Array]:
    chosen = sample_rows(len(y), most, seed)
    return X.iloc[chosen], y[chosen]
