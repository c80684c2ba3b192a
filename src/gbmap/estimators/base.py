"""What the two estimators share, which is everything but the meaning of y: boost, store, embed, score."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from gbmap._core import losses
from gbmap._core.activation import ACTIVATIONS
from gbmap._core.arrays import is_foreign, namespace
from gbmap._core.boosting import Stage
from gbmap._core.ensemble import Ensemble
from gbmap._fit.initial import fit_initial, initial_score
from gbmap._fit.log import log_stage, visible_log
from gbmap._fit.problem import AnyRows, Problem
from gbmap._fit.records import Refined, StageRecord
from gbmap._fit.refining import refine_fit
from gbmap._fit.sources import dask as _dask
from gbmap._fit.sources import device as _foreign
from gbmap._fit.validation import Data, Given, frame_or, read_fit, read_inputs, set_aside
from gbmap._rows import map_rows
from gbmap._rows.dask import DaskTable, is_collection, one_fit
from gbmap._rows.threads import ThreadTeam, effective_threads
from gbmap._utils.refitting import undone_on_failure
from gbmap._utils.scikit_learn import HasMethods, Interval, StrOptions, check_feature_names_in, fit_context
from gbmap._utils.typing import Array
from gbmap.estimators.checkpoint import Checkpoint, identity_of

Learned = tuple[Ensemble, list[StageRecord]]

# Embeddings in the units of a y of smaller spread leave the range of float32.
_FINE_FOR_FLOAT32 = 1e-30
# Attributions are averaged over at most so many rows times columns.
_IMPORTANCE_NUMBERS = 5_000_000


class ScoresInMemory:
    """What brings arrays of other libraries to scikit-learn's metrics, to stand before its mixins."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return how good predictions are: R2 of numbers, the accuracy of classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        score : float
        """
        here = (_foreign.in_memory(each) for each in (X, y, sample_weight))
        score: float = super().score(*here)  # type: ignore[misc]
        return score


class BaseGBMAP(
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
        "refine": ["boolean", Interval(Integral, 0, None, closed="left")],
        "refine_starts": [Interval(Integral, 1, None, closed="left")],
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

    # A search that wants to be told the trimmed losses of the validation rows puts a list here.
    _trimmed_curve: list[float] | None = None

    ensemble_: Ensemble
    history_: list[StageRecord]
    refinement_curves_: Array | None

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

    @fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
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
            A weight of two counts as the same row given twice. Up to 10,000 rows (or 50 a column, if that is
            more) the fit is the same; larger ones begin on a random sample of the rows, and so may end in
            other minima of the same objective.
        X_val, y_val : array-like, default=None
            Rows to watch the loss on, and to stop on if ``early_stopping=True``.
        sample_weight_val : array-like of shape (n_validation_samples,), default=None
            What each of these rows counts. Weights of classes do not count there.
        checkpoint : str or path-like, default=None
            A file to write after each stage. If it is there already, the fit goes on from it, to the
            same bits as one that was never interrupted; the file of another fit is refused. An
            ``init`` model must be seeded for that. A refinement that was interrupted begins again from
            the boosted learners; one that was finished is in the file. The file stays when the fit is done.

        Returns
        -------
        self : object
            The fitted estimator. After a keyboard interrupt it holds the learners finished by
            then, and ``fit`` with ``warm_start=True`` goes on from them. A fit that ends before its first
            learner leaves the estimator as it was.
        """
        resumes = self.warm_start and hasattr(self, "ensemble_")
        if resumes and checkpoint is not None:
            raise ValueError("checkpoint must be None when a fitted estimator goes on with warm_start=True.")
        progress: Learned | None = None
        with undone_on_failure(self, unless=lambda: self._has_more_learners(progress)), one_fit():
            boosted, ensemble = self.__dict__.pop("_boosted", None), self.__dict__.pop("ensemble_", None)
            self.__dict__.pop("feature_importances_", None)  # the last that a fit sets
            if resumes:
                progress = (ensemble, self.history_) if boosted is None else boosted
            else:
                self._seed = _seed(self.random_state)
            self._fit((X, y, sample_weight), (X_val, y_val, sample_weight_val), checkpoint, progress)
        unfinished = [record for record in self.history_ if not record.converged]
        if unfinished:
            ran_out = any(record.n_iter >= self.max_iter for record in unfinished)
            way_out = "raise max_iter" if ran_out else "the solver is stuck there: lower beta"
            warnings.warn(
                f"{len(unfinished)} of {self.n_components_} stages ended before they converged, within "
                f"max_iter={self.max_iter} iterations; {way_out}, or raise tol if the loss is low enough.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    def _has_more_learners(self, progress: Learned | None) -> bool:
        """Return whether there are learners beyond those of an earlier fit, with all that belongs to them."""
        is_whole = hasattr(self, "ensemble_") and hasattr(self, "feature_importances_")
        return is_whole and (progress is None or len(self.ensemble_) > len(progress[0]))

    def _fit(self, given: Given, to_watch: Given, checkpoint: Any, progress: Learned | None) -> None:
        """Validate, and fit, from where an earlier fit ended if it made progress."""
        resumes = progress is not None
        data, validation = read_fit(self, given, to_watch, None if progress is None else progress[0])
        file = None if checkpoint is None else self._open_checkpoint(checkpoint, data, validation)
        if file is not None and file.progress is not None:
            progress = file.progress.ensemble, file.progress.history
        if validation is None and self.early_stopping:
            data, validation = set_aside(self, data)
        if not resumes:
            self.init_ = None if self.init is None else fit_initial(self.init, data.raw, data.y, data.weight)
        if progress is not None and self.n_components < progress[0].n_stages:
            raise ValueError(
                f"n_components={self.n_components} must be at least {progress[0].n_stages}, the number of "
                "components fitted so far, to go on from them; start anew without warm_start or checkpoint."
            )
        with (
            visible_log(self.verbose),
            ThreadTeam(effective_threads(self.n_jobs, data.numbers_in_memory)) as team,
        ):
            self._boost(data, validation, team, progress, file)

    def _open_checkpoint(self, path: Any, data: Data, validation: Data | None) -> Checkpoint:
        """Return the checkpoint of this fit, and take over its seed."""
        arrays = data.contents() + ([] if validation is None else validation.contents())
        file = Checkpoint.open(path, identity_of(self, self._seed, arrays))
        if file.progress is not None:
            self._seed = file.progress.seed
        return file

    def _boost(
        self,
        data: Data,
        validation: Data | None,
        team: ThreadTeam,
        progress: Learned | None,
        file: Checkpoint | None,
    ) -> None:
        """Run the boosting loop, store what it yields, and refine it if asked to."""
        problem = Problem.of(self, data, validation, self.init_, team)
        deviation = problem.moments.deviation
        self.mean_, self.scale_ = problem.moments.mean, np.where(deviation > 0, deviation, 1.0)
        self._target_deviation = problem.target_deviation
        ensemble, history = progress or (problem.nothing(self.activation), [problem.first_record()])
        origin = problem.remember() if self.refine else None
        self.n_refinements_, self.refinement_curves_ = np.zeros(problem.rows.n_outputs, dtype=int), None
        stages = problem.boost(ensemble, self.n_components, self._seed)
        try:
            self.history_ = history
            if progress is not None:
                self.ensemble_ = ensemble
            is_over = file is not None and file.is_over
            n_stages = 0 if is_over else self.n_components - ensemble.n_stages
            for stage in self._announced(stages, n_stages, data, problem.rows):
                self._store(stage.ensemble, [*self.history_, problem.record(stage)])
                if self._trimmed_curve is not None:
                    self._trimmed_curve.append(problem.trimmed_loss())
                if self.verbose:
                    log_stage(self.history_, self.n_components)
                if file is not None:
                    file.keep(self._seed, self.ensemble_, self.history_, is_over=False)
            if self.early_stopping:
                self._keep_best_prefix()
                if file is not None and not is_over:
                    file.keep(self._seed, self.ensemble_, self.history_, is_over=True)
            if self.refine:
                finished = None if file is None or n_stages else file.refined
                found = finished or refine_fit(self, data, problem, origin, team)
                if file is not None and finished is None:
                    over = bool(self.early_stopping)
                    file.keep(self._seed, self.ensemble_, self.history_, is_over=over, refined=found)
                problem.restore(origin)
                self._keep_refined(found, problem)
        finally:
            if hasattr(self, "ensemble_"):
                self._summarise_in_spite_of_interrupts(problem.rows)

    def _store(self, ensemble: Ensemble, history: list[StageRecord]) -> None:
        """Set both at once: an interrupt between the two would leave what no fit gives."""
        self.__dict__.update(ensemble_=ensemble, history_=history)

    def _keep_refined(self, found: Refined, problem: Problem) -> None:
        """Store refined learners, and those of boosting, from which a warm start goes on."""
        self.n_refinements_, self.refinement_curves_ = found.n_steps, found.curves
        if found.n_steps.any():
            self._boosted = self.ensemble_, self.history_
            self._store(found.ensemble, problem.replay(found.ensemble, self.history_))

    def _announced(
        self, stages: Iterator[Stage], n_stages: int, data: Data, rows: AnyRows
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
        return {name: value for name, value in vars(self).items() if name.endswith("_")}

    def _is_past_best(self) -> bool:
        curve = [record.validation_loss for record in self.history_]
        return len(curve) - 1 - int(np.argmin(curve)) >= int(self.n_iter_no_change)

    def _keep_best_prefix(self) -> None:
        best = max(1, int(np.argmin([record.validation_loss for record in self.history_])))
        self._store(self.ensemble_[: best * self.ensemble_.n_outputs], self.history_[: best + 1])

    def _summarise_in_spite_of_interrupts(self, rows: AnyRows) -> None:
        """Summarise; an interrupt meanwhile waits until that is done."""
        interrupt = None
        while True:
            try:
                self._summarise(rows)
                break
            except KeyboardInterrupt as error:
                interrupt = error
        if interrupt is not None:
            raise interrupt

    def _summarise(self, rows: AnyRows) -> None:
        """Set the fitted attributes that follow from the ensemble and the history, all at once."""
        watched = np.array([record.validation_loss for record in self.history_])
        n_rows = max(100, _IMPORTANCE_NUMBERS // rows.n_columns)
        added = rows.mean_absolute_attribution(self.ensemble_, self.mean_, n_rows)
        self.__dict__.update(
            n_components_=self.ensemble_.n_stages,
            n_iter_=max(record.n_iter for record in self.history_),
            loss_curve_=np.array([record.loss for record in self.history_]),
            validation_loss_curve_=None if np.isnan(watched).any() else watched,
            feature_importances_=(added / self._target_deviation).mean(axis=1),
        )

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

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the coordinates, which are the columns of `transform`.

        Parameters
        ----------
        input_features : array-like of str, default=None
            The names of the columns of X. They change nothing, but must be those of the fit.

        Returns
        -------
        names : array of str of shape (``n_components_`` * n_outputs,)
            "f1", "f2", ... as in the paper; with several outputs the class, or the number of the target,
            follows: "f1_setosa", "f1_virginica", ..., "f2_setosa", and so on.
        """
        check_is_fitted(self)
        check_feature_names_in(self, input_features, generate_names=False)
        return coordinate_names(self.ensemble_.n_stages, self._output_names)

    @property
    def _output_names(self) -> Array | None:
        """The classes, or the numbers of the targets, of shape (K,); None if there is one output only."""
        n_outputs = self.ensemble_.n_outputs
        return None if n_outputs == 1 else np.asarray(getattr(self, "classes_", range(n_outputs)))

    def _lazily(self, method: str, X: Any) -> Any:
        check_is_fitted(self)
        return _dask.lazily(self, method, X)

    def _validate(self, X: Any) -> Any:
        check_is_fitted(self)
        if is_collection(X):
            raise TypeError("X must be rows in memory here, got a Dask collection; pass X.compute().")
        return read_inputs(self, X)

    def _scores(self, raw: Any) -> Array:
        """Return f, of shape (n, K)."""
        X = self._validate(raw)
        n_outputs = self.ensemble_.n_outputs
        h = map_rows(self.ensemble_.score, X, n_outputs, np.float64, self.n_jobs)
        score: Array = _foreign.plus(h, self._f_0(frame_or(X, raw), n_outputs))
        return score

    def _staged_scores(self, raw: Any) -> Iterator[Array]:
        """Yield f after 1, 2, ... stages; the last is that of `_scores` to the bit, being summed alike."""
        X, ensemble = self._validate(raw), self.ensemble_
        f_0 = self._f_0(frame_or(X, raw), ensemble.n_outputs)
        phi = map_rows(ensemble.embed, X, len(ensemble), np.float64, self.n_jobs)
        for end in range(ensemble.n_outputs, len(ensemble) + 1, ensemble.n_outputs):
            score: Array = _foreign.plus(ensemble[:end].sum_outputs(phi[:, :end]), f_0)
            yield score

    def _f_0(self, raw: Any, n_outputs: int) -> Array | float:
        return initial_score(self.init_, raw, n_outputs, getattr(self, "classes_", None))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "ensemble_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def coordinate_names(n_stages: int, output_names: Array | None) -> Array:
    """Return what the coordinates, and the learners that give them, are called everywhere, of shape (M,)."""
    suffixes = [""] if output_names is None else [f"_{each}" for each in output_names]
    names = [f"f{stage}{suffix}" for stage in range(1, n_stages + 1) for suffix in suffixes]
    return np.array(names, dtype=object)


def _seed(random_state: Any) -> int:
    """Return a seed: the integer given, one drawn from a RandomState, or fresh entropy."""
    if random_state is None:
        return int(np.random.SeedSequence().entropy)  # type: ignore[arg-type]
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(random_state.randint(np.iinfo(np.int32).max))
