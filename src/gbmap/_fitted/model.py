"""The model that is asked about: a fitted GBMAP, bare or at the end of a pipeline, in the user's columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.utils.validation import check_is_fitted

from gbmap._core.arrays import in_memory
from gbmap._core.ensemble import Ensemble
from gbmap._core.inputs import Inputs
from gbmap._fitted.columns import Columns, trace
from gbmap._fitted.table_reader import TableReader, is_table_model
from gbmap._rows.mapping import map_rows
from gbmap._utils.scikit_learn import BaseSearchCV
from gbmap._utils.typing import Array
from gbmap.estimators.base import BaseGBMAP
from gbmap.estimators.predictor import Predictor


def gbmap_of(model: Any) -> tuple[BaseGBMAP, Pipeline | None]:
    """Return the fitted GBMAP and the preprocessing before it, if any."""
    if isinstance(model, BaseSearchCV) or hasattr(model, "best_estimator_"):
        check_is_fitted(model)
        if not hasattr(model, "best_estimator_"):
            raise ValueError(
                f"model must hold a fitted GBMAP, but this {type(model).__name__} has refit=False."
            )
        return gbmap_of(model.best_estimator_)
    if is_table_model(model):
        gbmap, before = gbmap_of(model.model_)
        reader = TableReader(model)
        return gbmap, make_pipeline(reader) if before is None else make_pipeline(reader, before)
    if isinstance(model, Pipeline) and len(model) > 1:
        gbmap, before = gbmap_of(model[-1])
        return gbmap, model[:-1] if before is None else make_pipeline(model[:-1], before)
    if isinstance(model, Pipeline) and len(model):
        return gbmap_of(model[0])
    if not isinstance(model, BaseGBMAP):
        raise TypeError(
            "model must be a fitted GBMAP, or a pipeline or search that ends in one, or a TableModel; "
            f"got {type(model).__name__}."
        )
    check_is_fitted(model)
    return model, None


@dataclass(frozen=True)
class FittedModel:
    """A fitted GBMAP, with the way from the user's columns to its inputs.

    h = f - f_0 is what the GBMAP adds to its initial model, the one thing that can be explained
    in closed form. Inputs are the columns that the GBMAP sees, q of them; columns are those of
    the user, p of them. Without preprocessing they are the same.
    """

    model: BaseGBMAP
    preprocessing: Pipeline | None

    @classmethod
    def of(cls, model: Any) -> FittedModel:
        """Return what can be asked of a fitted GBMAP, pipeline or search."""
        return cls(*gbmap_of(model))

    @cached_property
    def given(self) -> Columns:
        """Where what the GBMAP is given comes from; an error if the preprocessing cannot be followed back."""
        first = self.first_step
        columns = Columns.plain(_names(self.model if first is None else first))
        if self.preprocessing is not None:
            columns = trace(self.preprocessing, columns)
        if len(columns.source) != self.model.n_features_in_:
            raise ValueError(
                f"only {len(columns.source)} of the preprocessing's {self.model.n_features_in_} outputs "
                "could be followed back to the columns of X; pass pipeline[-1] as the model and "
                "pipeline[:-1].transform(X) as X."
            )
        return columns

    @cached_property
    def columns(self) -> Columns:
        """Where the inputs come from; an error if the preprocessing cannot be followed back."""
        return self.given.expanded(self.inputs, self.predictor.fitted_inputs.categories)

    @property
    def inputs(self) -> Inputs:
        """What the learners make of the columns that the GBMAP is given."""
        return self.predictor.fitted_inputs.inputs

    @property
    def input_mean(self) -> Array:
        """The mean of each input in training, of shape (q,)."""
        return self.predictor.fitted_inputs.mean

    @property
    def input_scale(self) -> Array:
        """The standard deviation of each input in training, of shape (q,)."""
        return self.predictor.fitted_inputs.scale

    @property
    def ensemble(self) -> Ensemble:
        """The learners."""
        return self.model.ensemble_

    @property
    def predictor(self) -> Predictor:
        """What predictions are made by, and what their numbers mean, now: a model may be refitted."""
        return self.model.predictor_

    @property
    def first_step(self) -> Any:
        """The estimator that met the user's columns; None if there is no preprocessing of them."""
        return _first_of(self.preprocessing)

    @property
    def feature_names(self) -> Array:
        """The names of the user's columns, of shape (p,)."""
        return self.columns.names

    @property
    def input_names(self) -> Array:
        """The names of the GBMAP's inputs, of shape (q,)."""
        names = self.columns.names[self.columns.source]
        levels = [
            f"{name} is {level}"
            if kind == "category"
            else f"{name} is missing"
            if kind == "missing"
            else f"{name} from {low:g} on"
            if kind == "bend"
            else name
            for name, kind, level, low in zip(names, self.columns.kind, self.columns.level, self.columns.low)
        ]
        return np.array(levels, dtype=object)

    @property
    def output_names(self) -> Array | None:
        """The classes, or the numbers of the targets, of shape (K,); None if there is one output only."""
        return self.predictor.output_names

    @property
    def coordinate_names(self) -> Array:
        """The names of the coordinates, and of the learners that give them, of shape (M,)."""
        return self.model.get_feature_names_out()

    @property
    def column_mean(self) -> Array:
        """The mean of each numeric column in training, in the user's units; zero for others; (p,)."""
        return self.given.numbers(self.model.mean_[None])[0] * self.columns.is_number

    @property
    def column_scale(self) -> Array:
        """The standard deviation of each numeric column in training; one for others; (p,)."""
        scale = np.ones(len(self.feature_names))
        for k in np.flatnonzero((self.given.kind == "number") & (self.given.slope != 0)):
            scale[self.given.source[k]] = self.model.scale_[k] / abs(self.given.slope[k])
        return np.where(self.columns.is_number, scale, 1.0)

    def feature_index(self, feature: Any, argument: str = "feature") -> int:
        """Return the position of a column given by name or position."""
        names = list(self.feature_names)
        if feature in names:
            return names.index(feature)
        if isinstance(feature, (int, np.integer)) and -len(names) <= feature < len(names):
            return int(feature) % len(names)
        shown = ", ".join(map(str, names[:20])) + (", ..." if len(names) > 20 else "")
        raise ValueError(
            f"{argument} must be the name or the position of one of the {len(names)} columns, "
            f"got {feature!r}; the columns are {shown}."
        )

    def output_index(self, output: Any) -> int:
        """Return the position of an output: of a class, or of the number of a target; None if it is alone."""
        names = self.output_names
        if names is None:
            # 0 is the only target of a regressor, but may be a class of a classifier, which has no score.
            if output is not None and (output != 0 or hasattr(self.model, "classes_")):
                raise ValueError(f"output must be None for a model with one output, got {output!r}.")
            return 0
        matches = np.flatnonzero([name == output for name in names])
        if len(matches) == 1:
            return int(matches[0])
        raise ValueError(
            f"output must be one of {names.tolist()}, of which the model has {len(names)}, got {output!r}."
        )

    def as_asked(self, X: Any) -> Any:
        """Return rows with the columns that answers are about: of raw tables, the features."""
        return self.first_step.transform(X) if isinstance(self.first_step, TableReader) else X

    def read(self, X: Any) -> Any:
        """Return rows of the user's as inputs of the learners: validated, of shape (n, q), dense or CSR."""
        return self.inputs.of(self.read_given(X))

    def read_given(self, X: Any) -> Any:
        """Return rows of the user's as the GBMAP is given them: validated, categories as codes."""
        return self.predictor.read(self._preprocessed(X))

    def numbers(self, given: Any) -> Array:
        """Return what the GBMAP is given as values of the user's columns, (n, p): filled in, scaling undone.

        A category counts as one, a column without inputs as zero.
        """
        values = self.given.numbers(self.inputs.filled(dense(given)))
        values[:, self.columns.is_used & ~self.columns.is_number] = 1.0
        return values

    def full_score(self, X: Any) -> Array:
        """Return f = f_0 + h of the user's rows, of shape (n, K)."""
        return self.predictor.scores(self._preprocessed(X))

    def initial_score(self, X: Any) -> Array:
        """Return f_0 of the user's rows, of shape (n, K); zeros without an initial model."""
        return self.predictor.initial_scores(self._preprocessed(X))

    def staged_scores(self, X: Any) -> Iterator[Array]:
        """Yield f_0 of the user's rows, then f after 1, 2, ... stages, each of shape (n, K)."""
        given = self._preprocessed(X)
        yield self.predictor.initial_scores(given)
        yield from self.predictor.staged_scores(given)

    def _preprocessed(self, X: Any) -> Any:
        """Return what the GBMAP is given, in memory: answers about models are NumPy's."""
        X = in_memory(X)
        return X if self.preprocessing is None else self.preprocessing.transform(X)

    def moves(self, inputs: Array) -> Array:
        """Return how far each input moves with one unit of its column, of shape (n, q) or (q,).

        A number moves its input by the slope of the scaling; a category, from the average training row to
        itself. The marks of missing values of a numeric column do not move with it.
        """
        columns = self.columns
        if columns.is_plain:
            return columns.slope
        others = np.where(columns.is_number[columns.source], 0.0, inputs - self.input_mean)
        is_number = np.isin(columns.kind, ("number", "bend"))
        return np.where(is_number, columns.slope * self.inputs.are_moving(inputs), others)

    def map(
        self, function: Callable[[Array], Array], inputs: Any, n_columns: int, *, width: int = 1
    ) -> Array:
        """Return ``function(inputs)`` of shape (n, n_columns), computed on chunks of dense float64 rows.

        `width` tells that the function makes so many numbers of each row.
        """

        def of_dense(rows: Any) -> Array:
            return function(dense(rows))

        n_jobs = self.model.n_jobs
        return map_rows(of_dense, inputs, n_columns, np.float64, n_jobs, densifies=True, width=width)

    def map_inputs(self, function: Callable[[Array], Array], inputs: Any) -> Array:
        """Return ``function(inputs)`` of shape (n, q, K), computed on chunks of dense float64 rows."""
        shape = (*inputs.shape, self.ensemble.n_outputs)
        flat = self.map(lambda rows: function(rows).reshape(len(rows), -1), inputs, shape[1] * shape[2])
        return flat.reshape(shape)

    def score(self, inputs: Any) -> Array:
        """Return h of inputs, of shape (n, K)."""
        return self.map(self.ensemble.score, inputs, self.ensemble.n_outputs)


