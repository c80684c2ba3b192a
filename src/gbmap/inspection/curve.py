"""The curve of a column: how h = f - f_0 goes with its values, on average over rows and for single ones."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from gbmap._core.arrays import in_memory
from gbmap._drawing.effects import EffectDisplay
from gbmap._fitted.model import FittedModel, dense
from gbmap._fitted.results import frame
from gbmap._utils.sampling import sample_rows
from gbmap._utils.shown import Result, Shown, cell, largest_first, percents
from gbmap._utils.text import counted
from gbmap._utils.typing import Array, IntArray
from gbmap.inspection._column_steps import ColumnSteps

_MOST_ROWS = 2_000  # to average over: the error of the mean is 2 % of the spread of the single curves


@dataclass(frozen=True, repr=False)
class ColumnCurve(Result):
    """How h = f - f_0 of one output goes with the values of a column.

    Attributes
    ----------
    feature : object
        The name of the column.
    values : array of shape (g,)
        Numbers from the least to the most of the rows, with the knots between; or the names of categories,
        with "other" for those without an input of their own and "missing", if there are such.
    average : array of shape (g,)
        The mean over the rows of h with the column at each value, less `base_value`.
    local : array of shape (r, g)
        h of the rows asked for with the column at each value, less `base_value`.
    rows : integer array of shape (r,)
        Their positions.
    base_value : float
        The mean of h over the rows as they are.
    missing : float or None
        The average where the number is missing; None if the model has no mark of that. For categories
        it is among the values.
    knots : array of shape (t,)
        The values at which the curve may bend, within those of the rows.
    observed : array of shape (n',)
        The numbers that the rows have, missing ones left out; none for categories.
    share : array of shape (g,) or None
        The share of the rows that have each category; None for numbers.
    output : object
        The class, or the number of the target; None for one output.

    Examples
    --------
    >>> import numpy as np
    >>> from gbmap import GBMAPRegressor
    >>> from gbmap.inspection import column_curve
    >>> X = np.random.default_rng(0).uniform(-1, 1, (500, 2))
    >>> model = GBMAPRegressor(n_components=6, random_state=0).fit(X, abs(X[:, 0]) + X[:, 1])
    >>> curve = column_curve(model, X, 0)
    >>> bool(abs(curve.values[curve.average.argmin()]) < 0.2)
    True
    """

    feature: Any
    values: Array
    average: Array
    local: Array
    rows: IntArray
    base_value: float
    missing: float | None
    knots: Array
    observed: Array
    share: Array | None
    output: Any

    @property
    def is_category(self) -> bool:
        """Whether the values are names."""
        return self.share is not None

    def _shown(self) -> Shown:
        reach = f"from {cell(float(self.average.min()))} to {cell(float(self.average.max()))}"
        about = f"{self.feature}, {reach} over the mean {cell(self.base_value)}"
        if self.share is not None:
            shares = [percents(each) for each in self.share]
            table = largest_first(self.share, value=self.values, average=self.average, share=shares)
            return Shown(f"{about}, {counted(len(self.values), 'level')}", table)
        if self.missing is not None:
            about += f", {cell(self.missing)} where it is missing"
        # A few values tell the way of the curve.
        some = np.unique(np.linspace(0, len(self.values) - 1, 5).astype(int))
        table = {"value": self.values[some], "average": self.average[some]}
        return Shown(f"{about}, {counted(len(self.knots), 'knot')}", table)

    def to_frame(self) -> Any:
        """Return a pandas frame with a row per value.

        Returns
        -------
        frame : pandas.DataFrame
            With columns "value", "average", for categories "share", and "row 3" and the like for the
            rows asked for.
        """
        table = {"value": self.values, "average": self.average, "share": self.share}
        of_rows = {f"row {row}": curve for row, curve in zip(self.rows, self.local)}
        return frame(table | of_rows, None)

    def plot(self, ax: Any = None) -> EffectDisplay:
        """Draw the curve, or bars for categories, with the rows asked for and the spread of the values.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : EffectDisplay
        """
        of_output = "" if self.output is None else f" of {self.output}"
        return effect_display(self, f"h{of_output}, less its mean").plot(ax)


def effect_display(curve: ColumnCurve, y_label: str, *, shifted: bool = False) -> EffectDisplay:
    """Return the picture of a curve, not yet drawn; of single rows as they are, or about the average."""
    level = curve.local.mean(axis=1, keepdims=True) - curve.average.mean() if shifted else 0.0
    return EffectDisplay(
        values=curve.values,
        average=curve.average,
        local=curve.local - level,
        local_label="single rows, shifted" if shifted else "single rows",
        knots=curve.knots,
        observed=curve.observed,
        share=curve.share,
        missing=curve.missing,
        x_label=str(curve.feature),
        y_label=y_label,
    )


def column_curve(
    model: Any, X: Any, feature: Any, *, output: Any = None, rows: Any = (), n_points: int = 50
) -> ColumnCurve:
    """Return how h = f - f_0 goes with a column: its mean over rows, with the column at one value or another.

    The other columns stay as they are in each row: a partial dependence, with nothing approximated. Rows of X
    beyond 2,000 are sampled for the mean.

    Parameters
    ----------
    model : GBMAPRegressor, GBMAPClassifier, or a pipeline or search that ends in one
        Fitted. `explain` lists the steps that a pipeline may have.
    X : array-like or sparse matrix of shape (n, p)
        The rows to average over, between whose values of the column the curve goes.
    feature : str or int
        The name or the position of the column.
    output : default=None
        The class, or the number of the target, if the model has several outputs.
    rows : sequence of int, default=()
        The positions of rows whose own curves are wanted too.
    n_points : int, default=50
        The number of values at equal distances, to which knots are added. A category has all of its own.

    Returns
    -------
    curve : ColumnCurve

    See Also
    --------
    gbmap.plots.ColumnCurveDisplay : The picture.
    attributions : What each column adds, row by row.

    Examples
    --------
    >>> from gbmap import GBMAPRegressor
    >>> from gbmap.inspection import column_curve
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = GBMAPRegressor(n_components=4, random_state=0).fit(X, y)
    >>> curve = column_curve(model, X, "bmi", rows=[0, 7])
    >>> curve.local.shape == (2, len(curve.values)), bool(curve.average[-1] > curve.average[0])
    (True, True)
    """
    fitted = FittedModel.of(model)
    k, column = fitted.output_index(output), fitted.feature_index(feature)
    if not isinstance(n_points, Integral) or n_points < 2:
        raise ValueError(f"n_points must be an integer of at least 2, got {n_points!r}.")
    if not fitted.columns.is_used[column]:
        raise ValueError(
            f"feature must be a column that reaches the learners, but {feature!r} is dropped before them, or "
            "none of its categories has rows enough; ask for another one."
        )
    given = fitted.read_given(in_memory(X))
    asked = _positions(rows, given.shape[0])
    sample = given[sample_rows(given.shape[0], _MOST_ROWS, 0)]
    inputs, own = (dense(fitted.inputs.of(each)) for each in (sample, given[asked]))
    learners = fitted.ensemble[k :: fitted.ensemble.n_outputs]
    steps = ColumnSteps.of(fitted, column, given, inputs, int(n_points))
    h = learners.embed(inputs).sum(axis=1)
    base_value = float(h.mean())
    average = steps.curves(learners, inputs).mean(axis=0) - base_value
    n_values = len(steps.values)
    return ColumnCurve(
        feature=fitted.feature_names[column],
        values=steps.values,
        average=average[:n_values],
        local=steps.curves(learners, own)[:, :n_values] - base_value,
        rows=asked,
        base_value=base_value,
        missing=float(average[n_values]) if len(average) > n_values else None,
        knots=steps.knots,
        observed=steps.observed,
        share=steps.share,
        output=None if fitted.output_names is None else fitted.output_names[k],
    )


def _positions(rows: Any, n: int) -> IntArray:
    """Return positions of rows, from 0 on."""
    for row in rows:
        if not isinstance(row, Integral) or isinstance(row, bool) or not -n <= int(row) < n:
            raise ValueError(f"rows must be positions of rows of X, from 0 to {n - 1}, got {row!r}.")
    return np.array([int(row) % n for row in rows], dtype=np.intp)
