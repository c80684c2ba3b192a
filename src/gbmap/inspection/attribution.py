"""Integrated gradients of h = f - f_0 in closed form: what each feature adds over a baseline."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse

from gbmap._core.arrays import in_memory
from gbmap._core.ensemble import Ensemble
from gbmap._drawing import BarDisplay
from gbmap._fitted.model import FittedModel, dense
from gbmap._fitted.results import one_row, rows_frame, squeeze
from gbmap._utils.frames import names_of
from gbmap._utils.optional import require
from gbmap._utils.shown import Result, Shown, by_feature, cell, extent
from gbmap._utils.typing import Array

_WORK_NUMBERS = 1 << 22  # secants held at a time: 32 MB


@dataclass(frozen=True, repr=False)
class Attribution(Result):
    """Shares of h(x) - h(baseline), one for each feature, which add up to it.

    Shapes are those of one output; with K outputs there is a last axis of length K.

    Attributes
    ----------
    values : array of shape (n, p)
        What each column adds, in the units of y (or log-odds).
    base_values : array of shape (n,)
        h of the baseline, or its mean over a background set: ``base_values + values.sum(axis=1)``
        is h of the rows.
    inputs : array of shape (n, p)
        The values of the features, filled in where missing; one for a category, zero for a column
        that the pipeline drops.
    feature_names : array of shape (p,)
    output_names : array of shape (K,) or None
        Classes, or numbers of targets; None for one output.

    Examples
    --------
    >>> from gbmap import GBMAPRegressor
    >>> from gbmap.inspection import attributions
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = GBMAPRegressor(n_components=2, random_state=0).fit(X, y)
    >>> attributions(model, X.head(3), X.median().to_frame().T).to_frame().shape
    (3, 11)
    """

    values: Array
    base_values: Array
    inputs: Array
    feature_names: Array
    output_names: Array | None

    def _shown(self) -> Shown:
        base = cell(self.base_values[0]) if len(self.base_values) else "-"
        about = f"{extent(self.values, self.output_names)}, over a base value of {base}"
        return Shown(about, by_feature(self.values, self.feature_names, "value"))

    def to_frame(self) -> Any:
        """Return the values as a pandas frame, a row per row (and output), with a column "base_value".

        Returns
        -------
        frame : pandas.DataFrame
        """
        return rows_frame(
            self.values, self.feature_names, self.output_names, {"base_value": self.base_values}
        )

    def to_shap(self) -> Any:
        """Return a `shap.Explanation`, for the plots of shap.

        Returns
        -------
        explanation : shap.Explanation
        """
        shap = require("shap", "shap")
        return shap.Explanation(
            values=self.values,
            base_values=self.base_values,
            data=self.inputs,
            feature_names=list(self.feature_names),
            output_names=None if self.output_names is None else [str(name) for name in self.output_names],
        )

    def plot(self, row: int = 0, *, output: Any = None, n_features: int = 12, ax: Any = None) -> BarDisplay:
        """Draw what each feature adds to one row's prediction, the largest first.

        Parameters
        ----------
        row : int, default=0
            The position of the row.
        output : default=None
            The output, if there are several.
        n_features : int, default=12
            The most bars.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : BarDisplay
        """
        values = one_row(self.values, row, output, self.output_names)
        return BarDisplay.largest(
            values, self.feature_names, n_features, value_label="added to the prediction over the baseline"
        ).plot(ax=ax)


def attributions(model: Any, X: Any, baseline: Any) -> Attribution:
    """Split h(x) - h(baseline), with h = f - f_0, into shares of the features, exactly.

    These are integrated gradients along the straight line from the baseline to each row, in what learners see
    of them: a learner's change is shared out by how far each column, bent or not, moves it. A learner's mean
    slope between two points has a closed form, so nothing is sampled and the shares add up to rounding.

    Parameters
    ----------
    model : GBMAPRegressor, GBMAPClassifier, or a pipeline or search that ends in one
        Fitted. Through a pipeline the shares are those of the columns of X as given; `explain`
        lists the steps that it may have.
    X : array-like or sparse matrix of shape (n, p)
        The rows.
    baseline : array-like or sparse matrix of shape (p,), (1, p) or (B, p)
        What to compare with, in the columns of X: one row (of a frame, a Series too), or a background
        set, over which the shares are averaged (the time grows with its size).

    Returns
    -------
    attribution : Attribution

    See Also
    --------
    explain : The local linear model at each row.

    References
    ----------
    Sundararajan, Taly, Yan. Axiomatic Attribution for Deep Networks. ICML 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from gbmap import GBMAPClassifier
    >>> from gbmap.inspection import attributions
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = GBMAPClassifier(n_components=3, random_state=0).fit(X, y)
    >>> shares = attributions(model, X[:5], X.mean(axis=0))
    >>> np.allclose(shares.values.sum(axis=1) + shares.base_values, model.decision_function(X[:5]))
    True
    """
    fitted = FittedModel.of(model)
    rows, background, ensemble = fitted.read_given(X), _read_baseline(fitted, baseline, X), fitted.ensemble
    function = Ensemble.integrated_gradient if len(background) == 1 else _from_many
    values = fitted.map_inputs(lambda rows: function(ensemble, rows, background), fitted.inputs.of(rows))
    base_value = ensemble.score(background).mean(axis=0)
    return Attribution(
        values=squeeze(fitted.columns.collect(values)),
        base_values=squeeze(np.tile(base_value, (len(values), 1))),
        inputs=fitted.numbers(rows),
        feature_names=fitted.feature_names,
        output_names=fitted.output_names,
    )


def over_the_average(fitted: FittedModel, inputs: Any) -> tuple[Array, Array]:
    """Return what the user's columns add over the average training row, (n, p, K), and h of that row, (K,).

    The average is taken of the model's inputs: a category counts there by its share of the rows.
    """
    average, ensemble = fitted.input_mean[None], fitted.ensemble
    values = fitted.map_inputs(lambda rows: ensemble.integrated_gradient(rows, average), inputs)
    return fitted.columns.collect(values), ensemble.score(average)[0]


def _read_baseline(fitted: FittedModel, baseline: Any, X: Any) -> Array:
    try:
        return dense(fitted.read(_as_rows(baseline, X)))
    except (TypeError, ValueError) as error:
        raise ValueError(f"baseline must hold rows like those of X: {error}") from error


def _as_rows(baseline: Any, X: Any) -> Any:
    """Return a baseline of one row as a table of one row, with the columns of X if it has none of its own."""
    if hasattr(baseline, "columns"):
        return baseline
    if scipy.sparse.issparse(baseline):
        return baseline.reshape(-1, baseline.shape[-1])
    rows = np.atleast_2d(np.asarray(in_memory(baseline)))
    if not hasattr(X, "columns"):
        return rows
    if hasattr(baseline, "to_frame") and hasattr(baseline, "index"):
        return _row_of_frame(baseline, X)
    names = names_of(X)
    if rows.shape[1] != len(names):
        raise ValueError(f"it has {rows.shape[1]} columns, X has {len(names)}.")
    return nw.from_numpy(rows, names, backend=nw.get_native_namespace(X)).to_native()


def _row_of_frame(row: Any, X: Any) -> Any:
    """Return a row of a pandas frame, a Series, as a frame of one row with types like those of X."""
    frame = row.to_frame().T.infer_objects()
    if not hasattr(X, "select_dtypes"):
        return frame
    # A missing text alone in its column would pass for a number.
    others = frame.columns.intersection(X.select_dtypes(exclude=["number", "bool"]).columns)
    return frame.astype(dict.fromkeys(others, object))


def _from_many(ensemble: Ensemble, X: Array, background: Array) -> Array:
    """Return the mean of `integrated_gradient` over the rows of a background, of shape (n, q, K)."""
    size = max(1, _WORK_NUMBERS // len(ensemble))
    parts = (background[start : start + size] for start in range(0, len(background), size))
    return reduce(np.add, (len(part) / len(background) * _from_part(ensemble, X, part) for part in parts))


def _from_part(ensemble: Ensemble, X: Array, background: Array) -> Array:
    """Return `_from_many` of a background of a bounded size.

    With s_irj the mean slope of learner j between rows i and r, the mean over r of
    (x_ik - x'_rk) s_irj is x_ik mean_r s_irj - mean_r s_irj x'_rk, a product of matrices.
    """
    out = np.empty((len(X), X.shape[1], ensemble.n_outputs))
    n_rows = max(1, _WORK_NUMBERS // (len(ensemble) * max(len(background), X.shape[1])))
    z, other = ensemble.project(X)[:, None], ensemble.project(background)
    center = background.mean(axis=0)  # x_k - x'_k is a difference from the same point, which saves digits
    for start in range(0, len(X), n_rows):
        rows = slice(start, start + n_rows)
        slopes = np.swapaxes(ensemble.secants(z[rows], other), 1, 2) / len(background)  # (n, M, B)
        moved = (X[rows] - center)[:, None] * slopes.sum(axis=2)[:, :, None] - slopes @ (background - center)
        each = moved * ensemble.weights
        for output in range(ensemble.n_outputs):
            out[rows, :, output] = each[:, ensemble.outputs == output].sum(axis=1)
    return out
