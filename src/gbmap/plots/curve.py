"""ColumnCurveDisplay: how the prediction goes with the values of a column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from gbmap._core.arrays import in_memory
from gbmap._drawing.display import Display
from gbmap._fitted.model import FittedModel
from gbmap._utils.sampling import sample_rows
from gbmap._utils.scikit_learn import num_samples
from gbmap.inspection import ColumnCurve, column_curve
from gbmap.inspection.curve import effect_display
from gbmap.plots._arguments import check_count, output_label


@dataclass(repr=False, eq=False)
class ColumnCurveDisplay(Display):
    """The prediction over the values of a column: on average, for single rows, and how the values are spread.

    A curve for numbers, with ticks where it may bend and a histogram of the rows below; bars for categories,
    with their share of the rows.

    Parameters
    ----------
    curve : ColumnCurve
        That of `gbmap.inspection.column_curve`.
    value_label : str, default="prediction, less its mean"
        What the numbers are.
    shifted : bool, default=False
        Whether the curves of single rows are drawn about the average, so that they differ in shape alone.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from gbmap import GBMAPRegressor
    >>> from gbmap.plots import ColumnCurveDisplay
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = GBMAPRegressor(n_components=4, random_state=0).fit(X, y)
    >>> display = ColumnCurveDisplay.from_estimator(model, X, "bmi")
    >>> display.ax_.get_xlabel()
    'bmi'
    >>> plt.close(display.figure_)
    """

    curve: ColumnCurve
    value_label: str = "prediction, less its mean"
    shifted: bool = False

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        feature: Any,
        *,
        output: Any = None,
        rows: Any = None,
        n_rows: int = 20,
        random_state: int = 0,
        **drawing: Any,
    ) -> Self:
        """Draw h = f - f_0 over the values of a column.

        Parameters
        ----------
        model : GBMAPRegressor, GBMAPClassifier, or a pipeline or search that ends in one
            Fitted. Through a pipeline the values are those of X as given.
        X : array-like or frame of shape (n, p)
            The rows to average over.
        feature : str or int
            The name or the position of the column.
        output : default=None
            The class, or the number of the target, if the model has several outputs.
        rows : sequence of int, default=None
            The positions of rows to draw curves of, as they are. None draws those of some at random, shifted
            to the average: where they go another way than that, other columns have a say.
        n_rows : int, default=20
            How many, if no rows are named.
        random_state : int, default=0
            Seeds their choice.
        **drawing
            Passed on to `plot`: ``ax``, ``line_kwargs``.

        Returns
        -------
        display : ColumnCurveDisplay
        """
        fitted, X = FittedModel.of(model), in_memory(X)
        label = output_label(fitted, fitted.output_index(output))
        shifted = rows is None
        if rows is None:
            rows = sample_rows(num_samples(X), check_count("n_rows", n_rows, least=0), random_state)
        curve = column_curve(model, X, feature, output=output, rows=rows)
        return cls(curve, f"{label}, less its mean", shifted).plot(**drawing)

    def plot(self, ax: Any = None, *, line_kwargs: dict[str, Any] | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None makes a figure.
        line_kwargs : dict, default=None
            Passed on to ``ax.plot`` for the average.

        Returns
        -------
        self : ColumnCurveDisplay
        """
        drawn = effect_display(self.curve, self.value_label, shifted=self.shifted)
        return self._drawn_on(drawn.plot(ax, line_kwargs=line_kwargs).ax_)