def coordinate_index(coordinate: Any, names: Array, argument: str) -> int:
    """Return the position of a coordinate, or of the learner that gives it, from its name or position."""
    if isinstance(coordinate, str) and coordinate in names:
        return int(np.flatnonzero(names == coordinate)[0])
    if isinstance(coordinate, (int, np.integer)) and -len(names) <= coordinate < len(names):
        return int(coordinate) % len(names)
    raise ValueError(
        f"{argument} must be a name from {names[0]!r} to {names[-1]!r}, or a position below {len(names)}, "
        f"got {coordinate!r}."
    )


def dense(rows: Any) -> Array:
    """Return rows as a dense array of float64."""
    return np.asarray(rows.toarray() if scipy.sparse.issparse(rows) else rows, dtype=np.float64)


def _first_of(step: Any) -> Any:
    """Return the estimator in a step that met the user's columns, or None if all of it passes them on."""
    if not isinstance(step, Pipeline | FeatureUnion):
        return None if step is None or isinstance(step, str) else step
    parts = step.steps if isinstance(step, Pipeline) else step.transformer_list
    return next((first for _, part in parts if (first := _first_of(part)) is not None), None)


def _names(estimator: Any) -> Array:
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        names = [f"x{k}" for k in range(getattr(estimator, "n_features_in_", 0))]  # none for text
    return np.asarray(names, dtype=object)
