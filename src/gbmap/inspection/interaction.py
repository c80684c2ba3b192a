"""Which features act together: the second derivatives of h = f - f_0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gbmap._core.ensemble import Ensemble
from gbmap._drawing import HeatmapDisplay
from gbmap._fitted.model import FittedModel, dense
from gbmap._fitted.results import frame, one_row, output_column, squeeze
from gbmap._utils.shown import Result, Shown, largest_first
from gbmap._utils.text import counted
from gbmap._utils.typing import Array

_WORK_NUMBERS = 1 << 22  # Hessians held at a time when only their mean is kept: 32 MB
_LARGEST_RESULT = 1 << 28  # numbers: 2 GB


@dataclass(frozen=True, repr=False)
class Interactions(Result):
    """The change of each local coefficient per unit of each feature.

    Shapes are those of one output; with K outputs there is a last axis of length K.

    Attributes
    ----------
    values : array of shape (n, p, p)
        The second derivatives of h at each row, symmetric; per standard deviation of both
        features if `standardized`. A category counts as the step from the average training row
        to it. Empty, of shape (0, p, p), if only the mean was asked for.
    mean_absolute : array of shape (p, p)
        The mean over rows of their absolute value.
    feature_names : array of shape (p,)
    output_names : array of shape (K,) or None
        Classes, or numbers of targets; None for one output.

    Examples
    --------
    >>> import numpy as np
    >>> from gbmap import GBMAPRegressor
    >>> from gbmap.inspection import interactions
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> model = GBMAPRegressor(n_components=8, random_state=0).fit(X, X[:, 0] * X[:, 1] + X[:, 2])
    >>> interactions(model, X, standardized=True).to_frame().iloc[0, :2].tolist()
    ['x0', 'x1']
    """

    values: Array
    mean_absolute: Array
    feature_names: Array
    output_names: Array | None

    def _shown(self) -> Shown:
        i, j = np.triu_indices(len(self.feature_names), 1)
        of_pairs = self.mean_absolute[i, j]
        strength = of_pairs if of_pairs.ndim == 1 else of_pairs.mean(axis=1)
        names = np.asarray(self.feature_names, dtype=object)
        table = largest_first(strength, first=names[i], second=names[j], mean_size=strength)
        return Shown(f"{counted(len(i), 'pair')} of {counted(len(names), 'feature')}", table)

    def to_frame(self) -> Any:
        """Return the pairs of different features, the strongest mean interaction first.

        Returns
        -------
        frame : pandas.DataFrame
            With columns "first", "second" and "mean_absolute", and "output" if there are several.
        """
        i, j = np.triu_indices(len(self.feature_names), k=1)
        strength = self.mean_absolute[i, j].reshape(len(i), -1)
        output, pair = np.divmod(np.arange(strength.size), max(len(i), 1))
        table = output_column(output, self.output_names) | {
            "first": self.feature_names[i][pair],
            "second": self.feature_names[j][pair],
            "mean_absolute": strength.T.ravel(),
        }
        pairs = frame(table, None)
        return pairs.sort_values("mean_absolute", ascending=False, kind="stable", ignore_index=True)

    def plot(
        self, row: int | None = None, *, output: Any = None, n_features: int = 15, ax: Any = None
    ) -> HeatmapDisplay:
        """Draw the interactions of one row, or their mean size, as a table of colours.

        Parameters
        ----------
        row : int or None, default=None
            The position of the row; None is the mean absolute value over all.
        output : default=None
            The output, if there are several.
        n_features : int, default=15
            The most features: those with the largest interactions.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : HeatmapDisplay
        """
        tables, position = (self.mean_absolute[None], 0) if row is None else (self.values, row)
        table = one_row(tables, position, output, self.output_names)
        kept = np.sort(np.argsort(-np.abs(table).max(axis=0), kind="stable")[:n_features])
        names = [self.feature_names[k] for k in kept]
        label = "mean absolute interaction" if row is None else "interaction"
        return HeatmapDisplay(table[np.ix_(kept, kept)], names, names, label).plot(ax=ax)


def interactions(model: Any, X: Any, *, standardized: bool = False, only_mean: bool = False) -> Interactions:
    """Return the second derivatives of h = f - f_0 at each row, in closed form.

    Where one is large, the local coefficient of one feature depends on the value of the other. Softplus bends
    within about 1 / beta of the border of a learner's half-space: far from all borders they are zero.

    Parameters
    ----------
    model : GBMAPRegressor, GBMAPClassifier, or a pipeline or search that ends in one
        Fitted. `explain` lists the steps that a pipeline may have.
    X : array-like or sparse matrix of shape (n, p)
        The rows.
    standardized : bool, default=False
        Whether to count per standard deviation of both features in training, instead of per unit.
    only_mean : bool, default=False
        Whether to keep the mean absolute values only, for many rows in bounded memory.

    Returns
    -------
    interactions : Interactions

    Examples
    --------
    >>> from gbmap import GBMAPRegressor
    >>> from gbmap.inspection import interactions
    >>> from sklearn.datasets import make_friedman1
    >>> X, y = make_friedman1(random_state=0)
    >>> model = GBMAPRegressor(n_components=5, random_state=0).fit(X, y)
    >>> interactions(model, X).values.shape
    (100, 10, 10)
    """
    fitted = FittedModel.of(model)
    inputs = fitted.read(X)
    n, p, n_outputs = inputs.shape[0], len(fitted.feature_names), fitted.ensemble.n_outputs
    if not only_mean and n * p * p * n_outputs > _LARGEST_RESULT:
        raise ValueError(
            f"X has {n} rows and {p} columns, whose second derivatives would take "
            f"{n * p * p * n_outputs * 8 / 2**30:.0f} GB; pass fewer rows, or only_mean=True."
        )
    scale = fitted.column_scale if standardized else np.ones(p)
    unit = scale[:, None, None] * scale[None, :, None]
    values = np.empty((0 if only_mean else n, p, p, n_outputs))
    total = np.zeros((p, p, n_outputs))
    chunk = max(1, _WORK_NUMBERS // max(p * p * n_outputs, inputs.shape[1] * len(fitted.ensemble)))
    for start in range(0, n, chunk):
        rows = slice(start, start + chunk)
        hessians = _hessians(fitted, dense(inputs[rows])) * unit
        total += np.abs(hessians).sum(axis=0)
        if not only_mean:
            values[rows] = hessians
    return Interactions(
        values=squeeze(values),
        mean_absolute=squeeze(total / n),
        feature_names=fitted.feature_names,
        output_names=fitted.output_names,
    )


def _hessians(fitted: FittedModel, inputs: Array) -> Array:
    """Return sum_j b_j g''(z_j) v_ij v_ij', of shape (n, p, p, K); v_ij: the move of z_j with each column."""
    ensemble: Ensemble = fitted.ensemble
    curvatures = ensemble.curvatures(inputs)
    moves = np.atleast_2d(fitted.moves(inputs))[:, :, None] * ensemble.weights.T  # (n or 1, q, M)
    along = fitted.columns.collect(moves)  # (n or 1, p, M)
    each = []
    for output in range(ensemble.n_outputs):
        mine = ensemble.outputs == output
        v = along[:, :, mine]
        each.append((v * curvatures[:, None, mine]) @ np.swapaxes(v, 1, 2))
    return np.stack(each, axis=-1)
