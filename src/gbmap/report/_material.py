"""The rows that a report looks at: samples of a bounded size of what it was given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse

from gbmap._fitted.model import FittedModel, gbmap_of
from gbmap._fitted.table_reader import is_table_model, without_tables
from gbmap._utils.missing import known_labels, plain_labels
from gbmap._utils.sampling import sample_rows
from gbmap._utils.scikit_learn import num_samples, safe_indexing
from gbmap._utils.typing import Array, IntArray

_STUDY_ROWS = 10_000  # for learners, regions and the detector
_SCORED_ROWS = 20_000  # for scores, and for the linear model beside
_NEW_PER_SHOWN = 4  # one new row on the map for so many others
_MOST_OUTPUTS = 12  # classes of their own on the page


@dataclass(frozen=True)
class Rows:
    """Some rows of one of the tables given."""

    kind: str  # "training", "held out" or "new"
    X: Any
    y: Array | None
    # How a reader finds the row again: its label in the index of a frame, else its position. None yet before
    # the first sample is drawn.
    labels: list[str]
    n_given: int  # how many rows the whole table has

    @classmethod
    def of(cls, kind: str, X: Any, y: Any, names: tuple[str, str]) -> Rows:
        """Return all rows of a table, or say what is wrong with it."""
        X = X.tocsr() if scipy.sparse.issparse(X) else X if hasattr(X, "columns") else np.asarray(X)
        n = num_samples(X)
        if n == 0:
            raise ValueError(f"{names[0]} must hold at least one row, got none.")
        if y is not None:
            y = np.asarray(y)
            y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
            if len(y) != n:
                raise ValueError(f"{names[1]} must have as many rows as {names[0]}, {n}, got {len(y)}.")
        return cls(kind, X, y, [], n)

    def __len__(self) -> int:
        return int(num_samples(self.X))

    def known(self, model: Any) -> IntArray:
        """Return the positions of targets that are there, of classes that a model knows if it knows any."""
        known = np.arange(0) if self.y is None else known_labels(self.y)
        classes = getattr(model, "classes_", None)
        if classes is None or not len(known):
            return known
        of_model = set(classes.tolist())
        return known[np.array([label in of_model for label in self.y[known].tolist()])]  # type: ignore[index]

    def as_asked(self, fitted: FittedModel) -> Rows:
        """Return the rows with the columns that a model tells of, under their labels."""
        X = fitted.as_asked(self.X)
        return self if X is self.X else replace(self, X=X, labels=self._labels_of(np.arange(len(self))))

    def sample(self, n_rows: int, rng: np.random.Generator) -> Rows:
        """Return at most so many rows, drawn at random, in their order."""
        n = len(self)
        chosen = sample_rows(n, n_rows, rng)
        return replace(
            self,
            X=self.X if n <= n_rows else safe_indexing(self.X, chosen),
            y=None if self.y is None else self.y[chosen],
            labels=self._labels_of(chosen),
        )

    def _labels_of(self, chosen: Array) -> list[str]:
        if self.labels:
            return [self.labels[i] for i in chosen]
        index = getattr(self.X, "index", None)
        return [str(label) for label in (chosen if index is None else index[chosen])]


@dataclass(frozen=True)
class ReportedModel(FittedModel):
    """A fitted model of which much is asked about the same tables: it reads and scores each of them once."""

    # By what was asked and the identity of the table; with the table, so that no other one takes its place.
    known: dict[tuple[str, int], tuple[Any, Any]] = field(default_factory=dict, compare=False, repr=False)

    def read_given(self, X: Any) -> Any:
        return self._once("given", X, super().read_given)

    def full_score(self, X: Any) -> Array:
        return self._once("score", X, super().full_score)

    def _once(self, what: str, X: Any, function: Callable[[Any], Any]) -> Any:
        key = (what, id(X))
        if key not in self.known:
            self.known[key] = X, function(X)
        return self.known[key][1]


@dataclass(frozen=True)
class Material:
    """A fitted model and the rows to look at it with."""

    model: Any  # which takes the rows
    given: Any  # as given, which may know dates by their names
    fitted: FittedModel
    new: Rows | None
    points: list[Rows]  # those on the map, by kind
    outputs: list[int]  # the outputs that are shown: all, or those of the most frequent classes
    target_name: str

    @property
    def table(self) -> Any:
        """The TableModel that reads raw tables; None for other models."""
        return self.given if is_table_model(self.given) else None

    @property
    def is_classifier(self) -> bool:
        """Whether the model predicts classes."""
        return hasattr(self.fitted.model, "classes_")

    @property
    def classes(self) -> list[str]:
        """The classes as text; none for a regressor."""
        return [str(label) for label in getattr(self.fitted.model, "classes_", [])]

    @property
    def output_names(self) -> list[str]:
        """What the outputs that are shown stand for: classes, or the prediction itself."""
        if not self.is_classifier:
            return [self.target_name]
        return [self.classes[k + (len(self.classes) == 2)] for k in self.outputs]

    def stack(self, function: Callable[[Rows], Any]) -> Array:
        """Return what a function gives for the rows of the map, one under the other."""
        return np.concatenate([np.asarray(function(rows)) for rows in self.points])


@dataclass(frozen=True)
class FitMaterial(Material):
    """A fitted model, and the rows of its fit too."""

    training: Rows  # at most 20,000
    held_out: Rows
    study: Rows  # training rows, at most 10,000, fewer for many columns and outputs


def gather(
    model: Any, tables: dict[str, Rows], target_name: str, max_rows: int, rng: np.random.Generator
) -> FitMaterial:
    """Draw the rows that a report looks at."""
    fitted, tables = _read(model, tables)
    training, held_out = (tables[kind].sample(_SCORED_ROWS, rng) for kind in ("training", "held out"))
    new = tables["new"].sample(_SCORED_ROWS, rng) if "new" in tables else None
    n_inputs = fitted.ensemble.weights.shape[1] * fitted.ensemble.n_outputs**2
    return FitMaterial(
        model=without_tables(model),
        given=model,
        fitted=fitted,
        training=training,
        held_out=held_out,
        study=training.sample(min(_STUDY_ROWS, max(500, 10**8 // n_inputs)), rng),
        new=new,
        points=_points(tables["training"], tables["held out"], new, max_rows, rng),
        outputs=_shown_outputs(fitted, training.y),
        target_name=target_name,
    )


def gather_new(model: Any, new: Rows, target_name: str, max_rows: int, rng: np.random.Generator) -> Material:
    """Draw the new rows that a report looks at, by a model whose training rows are not there."""
    fitted, tables = _read(model, {"new": new})
    new = tables["new"].sample(_SCORED_ROWS, rng)
    has_classes = hasattr(fitted.model, "classes_")
    decided = fitted.predictor.labels.decided(fitted.full_score(new.X)) if has_classes else None
    return Material(
        model=without_tables(model),
        given=model,
        fitted=fitted,
        new=new,
        points=[new.sample(max_rows, rng)],
        outputs=_shown_outputs(fitted, decided),
        target_name=target_name,
    )


def _of_one_target(model: Any) -> FittedModel:
    fitted = FittedModel.of(model)
    if not hasattr(fitted.model, "classes_") and fitted.ensemble.n_outputs > 1:
        raise ValueError(
            f"model must have one target for a report, got {fitted.ensemble.n_outputs}; fit a model for "
            "each target and make a report of each."
        )
    return fitted


def _read(model: Any, tables: dict[str, Rows]) -> tuple[ReportedModel, dict[str, Rows]]:
    """Return what takes the tables once they are read, and these; targets must be ones that it can have."""
    asked = _of_one_target(model)
    tables = {kind: rows.as_asked(asked) for kind, rows in tables.items()}
    fitted = ReportedModel(*gbmap_of(without_tables(model)))
    for kind, names in (("training", "y"), ("held out", "y_test"), ("new", "y_new")):
        rows = tables.get(kind)
        if rows is not None and rows.y is not None:
            # New classes among new rows are for the verdict to tell.
            y = plain_labels(rows.y[rows.known(fitted.model)]) if kind == "new" else rows.y
            if len(y):
                fitted.predictor.read_targets(y, len(y), names)
    return fitted, tables


def _points(
    training: Rows, held_out: Rows, new: Rows | None, max_rows: int, rng: np.random.Generator
) -> list[Rows]:
    """Return rows of either kind in proportion to how many there are, and some new ones."""
    share = min(1.0, max_rows / (len(training) + len(held_out)))
    n_held_out = max(1, round(share * len(held_out)))
    points = [training.sample(max(1, round(share * len(training))), rng), held_out.sample(n_held_out, rng)]
    return points if new is None else [*points, new.sample(max(1, max_rows // _NEW_PER_SHOWN), rng)]


def _shown_outputs(fitted: FittedModel, y: Array | None) -> list[int]:
    n_outputs = fitted.ensemble.n_outputs
    if n_outputs <= _MOST_OUTPUTS or y is None:
        return list(range(n_outputs))
    model: Any = fitted.model
    counts = np.array([np.sum(y == label) for label in model.classes_])
    return sorted(np.argsort(-counts, kind="stable")[:_MOST_OUTPUTS].tolist())
