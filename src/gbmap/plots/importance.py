"""ImportanceDisplay: how much each column matters to a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from gbmap._drawing import BarDisplay
from gbmap._drawing.display import Display
from gbmap._fitted.model import FittedModel
from gbmap.plots._arguments import check_count


@dataclass(repr=False, eq=False)
class ImportanceDisplay(Display):
    """The importances of columns as bars, the largest on top.

    Parameters
    ----------
    importances : array of shape (p,)
    feature_names : sequence of p names
    value_label : str, default="importance"
        What the numbers are.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from gbmap import GBMAPRegressor
    >>> from gbmap.plots import ImportanceDisplay
    >>> from sklearn.datasets import make_friedman1
    >>> X, y = make_friedman1(random_state=0)
    >>> model = GBMAPRegressor(n_components=4, random_state=0).fit(X, y)
    >>> display = ImportanceDisplay.from_estimator(model, n_features=3)
    >>> display.ax_.get_yticklabels()[0].get_text()
    'x3'
    >>> plt.close(display.figure_)
    """

    importances: Any
    feature_names: Any
    value_label: str = "importance"

    @classmethod
    def from_estimator(cls, model: Any, **drawing: Any) -> Self:
        """Draw ``feature_importances_`` of a model, in the columns that the user had.

        They are the mean size of what a column adds to the prediction over that of the average training row,
        by `gbmap.inspection.attributions`.

        Parameters
        ----------
        model : GBMAPRegressor, GBMAPClassifier, or a pipeline or search that ends in one
            Fitted. Of the inputs that a pipeline makes of one column, such as its categories, the root of
            the sum of squares counts: the spread of their sum, were they not correlated. A plain sum
            would put columns of many categories on top.
        **drawing
            Passed on to `plot`: ``ax``, ``n_features``, ``bar_kwargs``.

        Returns
        -------
        display : ImportanceDisplay
        """
        fitted = FittedModel.of(model)
        importances = np.sqrt(fitted.given.collect(fitted.model.feature_importances_[None] ** 2)[0])
        label = "mean size of what a feature adds to the prediction,\nin standard deviations of y"
        if hasattr(fitted.model, "classes_"):
            label = "mean size of what a feature adds to the score"
        return cls(importances, fitted.feature_names, label).plot(**drawing)

    def plot(self, ax: Any = None, *, n_features: int = 12, bar_kwargs: dict[str, Any] | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None makes a figure.
        n_features : int, default=12
            The most bars.
        bar_kwargs : dict, default=None
            Passed on to ``ax.barh``.

        Returns
        -------
        self : ImportanceDisplay
        """
        most = check_count("n_features", n_features)
        bars = BarDisplay.largest(self.importances, self.feature_names, most, self.value_label)
        bars.plot(ax, bar_kwargs=bar_kwargs)
        return self._drawn_on(bars.ax_)
