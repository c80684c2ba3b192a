"""What the two estimators share, which is everything but the meaning of y: fit, store, embed, score."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from gbmap._core import losses
from gbmap._core.boosting import Stage
from gbmap._core.ensemble import Ensemble
from gbmap._core.inputs import Inputs
from gbmap._fit.columns import named_columns
from gbmap._fit.initial import InitialModel
from gbmap._fit.problem import FitProblem, FitSettings
from gbmap._fit.reading import Given, read_fit, set_aside
from gbmap._fit.records import Refined, StageRecord, log_stage, visible_log
from gbmap._fit.refining import Boosted, refine_fit
from gbmap._fit.sources import Reader, Source
from gbmap._fit.targets import TargetReader
from gbmap._rows.dask import one_fit
from gbmap._rows.threads import ThreadTeam, effective_threads
from gbmap._utils.refitting import undone_on_failure
from gbmap._utils.sampling import seed_of
from gbmap._utils.scikit_learn import (
    check_feature_names_in,
    check_monotonic_cst,
    fit_context,
)
from gbmap._utils.typing import Array
from gbmap.estimators import other_words
from gbmap.estimators.checkpoint import Checkpoint, identity_of
from gbmap.estimators.lazy import lazy_for_dask
from gbmap.estimators.other_words import AnsweringAttributes, answering
from gbmap.estimators.parameters import PARAMETERS
from gbmap.estimators.predictor import FittedInputs, Predictor

Learned = tuple[Ensemble, list[StageRecord]]

# Parameters that a fit takes as they are.
_PASSED_ON = [
    each.name
    for each in fields(FitSettings)
    if each.name not in ("loss", "monotone", "seed", "is_category", "inputs")
]
# By "auto" there are at least and at most so many components, and a fit ends after so many in a row that are
# noise. Two make a map, and a linear function.
_LEAST_COMPONENTS, _MOST_COMPONENTS, _FUTILE_STAGES = 2, 100, 3
# Attributions are averaged over at most so many rows times columns, for all outputs; but so many rows do.
_IMPORTANCE_NUMBERS, _IMPORTANCE_ROWS = 5_000_000, 2_000


class BaseGBMAP(
    AnsweringAttributes,
    TransformerMixin,  # type: ignore[misc]
    CallbackSupportMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """What regression and classification share: everything but the meaning of y."""

    _parameter_constraints: dict[str, list[Any]] = PARAMETERS
    _other_words = other_words.ATTRIBUTES

    ensemble_: Ensemble
    history_: list[StageRecord]
    _inputs: Inputs | None
    _input_mean: Any
    _input_scale: Any

    def _make_loss(self) -> losses.Loss:
        """Return the loss that the parameters name."""
        raise NotImplementedError

    def _target_reader(self, *, fitted: bool) -> TargetReader:
        """Return what reads y: that of an earlier fit, or one that has yet to learn."""
        raise NotImplementedError

    def _keep_targets(self, reader: TargetReader) -> None:
        """Store what a fit has learned about y."""
        raise NotImplementedError

    @answering(other_words.FIT)
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
            A weight of two counts as the same row given twice. Up to 20,000 rows (or 100 a column, if that is
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
                self._seed = seed_of(self.random_state)
            self._fit((X, y, sample_weight), (X_val, y_val, sample_weight_val), checkpoint, progress)
        unfinished = [record for record in self.history_ if not record.converged]
        if unfinished:
            ran_out = any(record.n_iter >= self.max_iter for record in unfinished)
            way_out = "raise max_iter" if ran_out else "the solver is stuck there: lower beta"
            warnings.warn(
                f"{len(unfinished)} of {self.n_components_} stages ended before they converged, within "
                f"max_iter={self.max_iter} iterations; {way_out}, or raise tol if the loss is low enough.",
                ConvergenceWarning,
                stacklevel=4,  # past the wrapper of `fit`, to its caller
            )
        return self

    def _has_more_learners(self, progress: Learned | None) -> bool:
        """Return whether there are learners beyond those of an earlier fit, with all that belongs to them."""
        is_whole = hasattr(self, "ensemble_") and hasattr(self, "feature_importances_")
        return is_whole and (progress is None or len(self.ensemble_) > len(progress[0]))

    def _fit(self, given: Given, for_validation: Given, checkpoint: Any, progress: Learned | None) -> None:
        """Validate, and fit, from where an earlier fit ended if it made progress."""
        resumes = progress is not None
        source, validation = self._read(given, for_validation, progress)
        file = self._open_checkpoint(checkpoint, source, validation)
        if file.progress is not None:
            progress = file.progress.ensemble, file.progress.history
        settings = self._settings(resumes=resumes)
        if validation is None and self.early_stopping:
            source, validation = set_aside(source, settings)
        if not resumes:
            initial = self._initial(self.init, source.n_outputs)
            self.init_ = initial.fitted_to(source.raw, source.y, source.weight).model
        if progress is not None and self._most_components < progress[0].n_stages:
            raise ValueError(
                f"n_components={self.n_components} must be at least {progress[0].n_stages}, the number of "
                "components fitted so far, to go on from them; start anew without warm_start or checkpoint."
            )
        with (
            visible_log(self.verbose),
            ThreadTeam(effective_threads(self.n_jobs, source.numbers_in_memory)) as team,
        ):
            initial = self._initial(self.init_, source.n_outputs)
            self._boost(self._begin(settings, source, validation, initial, team), progress, file)

    @contextmanager
    def _opened(self, given: Given, for_validation: Given) -> Iterator[Boosted]:
        """Let a search have what a fit begins with: nothing is kept here but columns and classes."""
        self._validate_params()
        self._seed = seed_of(self.random_state)
        source, validation = self._read(given, for_validation)
        initial = self._initial(self.init, source.n_outputs)
        initial = initial.fitted_to(source.raw, source.y, source.weight)
        with ThreadTeam(effective_threads(self.n_jobs, source.numbers_in_memory)) as team:
            yield self._begin(self._settings(), source, validation, initial, team)

    def _begin(
        self,
        settings: FitSettings,
        source: Source,
        validation: Source | None,
        initial: InitialModel,
        team: ThreadTeam,
    ) -> Boosted:
        """Return a fit without learners."""
        problem = FitProblem.of(settings, source, validation, initial, team)
        origin = problem.remember() if self._refines(problem) else None
        return Boosted(problem.empty_ensemble(), problem, origin, settings, source, [])

    def _read(
        self, given: Given, for_validation: Given, progress: Learned | None = None
    ) -> tuple[Source, Source | None]:
        """Return the rows to fit and those for validation, and keep what they tell about columns and y."""
        resumes = progress is not None
        targets = self._target_reader(fitted=resumes)
        # If every row counts, the moments of X tell whether it is finite, which saves a pass over it here.
        skips = not self.early_stopping and not targets.weighs_classes
        reader = Reader(self, targets, fitting=not resumes, skips_finite_check=skips)
        source, validation = read_fit(
            reader, given, for_validation, None if progress is None else progress[0]
        )
        self._keep_targets(source.reader)
        return source, validation

    def _initial(self, model: Any, n_outputs: int) -> InitialModel:
        return InitialModel(model, n_outputs, getattr(self, "classes_", None))

    def _settings(self, *, resumes: bool = False) -> FitSettings:
        """Return the parameters as a fit takes them, once the columns are known."""
        if self._finds_components and not isinstance(self.l2_regularization, str):
            raise ValueError(
                "n_components='auto' needs l2_regularization='auto', by whose evidence a fit ends, got "
                f"l2_regularization={self.l2_regularization}; set it so, or a number of components."
            )
        return FitSettings(
            is_category=self._is_category(),
            inputs=self._fitted_inputs.inputs if resumes else None,
            loss=self._make_loss(),
            monotone=None if self.monotonic_cst is None else self._constraints(),
            seed=self._seed,
            **{name: getattr(self, name) for name in _PASSED_ON},
        )

    def _constraints(self) -> Array:
        """Return the sign that the slope along each column is held to, (p,)."""
        signs: Array = check_monotonic_cst(self, self.monotonic_cst)
        refused = np.flatnonzero(self._is_category() & (signs != 0))
        if len(refused):
            name = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))[refused[0]]
            raise ValueError(
                f"monotonic_cst must be 0 for categories, which have no order, got {signs[refused[0]]} for "
                f"column {name!r}; leave it out, or turn the column into numbers."
            )
        return signs

    def _is_category(self) -> Array:
        """Return which columns of X hold categories, once they are known."""
        coding = getattr(self, "coding_", None)
        if coding is not None:
            return coding.is_category
        named = named_columns(self.categorical_features, self.n_features_in_, None)
        return np.zeros(self.n_features_in_, dtype=bool) if named is None else named

    def _open_checkpoint(self, path: Any, source: Source, validation: Source | None) -> Checkpoint:
        """Return the checkpoint of this fit, and take over its seed; without a path it keeps nothing."""
        if path is None:
            return Checkpoint(None, "", None)
        arrays = source.contents() + ([] if validation is None else validation.contents())
        file = Checkpoint.open(path, identity_of(self, self._seed, arrays))
        if file.progress is not None:
            self._seed = file.progress.seed
        return file

    def _boost(self, start: Boosted, progress: Learned | None, file: Checkpoint) -> None:
        """Run the boosting loop, store what it yields, and refine it if asked to."""
        problem = start.problem
        self._keep_inputs(problem)
        self._target_deviation = problem.target_deviation
        self.n_refinements_ = np.zeros(problem.rows.n_outputs, dtype=int)
        ensemble, history = progress or (start.ensemble, [problem.first_record()])
        n_stages = 0 if file.is_over else self._most_components - ensemble.n_stages
        try:
            self.history_ = history
            if progress is not None:
                self.ensemble_ = ensemble
            stages, n_futile = problem.boost(ensemble, self._most_components, self._seed), 0
            for stage in self._with_callbacks(stages, n_stages, start):
                n_futile = stage.n_futile
                self._store(stage.ensemble, [*self.history_, problem.record(stage)])
                if self.verbose:
                    log_stage(self.history_, self._most_components)
                file.keep(self._seed, self.ensemble_, self.history_, is_over=False)
            if self._may_end_early:
                self._keep_best_prefix(n_futile)
                if not file.is_over:
                    file.keep(self._seed, self.ensemble_, self.history_, is_over=True)
            if self._refines(problem):
                boosted = replace(start, ensemble=self.ensemble_, history=self.history_)
                self._refine(boosted, file, None if n_stages else file.refined)
        finally:
            if hasattr(self, "ensemble_"):
                self._summarise_in_spite_of_interrupts(problem)

    def _keep_inputs(self, problem: FitProblem) -> None:
        """Store what learners make of the columns of X."""
        self.mean_, self.scale_ = problem.column_moments.mean, problem.column_moments.scale
        self._inputs, self._input_mean, self._input_scale = problem.inputs, None, None
        if not problem.inputs.is_plain:
            self._input_mean, self._input_scale = problem.moments.mean, problem.moments.scale

    def _store(self, ensemble: Ensemble, history: list[StageRecord]) -> None:
        """Set both at once: an interrupt between the two would leave what no fit gives."""
        self.__dict__.update(ensemble_=ensemble, history_=history)

    def _refines(self, problem: FitProblem) -> bool:
        """Return whether learners are to be refined: by "auto", if the ridge that does for them is found."""
        return problem.engine.may_be_linear if isinstance(self.refine, str) else bool(self.refine)

    def _refine(self, boosted: Boosted, file: Checkpoint, finished: Refined | None) -> None:
        """Store refined learners, and those of boosting, from which a warm start goes on."""
        found = finished or refine_fit(boosted)
        if finished is None:
            over = self._may_end_early
            file.keep(self._seed, self.ensemble_, self.history_, is_over=over, refined=found)
        boosted.problem.restore(boosted.origin)
        self.n_refinements_ = found.n_steps
        if found.n_steps.any():
            self._boosted = self.ensemble_, self.history_
            self._store(found.ensemble, boosted.problem.replay(found.ensemble, self.history_))

    def _with_callbacks(self, stages: Iterator[Stage], n_stages: int, fit: Boosted) -> Iterator[Stage]:
        """Yield the stages, each as a task of scikit-learn's callbacks, until it is time to stop."""
        context = self._init_callback_context(max_subtasks=n_stages)
        rows = {"X": fit.source.raw, "y": fit.source.y}
        context.call_on_fit_task_begin(estimator=self, **rows)
        for _ in range(n_stages):
            task = context.subcontext(task_name="stage")
            task.call_on_fit_task_begin(estimator=self, **rows)
            stage = next(stages)
            yield stage
            so_far = partial(self._fitted_so_far, fit.problem)
            stop = task.call_on_fit_task_end(estimator=self, **rows, reconstruction_attributes=so_far)
            if stop or self._is_past_best(stage.n_futile):
                break
        context.call_on_fit_task_end(estimator=self, **rows, reconstruction_attributes={})

    def _fitted_so_far(self, problem: FitProblem) -> dict[str, Any]:
        """Return what a copy needs to predict as if the fit had stopped here."""
        self._summarise(problem)
        return {
            name: value
            for name, value in vars(self).items()
            if name.endswith("_") or name in ("_posterior", "_inputs", "_input_mean", "_input_scale")
        }

    @property
    def _most_components(self) -> int:
        return _MOST_COMPONENTS if self._finds_components else int(self.n_components)

    @property
    def _finds_components(self) -> bool:
        return isinstance(self.n_components, str)

    @property
    def _may_end_early(self) -> bool:
        return bool(self.early_stopping) or self._finds_components

    def _is_past_best(self, n_futile: int) -> bool:
        """Return whether the last learners were noise, or did not help the validation rows for a while."""
        if self._finds_components and n_futile >= _FUTILE_STAGES:
            return True
        curve = [record.validation_loss for record in self.history_]
        return bool(self.early_stopping) and len(curve) - 1 - np.argmin(curve) >= self.n_iter_no_change

    def _keep_best_prefix(self, n_futile: int) -> None:
        """Keep learners up to those that are noise, and of these the ones best for validation rows."""
        best = len(self.history_) - 1
        if self._finds_components:
            best = max(best - n_futile, min(best, _LEAST_COMPONENTS))
        if self.early_stopping:
            best = max(1, int(np.argmin([record.validation_loss for record in self.history_[: best + 1]])))
        self._store(self.ensemble_[: best * self.ensemble_.n_outputs], self.history_[: best + 1])

    def _summarise_in_spite_of_interrupts(self, problem: FitProblem) -> None:
        """Summarise; an interrupt meanwhile waits until that is done."""
        interrupt = None
        while True:
            try:
                self._summarise(problem)
                break
            except KeyboardInterrupt as error:
                interrupt = error
        if interrupt is not None:
            raise interrupt

    def _summarise(self, problem: FitProblem) -> None:
        """Set the fitted attributes that follow from the ensemble and the history, all at once."""
        rows = problem.rows
        unseen = np.array([record.validation_loss for record in self.history_])
        n_rows = max(100, _IMPORTANCE_NUMBERS // rows.n_columns)
        n_rows = min(n_rows, max(n_rows // rows.n_outputs, _IMPORTANCE_ROWS))
        added = rows.mean_absolute_attribution(self.ensemble_, problem.moments.mean, n_rows, problem.inputs)
        self.__dict__.update(
            n_components_=self.ensemble_.n_stages,
            n_iter_=max(record.n_iter for record in self.history_),
            loss_curve_=np.array([record.loss for record in self.history_]),
            validation_loss_curve_=None if np.isnan(unseen).any() else unseen,
            _posterior=problem.posterior(self.ensemble_, self.history_),
            feature_importances_=(added / self._target_deviation).mean(axis=1),
        )

    @lazy_for_dask
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
        return self.predictor_.embed(X)

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
        return coordinate_names(self.ensemble_.n_stages, self.predictor_.output_names)

    @property
    def l2_regularization_(self) -> float | Array:
        """lambda of the last learner of each output."""
        last = self.history_[-1].l2_regularizations
        if not last:  # a model file from before they were told
            return float(self.l2_regularization)
        return last[0] if len(last) == 1 else np.array(last)

    @property
    def predictor_(self) -> Predictor:
        """What predictions are made by, and what their numbers mean; for the package's other parts."""
        if not self.__sklearn_is_fitted__():  # asked often: scikit-learn's check takes ten times as long
            check_is_fitted(self)
        initial = self._initial(self.init_, self.ensemble_.n_outputs)
        targets = self._target_reader(fitted=True)
        posterior = getattr(self, "_posterior", None)
        return Predictor(
            self, self.ensemble_, self._fitted_inputs, initial, targets, self._make_loss(),
            self._target_deviation, posterior,
        )  # fmt: skip

    @property
    def _fitted_inputs(self) -> FittedInputs:
        """What learners make of the columns of X."""
        coding, inputs = getattr(self, "coding_", None), self._inputs
        categories = None if coding is None else coding.categories
        if inputs is None:  # of a file from before there were any
            inputs = replace(Inputs.plain(self.n_features_in_), fill=self.mean_)
        if inputs.is_plain:
            return FittedInputs(inputs, self.mean_, self.scale_, categories)
        return FittedInputs(inputs, self._input_mean, self._input_scale, categories)

    @property
    def knots_(self) -> list[Array]:
        """The knots of each column, where its effect on a learner may bend."""
        return self._fitted_inputs.inputs.knots()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "ensemble_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def coordinate_names(n_stages: int, output_names: Array | None) -> Array:
    """Return what the coordinates, and the learners that give them, are called everywhere, of shape (M,)."""
    suffixes = [""] if output_names is None else [f"_{each}" for each in output_names]
    names = [f"f{stage}{suffix}" for stage in range(1, n_stages + 1) for suffix in suffixes]
    return np.array(names, dtype=object)
