"""LossCurveDisplay: how the loss falls from stage to stage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from gbmap._drawing import CurveDisplay
from gbmap._drawing.axes import GREY, legend
from gbmap._drawing.display import Display
from gbmap._fitted.loss_curve import LossCurve
from gbmap._fitted.model import FittedModel
from gbmap.plots._arguments import check_count


@dataclass(repr=False, eq=False)
class LossCurveDisplay(Display):
    """The mean loss after 0, 1, ..., m stages, on training rows and on others.

    Parameters
    ----------
    training : array of shape (m + 1,)
    validation : array of shape (m + 1,), default=None
        A dotted line marks where it is least.
    x_label : str, default="learners"

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from gbmap import GBMAPRegressor
    >>> from gbmap.plots import LossCurveDisplay
    >>> from sklearn.datasets import make_friedman1
    >>> X, y = make_friedman1(n_samples=200, random_state=0)
    >>> model = GBMAPRegressor(n_components=5, random_state=0).fit(X[:100], y[:100])
    >>> display = LossCurveDisplay.from_estimator(model, X[100:], y[100:])
    >>> display.training.shape, display.validation.shape
    ((6,), (6,))
    >>> plt.close(display.figure_)
    """

    training: Any
    validation: Any = None
    x_label: str = "learners"

    @classmethod
    def from_estimator(cls, model: Any, X: Any = None, y: Any = None, **drawing: Any) -> Self:
        """Draw the loss of a model's stages.

        Parameters
        ----------
        model : GBMAPRegressor, GBMAPClassifier, or a pipeline or search that ends in one
            Fitted.
        X, y : array-like, default=None
            Rows held out, for the validation loss. None takes that of the rows which the fit had for
            validation, if it had any.
        **drawing
            Passed on to `plot`: ``ax``, ``start``.

        Returns
        -------
        display : LossCurveDisplay
        """
        if (X is None) != (y is None):
            raise ValueError("X and y must be given together, or neither of them.")
        fitted = FittedModel.of(model)
        validation = (
            fitted.model.validation_loss_curve_
            if X is None
            else LossCurve.of(fitted, X, y).stages.mean(axis=1)
        )
        label = "learners" if fitted.ensemble.n_outputs == 1 else "learners per output"
        return cls(fitted.model.loss_curve_, validation, label).plot(**drawing)

    def plot(self, ax: Any = None, *, start: int = 1) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None makes a figure.
        start : int, default=1
            The first stage to draw. The loss of f_0, before the first stage, is often so large that the
            others would look alike.

        Returns
        -------
        self : LossCurveDisplay
        """
        n = len(self.training)
        if check_count("start", start, least=0) >= n:
            raise ValueError(f"start must be below {n}, the number of losses, got {start}.")
        curves = {"training": np.asarray(self.training)[start:]}
        if self.validation is not None:
            curves["validation"] = np.asarray(self.validation)[start:]
        drawn = CurveDisplay(np.arange(start, n), curves, self.x_label, "mean loss").plot(ax)
        drawn.ax_.xaxis.get_major_locator().set_params(integer=True)
        if self.validation is not None:
            least = start + int(np.argmin(curves["validation"]))
            line = drawn.ax_.axvline(least, color=GREY, linestyle=":", zorder=0)
            named = [(each, each.get_label()) for each in drawn.ax_.lines[-3:-1]]
            legend(drawn.ax_, [*named, (line, f"least, after {least}")])
        return self._drawn_on(drawn.ax_)
