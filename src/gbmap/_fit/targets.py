"""What y means: numbers or classes, and what the engine sees of them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from gbmap._core.activation import softplus
from gbmap._core.arrays import asarray_like, namespace, to_numpy, wide
from gbmap._core.losses import Loss
from gbmap._utils.typing import Array

_LARGEST = 1e150  # squares of larger numbers leave the range of float64
_TO_THE_CALLER_OF_FIT = 11  # levels of the stack


class TargetReader(Protocol):
    """How an estimator reads y, of any library; small to send to where rows are.

    Attributes
    ----------
    rules : dict of str to bool
        What scikit-learn's check of y is told.
    weighs_classes : bool
        Whether rows count by their class.
    """

    rules: ClassVar[dict[str, bool]]

    @property
    def weighs_classes(self) -> bool: ...

    def learn(self, y: Any, name: str) -> tuple[Self, Array]:
        """Return what reads all y of the kind of this one, and the targets; refuse what cannot be fitted."""

    def read(self, y: Any, name: str) -> Array:
        """Return the targets, of shape (n, K), where y is."""

    def telling(self, y: Array) -> Array:
        """Return a few rows that tell as much about y as all do."""

    def weight_of_rows(self, y: Any, weight: Array | None) -> Array | None:
        """Return what rows count, given what they were said to."""

    def strata(self, y: Array) -> Array | None:
        """Return by what rows are to be shared out evenly, if by anything."""


@dataclass(frozen=True)
class NumberReader:
    """Numbers, one or several for each row."""

    are_2d: bool = False

    rules: ClassVar[dict[str, bool]] = {"multi_output": True, "y_numeric": True}
    weighs_classes: ClassVar[bool] = False

    def learn(self, y: Any, name: str) -> tuple[Self, Array]:
        """Return what gives predictions the shape of y, and the targets."""
        return replace(self, are_2d=len(y.shape) == 2 and y.shape[1] > 1), self.read(y, name)

    def read(self, y: Any, name: str) -> Array:
        """Return numbers, of shape (n, K), where y is."""
        if len(y.shape) == 2 and y.shape[1] == 1:
            warnings.warn(
                f"{name} of shape (n_samples, 1) is taken as one target; pass {name}.ravel() instead.",
                DataConversionWarning,
                stacklevel=_TO_THE_CALLER_OF_FIT,
            )
        xp = namespace(y)
        if not xp.isdtype(y.dtype, ("bool", "integral", "real floating")):
            raise ValueError(
                f"{name} must hold numbers, got such as {to_numpy(y).flat[0]!r}; "
                "for classes use GBMAPClassifier."
            )
        largest = float(xp.max(xp.abs(xp.astype(y, wide(y)))))
        if largest > _LARGEST:
            raise ValueError(
                f"{name} must hold numbers of at most {_LARGEST:g} in size, got {largest:g}; rescale it."
            )
        return xp.reshape(xp.astype(y, wide(y)), (y.shape[0], -1))

    def telling(self, y: Array) -> Array:
        """Return the row of the largest number; the first one of what are no numbers."""
        if y.dtype.kind not in "biuf":
            return y[:1]
        row = int(np.abs(y).reshape(len(y), -1).max(axis=1).argmax())
        return y[row : row + 1]

    def weight_of_rows(self, y: Any, weight: Array | None) -> Array | None:
        return weight

    def strata(self, y: Array) -> None:
        """Return None: rows are drawn."""

    def shaped(self, score: Array) -> Array:
        """Return a prediction of the shape that y had."""
        return score if self.are_2d else score[:, 0]


@dataclass(frozen=True)
class LabelReader:
    """Labels: the engine sees -1 and +1, once for two classes, for each of more than two.

    Attributes
    ----------
    class_weight : dict, "balanced" or None
    two_only : bool
        Whether more than two classes are refused, since scores are to be monotone.
    classes : array or None
        The labels in order, once they are learned.
    """

    class_weight: Any = None
    two_only: bool = False
    classes: Array | None = None

    rules: ClassVar[dict[str, bool]] = {}

    @property
    def weighs_classes(self) -> bool:
        return self.class_weight is not None

    @property
    def labels(self) -> Array:
        """The labels, which must have been learned."""
        assert self.classes is not None
        return self.classes

    def learn(self, y: Any, name: str) -> tuple[Self, Array]:
        """Return what knows the classes, and the targets."""
        found = _distinct(y, name)
        # scikit-learn doubts a y in which most labels occur but once: it sees as many rows as tell that.
        check_classification_targets(np.resize(found, min(y.shape[0], 3 * len(found))))
        classes = np.unique(found)
        if len(classes) < 2:
            raise ValueError(
                f"y must hold at least 2 classes, got 1 class only: {classes[0]!r}; "
                "check how the rows were selected."
            )
        if self.two_only and len(classes) > 2:
            raise ValueError(
                "monotonic_cst is for two classes only; drop it, or pose the problem as one of two."
            )
        learned = replace(self, classes=classes)
        return learned, learned.signs(y)

    def read(self, y: Any, name: str) -> Array:
        """Return -1 and +1, of shape (n, K), where y is, or in memory if no device can hold labels."""
        if len(unknown := np.setdiff1d(_distinct(y, name), self.labels)):
            raise ValueError(
                f"{name} must hold classes of the fit only, {self.labels.tolist()}, "
                f"got {unknown.tolist()} too."
            )
        return self.signs(y)

    def signs(self, y: Any) -> Array:
        """Return -1 and +1 of labels that are known, of shape (n, K)."""
        positive = self.labels[1:] if len(self.labels) == 2 else self.labels
        xp = namespace(y)
        is_positive = y[:, None] == (positive if xp is np else asarray_like(positive, y))
        return 2.0 * xp.astype(is_positive, wide(y)) - 1.0

    def telling(self, y: Array) -> Array:
        """Return each label once."""
        return np.unique(y) if y.dtype != object else np.array(list(set(y)), dtype=object)

    def weight_of_rows(self, y: Any, weight: Array | None) -> Array | None:
        if self.class_weight is None:
            return weight
        y = to_numpy(y)
        of_row: Array = self.weight_of_classes(y, weight)[np.searchsorted(self.labels, y)]
        return of_row if weight is None else of_row * weight

    def weight_of_classes(self, y: Array, weight: Array | None) -> Array:
        """Return a factor for each class, given labels and their weights, or each label and its total."""
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            of_class: Array = compute_class_weight(
                self.class_weight, classes=self.labels, y=y, sample_weight=weight
            )
        of_class[np.isinf(of_class)] = 0.0  # "balanced" for a class whose rows weigh next to nothing
        share = 1.0 if weight is None else weight
        if not (of_class >= 0).all() or not (of_class[np.searchsorted(self.labels, y)] * share).any():
            raise ValueError(
                f"class_weight must be non-negative and leave some row a weight, got {self.class_weight!r}."
            )
        return of_class

    def strata(self, y: Array) -> Array:
        return y

    def decided(self, score: Array) -> Array:
        """Return the class with the highest score, where that is."""
        xp = namespace(score)
        two = len(self.labels) == 2
        winner = xp.astype(score[:, 0] > 0, xp.int32) if two else xp.argmax(score, axis=1)
        if xp is np or self.labels.dtype.kind not in "biuf":  # no device can hold text
            return self.labels[to_numpy(winner)]

        return xp.take(xp.asarray(self.labels, device=winner.device), winner, axis=0)

    def probabilities(self, score: Array, loss: Loss) -> Array:
        """Return the probability of each class, of shape (n, n_classes), where the scores are."""
        xp, log_odds = namespace(score), score * loss.log_odds_per_score
        if len(self.labels) == 2:
            log_odds = xp.concat([-log_odds, log_odds], axis=1)
        log_p = -softplus(-log_odds, 1.0)  # in log space, since all of them may be tiny
        p = xp.exp(log_p - xp.max(log_p, axis=1, keepdims=True))
        return p / xp.sum(p, axis=1, keepdims=True)


def _distinct(y: Any, name: str) -> Array:
    """Return the distinct labels of an array, in memory; refuse those of several kinds."""
    if len(y.shape) != 1:
        raise ValueError(f"{name} must have one dimension, got an array of shape {tuple(y.shape)}.")
    xp = namespace(y)
    if xp is np and y.dtype.kind not in "biuf":
        return _of_one_kind(y, name)
    ends = xp.stack([xp.all(y), xp.any(y)] if xp.isdtype(y.dtype, "bool") else [xp.min(y), xp.max(y)])
    if bool(xp.all((y == ends[0]) | (y == ends[1]))):  # two labels, the quick way
        return np.unique(to_numpy(ends))
    return to_numpy(xp.unique_values(y))


def _of_one_kind(y: Array, name: str) -> Array:
    kinds = {str if isinstance(label, str) else type(label) for label in y} if y.dtype == object else set()
    if str in kinds and len(kinds) > 1:
        names = " and ".join(sorted(kind.__name__ for kind in kinds))
        raise ValueError(f"{name} must hold labels of one kind, got {names}; leave out rows without a label.")
    return y
