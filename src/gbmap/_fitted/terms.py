"""The inputs of learners as a reader knows them: one number for each numeric column, however that bends."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse

from gbmap._fitted.columns import Columns
from gbmap._fitted.model import FittedModel, dense
from gbmap._utils.typing import Array, IntArray


@dataclass(frozen=True)
class Terms:
    """What can be named: numeric columns, marks of missing values, categories; r of them.

    A column that bends enters a learner by several inputs. Those that are no bends, often one, add up to the
    column itself, between its fences.

    Attributes
    ----------
    parts : tuple of r integer arrays
        The inputs that add up to each term.
    of_input : integer array of shape (q,)
        The term that each input tells of, bends included.
    columns : Columns
        Of the r terms: the value of one is (sum of its parts - offset) / slope.
    names : array of shape (r,)
    mean, scale : arrays of shape (r,)
        Mean and standard deviation in training, of the sums.
    """

    parts: tuple[IntArray, ...]
    of_input: IntArray
    columns: Columns
    names: Array
    mean: Array
    scale: Array

    @classmethod
    def of(cls, fitted: FittedModel) -> Terms:
        """Return the terms of a model: its inputs, if no column has limits."""
        inputs, columns = fitted.inputs, fitted.columns
        q = len(columns.source)
        if not inputs.has_limits.any():
            each = np.arange(q)
            parts = tuple(each[:, None])
            return cls(parts, each, columns, fitted.input_names, fitted.input_mean, fitted.input_scale)
        n_numbers = len(inputs.low)
        # Numbers of one column share a term; marks and categories have one each.
        key = np.where(np.arange(q) < n_numbers, inputs.source, inputs.n_columns + np.arange(q))
        _, of_input = np.unique(key, return_inverse=True)
        is_part = ~np.append(inputs.bends, np.zeros(q - n_numbers, dtype=bool))
        parts = tuple(np.flatnonzero((of_input == t) & is_part) for t in range(of_input.max() + 1))
        first = np.array([part[0] for part in parts])
        low = np.array([columns.low[part].min() for part in parts])
        origin = np.where(np.isfinite(low), low, 0.0)
        own = columns.take(first)
        return cls(
            parts=parts,
            of_input=of_input,
            columns=replace(own, offset=own.offset - origin),
            names=fitted.input_names[first],
            mean=np.array([fitted.input_mean[part].sum() for part in parts]),
            scale=np.array([_scale(fitted, part) for part in parts]),
        )

    def __len__(self) -> int:
        """Return r."""
        return len(self.parts)

    @property
    def is_plain(self) -> bool:
        """Whether the terms of all inputs are these themselves."""
        return len(self.of_input) == 1 + self.of_input.max(initial=-1)

    def take(self, kept: IntArray) -> Terms:
        """Return some of the terms, to know their values by."""
        return replace(
            self,
            parts=tuple(self.parts[k] for k in kept),
            columns=self.columns.take(kept),
            names=self.names[kept],
            mean=self.mean[kept],
            scale=self.scale[kept],
        )

    def sums(self, inputs: Any) -> Array:
        """Return the sums of the parts of rows, (n, q) to (n, r)."""
        if not self.parts:
            return np.empty((inputs.shape[0], 0))
        starts = np.cumsum([0, *map(len, self.parts[:-1])])
        return np.add.reduceat(dense(inputs[:, np.concatenate(self.parts)]), starts, axis=1)

    def values(self, inputs: Any) -> Array:
        """Return the values of rows, (n, r): of the user's column, or 1 or 0 for a mark or a category."""
        found: Array = (self.sums(inputs) - self.columns.offset) / self.columns.slope
        return found

    def standard(self, inputs: Any) -> Array:
        """Return the terms of rows in standard units, (n, r)."""
        found: Array = (self.sums(inputs) - self.mean) / self.scale
        return found

    def collect(self, of_inputs: Array) -> Array:
        """Return the sums over the inputs that tell of each term, (q,) to (r,) or (n, q) to (n, r)."""
        if self.is_plain:
            return of_inputs
        q = len(self.of_input)
        membership = scipy.sparse.csr_array((np.ones(q), (self.of_input, np.arange(q))), shape=(len(self), q))
        return np.asarray(membership @ of_inputs.T).T


def _scale(fitted: FittedModel, part: IntArray) -> Any:
    """Return the spread of an input, or of the column whose pieces several are."""
    if len(part) == 1:
        return fitted.input_scale[part[0]]
    return fitted.model.scale_[fitted.inputs.source[part[0]]]
