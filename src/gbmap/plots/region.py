"""RegionDisplay: the regions of a model in words, with what it predicts there and how wrong it is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from gbmap._drawing import BarDisplay
from gbmap._drawing.axes import ORANGE, fit_text, legend
from gbmap._drawing.display import Display
from gbmap._fitted.model import FittedModel
from gbmap.inspection import Regions, regions
from gbmap.plots._arguments import output_label

_LABELS = {"mean_target": "mean target", "mean_loss": "mean loss", "bias": "bias", "share": "share of rows"}


@dataclass(repr=False, eq=False)
class RegionDisplay(Display):
    """Regions as bars with their words, the most populated on top.

    Parameters
    ----------
    regions : Regions
        Those of `gbmap.inspection.regions`.
    prediction_label : str, default="prediction"
        What the predictions are.
    same_unit : bool, default=True
        Whether predictions and targets are in one unit, so that both can be drawn.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from gbmap import GBMAPRegressor
    >>> from gbmap.plots import RegionDisplay
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = GBMAPRegressor(n_components=3, random_state=0).fit(X, y)
    >>> display = RegionDisplay.from_estimator(model, X, y, max_regions=4)
    >>> display.regions.share.shape
    (4,)
    >>> plt.close(display.figure_)
    """

    regions: Regions
    prediction_label: str = "prediction"
    same_unit: bool = True

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any = None,
        *,
        output: Any = None,
        max_regions: int = 8,
        **drawing: Any,
    ) -> Self:
        """Group rows by the learners that are active, and draw a value of each group.

        Parameters
        ----------
        model : GBMAPRegressor, GBMAPClassifier, or a pipeline or search that ends in one
            Fitted. Through a pipeline the words are about the columns of X as given.
        X : array-like or frame of shape (n, p)
        y : array-like of shape (n,) or (n, n_targets), default=None
            Targets or classes. With them the mean target of a regression is marked beside the mean
            prediction.
        output : default=None
            The class, or the number of the target, if the model has several outputs.
        max_regions : int, default=8
            The most regions.
        **drawing
            Passed on to `plot`: ``ax``, ``value``, ``bar_kwargs``.

        Returns
        -------
        display : RegionDisplay
        """
        fitted = FittedModel.of(model)
        label = output_label(fitted, fitted.output_index(output)).removesuffix(", less that of init")
        found = regions(model, X, y, output=output, max_regions=max_regions)
        same_unit = not hasattr(fitted.model, "classes_")
        return cls(found, label, same_unit).plot(**drawing)

    def plot(
        self, ax: Any = None, *, value: str = "mean_prediction", bar_kwargs: dict[str, Any] | None = None
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None makes a figure.
        value : {"mean_prediction", "mean_target", "mean_loss", "bias", "share"}, default="mean_prediction"
            What to draw; all but the first and the last need y.
        bar_kwargs : dict, default=None
            Passed on to ``ax.barh``.

        Returns
        -------
        self : RegionDisplay
        """
        labels = {"mean_prediction": f"mean {self.prediction_label}", **_LABELS}
        if value not in labels:
            raise ValueError(f"value must be one of {list(labels)}, got {value!r}.")
        numbers = getattr(self.regions, value)
        if numbers is None:
            raise ValueError(f"value={value!r} needs y; pass it to from_estimator.")
        names = [
            f"{100 * share:.0f} %: {_in_parts(words)}"
            for share, words in zip(self.regions.share, self.regions.descriptions)
        ]
        bars = BarDisplay(numbers, names, labels[value], lines=6)
        self._drawn_on(bars.plot(ax, bar_kwargs=bar_kwargs).ax_)
        fit_text(self.ax_, self.ax_.set_ylabel("regions, with their share of the rows"))
        if value == "mean_prediction" and self.same_unit and self.regions.mean_target is not None:
            self._mark_targets()
        return self

    def _mark_targets(self) -> None:
        bars = self.ax_.containers[-1]
        marks = self.ax_.scatter(
            self.regions.mean_target, np.arange(len(self.regions.share)), s=45, marker="D", color=ORANGE,
            edgecolor="black", linewidth=0.8, zorder=3,
        )  # fmt: skip
        legend(
            self.ax_, [(bars[0], "prediction"), (marks, "target")],
            outside={"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": 2},
        )  # fmt: skip


def _in_parts(words: str) -> str:
    """Return the words of a region with a line for each condition."""
    return re.sub(r" (and|or) ", r"\n\1 ", " ".join(words.split()))
