"""What the two estimators share: prepare, boost, store; everything but the meaning of y."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import (
    _check_monotonic_cst,
    _check_sample_weight,
    check_is_fitted,
    validate_data,
)

from gbmap import _dask, _foreign
from gbmap._core import losses
from gbmap._core.activation import ACTIVATIONS
from gbmap._core.arrays import is_foreign, namespace, to_numpy
from gbmap._core.boosting import Stage, boost, mean_losses
from gbmap._core.ensemble import Ensemble
from gbmap._core.objective import Objective
from gbmap._core.weak_learner import Solver
from gbmap._initial import fit_initial, initial_score
from gbmap._progress import Checkpoint, StageRecord, identity_of
from gbmap._rows import as_rows, map_rows, more_rows
from gbmap._rows.collapse import collapse
from gbmap._rows.dask import DaskRows, DaskTable, is_collection, one_fit
from gbmap._rows.device import DeviceRows
from gbmap._rows.memory import MemoryRows
from gbmap._rows.threads import ThreadTeam, effective_threads

Array = NDArray[Any]
AnyRows = MemoryRows | DeviceRows | DaskRows
logger = logging.getLogger("gbmap")

# The smallest sample holds so many rows, or so many a column if that is more; each further one is larger by
# a factor, up to half of the rows. None takes more than so many bytes, except to hold so many rows at least.
_SAMPLE_ROWS, _SAMPLE_ROWS_PER_COLUMN, _SAMPLE_GROWTH = 10_000, 50, 8
_SAMPLE_BYTES, _SAMPLE_ROWS_AT_LEAST = 1 << 26, 2_000
# A softplus of larger beta, in the units of y, or of one below its inverse, leaves the range of float64.
_STEEPEST = 1e300
# Embeddings in the units of a y of smaller spread leave the range of float32.
_FINE_FOR_FLOAT32 = 1e-30
# Local coefficients are averaged over at most so many rows times columns.
_IMPORTANCE_NUMBERS = 5_000_000


@dataclass(frozen=True)
class _Data:
    """Rows as validated (X, y), as given (raw, for init), and as the engine wants them (targets).

    A DaskTable, in place of X, has targets and weights with it.
    """

    raw: Any
    X: Any
    y: Any
    targets: Any
    weight: Array | None = None

    @property
    def n_outputs(self) -> int:
        return int(self.X.n_outputs if isinstance(self.X, DaskTable) else self.targets.shape[1])

    def release(self) -> None:
        """Let a cluster drop what the fit has taken over."""
        if isinstance(self.X, DaskTable):
            self.X.release()

    def take(self, indices: Array) -> _Data:
        weight = None if self.weight is None else self.weight[indices]
        X, y, targets = (_foreign.take(each, indices) for each in (self.X, self.y, self.targets))
        raw = X if self.raw is self.X else _safe_indexing(self.raw, indices)
        return _Data(raw, X, y, targets, weight)


class BaseGBMAP(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    CallbackSupportMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """What regression and classification share: everything but the meaning of y."""

    _parameter_constraints: dict[str, list[Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "beta": [Interval(Real, 0, None, closed="neither")],
        "l2_regularization": [Interval(Real, 0, None, closed="left")],
        "activation": [StrOptions(set(ACTIVATIONS))],
        "init": [None, HasMethods(["fit"]), callable],
        "standardize": ["boolean"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "refine": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "monotonic_cst": ["array-like", dict, None],
        "warm_start": ["boolean"],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    # What y is: the loss, the targets that the engine sees, and how to set rows aside.
    _y_rules: dict[str, Any]

    def _make_loss(self) -> losses.Loss:
        raise NotImplementedError

    def _read_targets(self, y: Array, name: str, *, fitting: bool) -> Array:
        raise NotImplementedError

    def _all_classes_count(self) -> bool:
        return True

    def _weigh_classes(self, y: Array, weight: Array | None) -> Array | None:
        return weight

    def _strata(self, y: Array) -> Array | None:
        return None

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        checkpoint: Any = None,
    ) -> Self:
        """Fit the learners, one after the other.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            NumPy, pandas, polars, SciPy sparse or a memory map. A C-ordered array of float32 or
            float64 is used where it is; anything else is copied once. Arrays of PyTorch, CuPy, JAX
            and the like are fitted where they are, and so is a Dask array or frame, with y and
            ``sample_weight`` of Dask or in memory.
        y : array-like of shape (n_samples,) or, for regression, (n_samples, n_targets)
            The target.
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of two counts as the same row given twice.
        X_val, y_val : array-like, default=None
            Rows to watch the loss on, and to stop on if ``early_stopping=True``.
        checkpoint : str or path-like, default=None
            A file to write after each stage. If it is there already, the fit goes on from it, to the
            same bits as one that was never interrupted; the file of another fit is refused. An
            ``init`` model must be seeded for that. The file stays when the fit is done.

        Returns
        -------
        self : object
            The fitted estimator. After a keyboard interrupt it holds the learners finished by
            then, and ``fit`` with ``warm_start=True`` goes on from them.
        """
        if self.refine:
            raise NotImplementedError("refine=True is not available in this version; use refine=False.")
        resumes = self.warm_start and hasattr(self, "ensemble_")
        if not resumes:
            self.__dict__.pop("ensemble_", None)
            self._seed = _seed(self.random_state)
        elif checkpoint is not None:
            raise ValueError("checkpoint must be None when a fitted estimator goes on with warm_start=True.")
        with one_fit():
            self._fit(X, y, sample_weight, X_val, y_val, checkpoint, resumes)
        unfinished = sum(not record.converged for record in self.history_)
        if unfinished:
            warnings.warn(
                f"{unfinished} of {self.n_components_} stages ended at max_iter={self.max_iter} iterations "
                "before they converged; raise max_iter, or tol if the loss is low enough.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, X_val: Any, y_val: Any, checkpoint: Any, resumes: bool
    ) -> None:
        """Validate, and fit."""
        data, validation = self._prepare(X, y, sample_weight, X_val, y_val, resumes)
        file = None if checkpoint is None else self._open_checkpoint(checkpoint, data, validation)
        if validation is None and self.early_stopping:
            data, validation = self._set_aside(data)
        if not resumes:
            self.init_ = None if self.init is None else fit_initial(self.init, data.raw, data.y, data.weight)
        ensemble: Ensemble | None = getattr(self, "ensemble_", None)
        if ensemble is not None and self.n_components < ensemble.n_stages:
            raise ValueError(
                f"n_components={self.n_components} must be at least {ensemble.n_stages}, the number of "
                "components fitted so far, to go on from them; start anew without warm_start or checkpoint."
            )
        with (
            _visible_log(self.verbose),
            ThreadTeam(effective_threads(self.n_jobs, _numbers_in_memory(data.X))) as team,
        ):
            self._boost(data, validation, team, ensemble, file)

    def _prepare(
        self, X: Any, y: Any, sample_weight: Any, X_val: Any, y_val: Any, resumes: bool
    ) -> tuple[_Data, _Data | None]:
        """Validate the arguments of `fit`."""
        if is_collection(X):
            _dask.refuse_what_needs_all_rows(self, X_val, resumes=resumes)
        data = self._read_rows(X, y, sample_weight, fitting=not resumes)
        if resumes and data.n_outputs != self.ensemble_.n_outputs:
            raise ValueError(
                f"y must have as many targets as before, {self.ensemble_.n_outputs}, when warm_start=True, "
                f"got {data.n_outputs}; set warm_start=False to start anew."
            )
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val must be given together, or neither of them.")
        if X_val is None:
            return data, None
        validation = self._read_validation_rows(X_val, y_val, data.X)
        if validation.n_outputs != data.n_outputs:
            raise ValueError(
                f"y_val must have as many targets as y, {data.n_outputs}, got {validation.n_outputs}."
            )
        return data, validation

    def _read_rows(self, X: Any, y: Any, sample_weight: Any, *, fitting: bool) -> _Data:
        """Return the rows to fit."""
        if is_collection(X):
            data = self._read_collection(X, y, sample_weight, "y", fitting=fitting)
            if data is not None:
                return data
            X, y, sample_weight = (_dask.in_memory(each) for each in (X, y, sample_weight))
        X, y = _foreign.to_memory_if_small(X, y)
        given = X
        # If every row counts, the moments of X tell whether it is finite, which saves a pass over it here.
        all_count = sample_weight is None and not self.early_stopping and self._all_classes_count()
        X, y = _validated(
            self, X, y, reset=fitting, ensure_all_finite=not all_count, ensure_min_samples=2,
            **_rules_for(given), **self._y_rules,
        )  # fmt: skip
        targets = _foreign.targets_beside(self._read_targets(y, "y", fitting=fitting), X)
        weight = None
        if sample_weight is not None:
            rows = np.empty(X.shape[0]) if is_foreign(X) else X
            weight = _check_sample_weight(
                to_numpy(sample_weight), rows, dtype=np.float64, ensure_non_negative=True
            )
        return _Data(_frame_or(X, given), X, y, targets, self._weigh_classes(y, weight))

    def _read_validation_rows(self, X: Any, y: Any, beside: Any) -> _Data:
        """Return the rows to watch, where those of the fit are if that is a device."""
        if is_collection(X):
            data = self._read_collection(X, y, None, "y_val", fitting=False)
            if data is not None:
                return data
            X, y = _dask.in_memory(X), _dask.in_memory(y)
        given = X
        X, y = _foreign.moved_to(beside, X, y)
        X, y = _validated(self, X, y, reset=False, **_rules_for(X), **self._y_rules)
        targets = _foreign.targets_beside(self._read_targets(y, "y_val", fitting=False), X)
        return _Data(_frame_or(X, given), X, y, targets)

    def _read_collection(
        self, X: Any, y: Any, sample_weight: Any, name: str, *, fitting: bool
    ) -> _Data | None:
        """Return the rows of a Dask collection where they are, or None if they are few."""
        example = _dask.example_of(X)
        dtype = _validated(self, example, reset=fitting, **_rules_for(example)).dtype
        chunks = _dask.chunks_of(X, dtype)
        n_columns = self.n_features_in_
        if chunks.n_rows <= _sample_sizes(chunks.n_rows, n_columns, n_columns * dtype.itemsize)[0]:
            return None
        table = _dask.read_table(self, chunks, dtype, y, sample_weight, name, fitting=fitting)
        return _Data(X, table, y, None)

    def _open_checkpoint(self, path: Any, data: _Data, validation: _Data | None) -> Checkpoint:
        """Return the checkpoint of this fit, and take over what it holds."""
        arrays = _contents(data) + ([] if validation is None else _contents(validation))
        file = Checkpoint.open(path, identity_of(self, arrays))
        if file.progress is not None:
            self._seed = file.progress.seed
            self.ensemble_, self.history_ = file.progress.ensemble, list(file.progress.history)
        return file

    def _set_aside(self, data: _Data) -> tuple[_Data, _Data]:
        """Split rows into those to fit and those for early stopping."""
        train, test = train_test_split(
            np.arange(data.X.shape[0]),
            test_size=self.validation_fraction,
            stratify=self._strata(to_numpy(data.y)),
            random_state=self._seed % 2**32,
        )
        parts = data.take(np.sort(train)), data.take(np.sort(test))
        if any(part.weight is not None and not part.weight.any() for part in parts):
            raise ValueError(
                "sample_weight must leave weight both on the rows to fit and on those set aside for early "
                f"stopping, validation_fraction={self.validation_fraction}; pass X_val and y_val instead."
            )
        return parts

    def _boost(
        self,
        data: _Data,
        validation: _Data | None,
        team: ThreadTeam,
        ensemble: Ensemble | None,
        file: Checkpoint | None,
    ) -> None:
        """Run the boosting loop, and store what it yields."""
        loss = self._make_loss()
        sample_rows = _sample_sizes_for(data.X)
        rows, watched = self._standard_rows(data, validation, loss.degree > 0, sample_rows[0], team)
        ridge = self.l2_regularization / (rows.units.n_active + 1)
        ridge_units = None if self.standardize or not ridge else rows.units.of_plain_rows()
        objective = Objective(loss, ACTIVATIONS[self.activation](self.beta), ridge, ridge_units)
        monotone = _check_monotonic_cst(self, self.monotonic_cst) if self.monotonic_cst is not None else None
        solver = Solver(self.n_init, self.max_iter, self.tol, monotone, sample_rows)
        _check_spread(self._target_deviation, self.beta)
        with np.errstate(over="ignore", under="ignore"):  # losses are kept in the units of y
            unit = rows.units.target_scale**loss.degree
        if ensemble is None:
            ensemble = Ensemble.empty(data.X.shape[1], rows.n_outputs, self.activation, rows.units.center)
            nothing = -rows.units.target_mean / rows.units.target_scale
            first = [float(np.mean(unit * mean_losses(each, loss, nothing))) for each in (rows, watched)]
            self.history_ = [StageRecord(first[0], first[1])]
        stages = boost(rows, watched, objective, ensemble, self.n_components, solver, self._seed)
        try:
            is_over = file is not None and file.is_over
            n_stages = 0 if is_over else self.n_components - ensemble.n_stages
            for stage in self._announced(stages, n_stages, data, rows):
                self.ensemble_ = stage.ensemble
                self.history_.append(_record(stage, unit))
                self._log()
                if file is not None:
                    file.keep(self._seed, self.ensemble_, self.history_, is_over=False)
            if self.early_stopping:
                self._keep_best_prefix()
                if file is not None:
                    file.keep(self._seed, self.ensemble_, self.history_, is_over=True)
        finally:
            if hasattr(self, "ensemble_") and len(self.history_) > 1:
                self._summarise(rows)

    def _standard_rows(
        self, data: _Data, validation: _Data | None, residual: bool, n_small: int, team: ThreadTeam
    ) -> tuple[AnyRows, AnyRows | None]:
        """Return the rows to fit and those to watch, in the standard units of the former."""
        targets, weight = data.targets, _scaled_by_power_of_two(data.weight)
        X, score = self._with_f_0(data)
        if X.shape[0] <= n_small and not is_foreign(X):
            # A small fit depends neither on the order of rows nor on how they share their weight.
            X, targets, score, weight = collapse(X, targets, np.broadcast_to(score, targets.shape), weight)
        rows, moments, self._target_deviation = as_rows(
            X,
            targets,
            score,
            weight,
            team,
            standardize=self.standardize,
            residual=residual,
            ridge=None if self.standardize else self.l2_regularization,
        )
        data.release()
        self.mean_, self.scale_ = moments.mean, np.where(moments.deviation > 0, moments.deviation, 1.0)
        if validation is None:
            return rows, None
        weight = _scaled_by_power_of_two(validation.weight)
        X, score = self._with_f_0(validation)
        watched = more_rows(X, validation.targets, score, weight, rows, residual=residual)
        validation.release()
        return rows, watched

    def _with_f_0(self, data: _Data) -> tuple[Any, Array | float]:
        """Return X and f_0; a table has it with it."""
        if not isinstance(data.X, DaskTable):
            return data.X, self._f_0(data.raw, data.n_outputs)
        return data.X.scored(_dask.score_of_parts(self, data.n_outputs)), 0.0

    def _announced(
        self, stages: Iterator[Stage], n_stages: int, data: _Data, rows: AnyRows
    ) -> Iterator[Stage]:
        """Yield the stages, each as a task of scikit-learn's callbacks, until it is time to stop."""
        context = self._init_callback_context(max_subtasks=n_stages)
        X = data.raw if isinstance(data.X, DaskTable) else data.X
        context.call_on_fit_task_begin(estimator=self, X=X, y=data.y)
        for _ in range(n_stages):
            task = context.subcontext(task_name="stage")
            task.call_on_fit_task_begin(estimator=self, X=X, y=data.y)
            yield next(stages)
            so_far = partial(self._fitted_so_far, rows)
            stop = task.call_on_fit_task_end(estimator=self, X=X, y=data.y, reconstruction_attributes=so_far)
            if stop or (self.early_stopping and self._is_past_best()):
                break
        context.call_on_fit_task_end(estimator=self, X=X, y=data.y, reconstruction_attributes={})

    def _fitted_so_far(self, rows: AnyRows) -> dict[str, Any]:
        """Return what a copy needs to predict as if the fit had stopped here."""
        self._summarise(rows)
        fitted = {name: value for name, value in vars(self).items() if name.endswith("_")}
        return fitted | {"history_": list(self.history_)}

    def _log(self) -> None:
        if self.verbose:
            record = self.history_[-1]
            watched = "" if np.isnan(record.validation_loss) else f", validation {record.validation_loss:.6g}"
            logger.info(
                "stage %d of %d: loss %.6g%s (%d iterations)",
                len(self.history_) - 1, self.n_components, record.loss, watched, record.n_iter,
            )  # fmt: skip

    def _is_past_best(self) -> bool:
        curve = [record.validation_loss for record in self.history_]
        return len(curve) - 1 - int(np.argmin(curve)) >= int(self.n_iter_no_change)

    def _keep_best_prefix(self) -> None:
        best = max(1, int(np.argmin([record.validation_loss for record in self.history_])))
        self.ensemble_ = self.ensemble_[: best * self.ensemble_.n_outputs]
        del self.history_[best + 1 :]

    def _summarise(self, rows: AnyRows) -> None:
        """Set the fitted attributes that follow from the ensemble and the history."""
        self.n_components_ = min(self.ensemble_.n_stages, len(self.history_) - 1)
        # They differ by one if an interrupt came between the two.
        self.ensemble_ = self.ensemble_[: self.n_components_ * self.ensemble_.n_outputs]
        del self.history_[self.n_components_ + 1 :]
        self._n_features_out = len(self.ensemble_)
        self.n_iter_ = max(record.n_iter for record in self.history_)
        self.loss_curve_ = np.array([record.loss for record in self.history_])
        watched = np.array([record.validation_loss for record in self.history_])
        self.validation_loss_curve_ = None if np.isnan(watched).any() else watched
        n_rows = max(100, _IMPORTANCE_NUMBERS // rows.n_columns)
        slopes = rows.mean_absolute_gradient(self.ensemble_, n_rows) / self._target_deviation
        self.feature_importances_ = self.scale_ * slopes.mean(axis=1)

    def transform(self, X: Any) -> Any:
        """Return the embedding phi(X), the outputs of the learners.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        phi : array of shape (n_samples, ``n_components_`` * n_outputs)
            In the units of y; in float32 if X is, unless that cannot hold them. With several outputs the
            columns lie stage by stage: the first learner of each output, then the second of each, and so on.
            A Dask array or frame gives one that is yet to be computed; so it does in `predict`.
        """
        if is_collection(X):
            return self._lazily("transform", X)
        X = self._validate(X)
        if is_foreign(X):
            return namespace(X).astype(map_rows(self.ensemble_.embed, X, 0, None, None), X.dtype)
        embed = partial(map_rows, self.ensemble_.embed, X, len(self.ensemble_), n_jobs=self.n_jobs)
        if self._target_deviation.min() > _FINE_FOR_FLOAT32:
            with suppress(FloatingPointError), np.errstate(over="raise"):
                return embed(dtype=X.dtype)
        return embed(dtype=np.float64)  # for what float32 cannot hold

    def _lazily(self, method: str, X: Any) -> Any:
        check_is_fitted(self)
        return _dask.lazily(self, method, X)

    def _validate(self, X: Any) -> Any:
        check_is_fitted(self)
        if is_collection(X):
            raise TypeError("X must be rows in memory here, got a Dask collection; pass X.compute().")
        return _validated(self, X, reset=False, **_rules_for(X))

    def _scores(self, raw: Any) -> Array:
        """Return f, of shape (n, K)."""
        X = self._validate(raw)
        n_outputs = self.ensemble_.n_outputs
        h = map_rows(self.ensemble_.score, X, n_outputs, np.float64, self.n_jobs)
        score: Array = _foreign.plus(h, self._f_0(_frame_or(X, raw), n_outputs))
        return score

    def _staged_scores(self, raw: Any) -> Iterator[Array]:
        """Yield f after 1, 2, ... stages."""
        X, n_outputs = self._validate(raw), self.ensemble_.n_outputs
        score: Any = self._f_0(_frame_or(X, raw), n_outputs)
        for start in range(0, len(self.ensemble_), n_outputs):
            stage = self.ensemble_[start : start + n_outputs]
            score = _foreign.plus(map_rows(stage.score, X, n_outputs, np.float64, self.n_jobs), score)
            yield score

    def _f_0(self, raw: Any, n_outputs: int) -> Array | float:
        if self.init_ is None:
            return 0.0
        return initial_score(self.init_, raw, n_outputs, getattr(self, "classes_", None))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "ensemble_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _sample_sizes_for(X: Any) -> tuple[int, ...]:
    if is_foreign(X):
        return _sample_sizes(X.shape[0], X.shape[1], None)
    n_bytes = X.data.nbytes + X.indices.nbytes if scipy.sparse.issparse(X) else X.nbytes
    return _sample_sizes(X.shape[0], X.shape[1], n_bytes / X.shape[0])


def _sample_sizes(n_rows: int, n_columns: int, row_bytes: float | None) -> tuple[int, ...]:
    """Return the numbers of rows of the samples on which learners are found before they meet all rows.

    The bytes of a row do not count where memory is ample, which None says.
    """
    first = most = max(_SAMPLE_ROWS, _SAMPLE_ROWS_PER_COLUMN * n_columns)
    largest = n_rows // 2
    if row_bytes is not None:
        most = max(int(_SAMPLE_BYTES / max(row_bytes, 1)), _SAMPLE_ROWS_AT_LEAST)
        largest = min(most, largest)
    sizes = [min(first, most)]
    while sizes[-1] * _SAMPLE_GROWTH <= largest:
        sizes.append(sizes[-1] * _SAMPLE_GROWTH)
    return tuple(sizes)


def _contents(data: _Data) -> list[Any]:
    """Return arrays that tell these rows from others."""
    return [data.X.digests()] if isinstance(data.X, DaskTable) else [data.X, data.y, data.weight]


def _numbers_in_memory(X: Any) -> int:
    return 0 if is_foreign(X) else X.shape[0] * X.shape[1]


def _validated(estimator: Any, X: Any, *y: Any, reset: bool, **rules: Any) -> Any:
    """Call scikit-learn's `validate_data`, whose test for infinity adds up numbers of either sign.

    An array of another library stays as it is: only its shape and type are looked at.
    """
    if is_foreign(X):
        X = _foreign.validated(X) if y else _foreign.validated_finite(X)
        validate_data(estimator, X, "no_validation", reset=reset, skip_check_array=True)
        return (X, _foreign.validated_targets(y[0], X, **estimator._y_rules)) if y else X
    with np.errstate(invalid="ignore"):
        return validate_data(estimator, X, *y, reset=reset, **rules)


def _check_spread(deviations: Array, beta: float) -> None:
    """Refuse targets in whose units beta leaves the range of float64."""
    low, high = float(beta) / _STEEPEST, float(beta) * _STEEPEST
    for deviation in deviations:
        if not low <= deviation <= high:
            raise ValueError(
                f"y must have a standard deviation from {low:g} to {high:g} for beta={beta}, or be constant, "
                f"got {deviation:g}; rescale it."
            )


def _refuse_text(frame: Any) -> None:
    schema = nw.from_native(frame).schema
    text = [name for name, kind in schema.items() if kind in (nw.String, nw.Categorical, nw.Enum)]
    if text:
        raise ValueError(
            f"X must be numeric, but its columns {text} hold text; encode them first, for example by "
            "sklearn.preprocessing.OneHotEncoder in a ColumnTransformer."
        )


def _rules_for(X: Any) -> dict[str, Any]:
    """Return how to validate X. A polars frame does not tell NumPy its type, and would become float64."""
    if hasattr(X, "columns"):
        _refuse_text(X)
    types = [np.float64, np.float32]
    if {str(kind) for kind in getattr(X, "schema", {}).values()} == {"Float32"}:
        types.reverse()
    return {"accept_sparse": "csr", "dtype": types, "order": "C"}


def _frame_or(X: Any, given: Any) -> Any:
    """Return what was given if it is a frame, whose column names f_0 may want, else the array."""
    return given if hasattr(given, "columns") else X


def _seed(random_state: Any) -> int:
    """Return a seed: the integer given, one drawn from a RandomState, or fresh entropy."""
    if random_state is None:
        return int(np.random.SeedSequence().entropy)  # type: ignore[arg-type]
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(random_state.randint(np.iinfo(np.int32).max))


def _scaled_by_power_of_two(weight: Array | None) -> Array | None:
    """Bring weights to a mean near one, so that they fit float32, without rounding."""
    if weight is None:
        return None
    weight = np.ldexp(weight, -int(np.frexp(weight.max())[1]))  # or the sum for the mean might overflow
    return np.ldexp(weight, -int(np.frexp(weight.mean())[1]))


def _record(stage: Stage, unit: Array) -> StageRecord:
    return StageRecord(
        loss=float(np.mean(unit * stage.losses)),
        validation_loss=float(np.mean(unit * stage.validation_losses)),
        n_iter=max(solution.n_iter for solution in stage.solutions),
        n_evaluations=sum(solution.n_evaluations for solution in stage.solutions),
        converged=all(solution.converged for solution in stage.solutions),
    )


@contextmanager
def _visible_log(verbose: int) -> Iterator[None]:
    """Show the log on standard error during a verbose fit, unless the user has set up logging."""
    if not verbose or logger.hasHandlers():
        yield
        return
    handler, level = logging.StreamHandler(), logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
