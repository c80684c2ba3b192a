"""DriftDisplay: whether the drift indicator tells rows with a large loss from others."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.metrics import RocCurveDisplay, precision_recall_curve, roc_auc_score
from sklearn.utils.validation import check_is_fitted

from gbmap._drawing.axes import BLUE, GREY, ORANGE, VERMILLION, axes, below, fit, legend, style
from gbmap._drawing.axes import scale as text_scale
from gbmap._drawing.display import Display
from gbmap._utils.typing import Array
from gbmap.drift import DriftDetector
from gbmap.plots._arguments import written


@dataclass(repr=False, eq=False)
class DriftDisplay(Display):
    """The loss of rows against their drift indicator, as in Figure 2 of the paper.

    A row counts as drifted if its loss is above a threshold. The indicator threshold drawn is the one that
    tells such rows from others with the largest F1, which takes labels to know.

    Parameters
    ----------
    indicator, loss : arrays of shape (n,)
    is_shifted : boolean array of shape (n,)
        False for test rows like those of the training, the paper's a2; true for shifted ones, its b.
    loss_threshold : float
    alarm_threshold : float, default=None
        The level of alarm that a detector was set to.
    names : tuple of two str, default=("test (a2)", "shifted (b)")

    Attributes
    ----------
    is_drifted : boolean array of shape (n,)
        Whether the loss is above its threshold.
    indicator_threshold : float
        Rows with an indicator at or above it are told with the largest F1; NaN if no row is drifted.
    f1 : float
        That F1.
    roc_auc : float
        The area under the ROC curve; NaN if all rows are drifted, or none.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from gbmap import DriftDetector, GBMAPRegressor
    >>> from gbmap.plots import DriftDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 3))
    >>> y = X[:, 0] ** 2 + 0.1 * rng.normal(size=600)
    >>> train, test, shifted = X[:300], X[300:450], X[450:] * 3
    >>> detector = DriftDetector(GBMAPRegressor(5, random_state=0), random_state=0).fit(train, y[:300])
    >>> display = DriftDisplay.from_estimator(detector, test, y[300:450], shifted, shifted[:, 0] ** 2)
    >>> display.roc_auc > 0.8
    True
    >>> roc = display.plot_roc()
    >>> plt.close("all")
    """

    indicator: Any
    loss: Any
    is_shifted: Any
    loss_threshold: float
    alarm_threshold: float | None = None
    names: tuple[str, str] = ("test (a2)", "shifted (b)")
    is_drifted: Any = field(init=False)
    indicator_threshold: float = field(init=False)
    f1: float = field(init=False)
    roc_auc: float = field(init=False)

    def __post_init__(self) -> None:
        self.indicator, self.loss = (_finite(name, getattr(self, name)) for name in ("indicator", "loss"))
        self.is_shifted = np.asarray(self.is_shifted, dtype=bool)
        lengths = {len(each) for each in (self.indicator, self.loss, self.is_shifted)}
        if len(lengths) > 1:
            raise ValueError(
                f"indicator, loss and is_shifted must have as many rows each, got {len(self.indicator)}, "
                f"{len(self.loss)} and {len(self.is_shifted)}."
            )
        self.is_drifted = self.loss > self.loss_threshold
        self.indicator_threshold, self.f1 = _largest_f1(self.is_drifted, self.indicator)
        both = self.is_drifted.any() and not self.is_drifted.all()
        self.roc_auc = float(roc_auc_score(self.is_drifted, self.indicator)) if both else np.nan

    @classmethod
    def from_estimator(
        cls,
        detector: Any,
        X: Any,
        y: Any,
        X_shifted: Any,
        y_shifted: Any,
        **options: Any,
    ) -> Self:
        """Draw the losses and indicators of test rows and of shifted ones.

        Parameters
        ----------
        detector : DriftDetector
            Fitted.
        X, y : array-like
            Test rows like those of the training, with their labels: the paper's a2.
        X_shifted, y_shifted : array-like
            Rows that may have drifted: the paper's b.
        **options
            Passed on to `from_predictions`: ``loss_quantile``, ``loss_threshold``, ``ax``, ``scale``,
            ``scatter_kwargs``.

        Returns
        -------
        display : DriftDisplay
        """
        if not isinstance(detector, DriftDetector):
            raise TypeError(
                f"detector must be a fitted DriftDetector, got {type(detector).__name__}; "
                "pass other indicators and losses to from_predictions."
            )
        check_is_fitted(detector)
        known = detector.indicator_and_loss(X, y)
        shifted = detector.indicator_and_loss(X_shifted, y_shifted, "y_shifted")
        indicator, loss = (np.concatenate(pair) for pair in zip(known, shifted))
        return cls.from_predictions(
            indicator,
            loss,
            np.repeat([False, True], [len(known[0]), len(shifted[0])]),
            alarm_threshold=getattr(detector, "threshold_", None),
            **options,
        )

    @classmethod
    def from_predictions(
        cls,
        indicator: Any,
        loss: Any,
        is_shifted: Any,
        *,
        loss_quantile: float = 0.95,
        loss_threshold: float | None = None,
        alarm_threshold: float | None = None,
        **drawing: Any,
    ) -> Self:
        """Draw losses and indicators of any kind.

        Parameters
        ----------
        indicator, loss : arrays of shape (n,)
        is_shifted : boolean array of shape (n,)
        loss_quantile : float, default=0.95
            The threshold of the loss is this quantile of the losses of rows that are not shifted.
        loss_threshold : float, default=None
            The threshold itself, instead.
        alarm_threshold : float, default=None
            The level of alarm of a detector.
        **drawing
            Passed on to `plot`: ``ax``, ``scale``, ``scatter_kwargs``.

        Returns
        -------
        display : DriftDisplay
        """
        if loss_threshold is None:
            loss_threshold = _quantile(loss, is_shifted, loss_quantile)
        return cls(indicator, loss, is_shifted, loss_threshold, alarm_threshold).plot(**drawing)

    def plot(
        self, ax: Any = None, *, scale: str = "log", scatter_kwargs: dict[str, Any] | None = None
    ) -> Self:
        """Draw the loss against the indicator.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None makes a figure.
        scale : {"log", "linear"}, default="log"
            Of both axes. On a logarithmic one the smallest hundredth of the numbers is drawn at its edge.
        scatter_kwargs : dict, default=None
            Passed on to ``ax.scatter``.

        Returns
        -------
        self : DriftDisplay
        """
        if scale not in ("log", "linear"):
            raise ValueError(f'scale must be "log" or "linear", got {scale!r}.')
        ax = axes(ax, (6.4, 5.2))
        x, y = (_drawable(each) if scale == "log" else each for each in (self.indicator, self.loss))
        by = text_scale(ax)
        looks = [
            {"marker": "o", "color": BLUE, "linewidth": 0},
            {"marker": "x", "color": ORANGE, "linewidth": 1},
        ]
        entries = []
        for name, rows, look in zip(self.names, (~self.is_shifted, self.is_shifted), looks):
            defaults = {"s": 16 * by**2, "alpha": 0.5, **look}
            drawn = ax.scatter(x[rows], y[rows], **style("scatter", defaults, scatter_kwargs))
            entries.append((drawn, f"{name}, {rows.sum():,} rows"))
        entries += self._lines(ax)
        ax.set(xscale=scale, yscale=scale, xlabel="drift indicator", ylabel="loss")
        if by < 1:  # no room for names of the marks between powers of ten
            for axis in (ax.xaxis, ax.yaxis):
                axis.set_minor_formatter("")
        title = f"AUC {self.roc_auc:.2f} for a loss above its threshold"
        fit(ax, ax.set_title(title, fontsize="medium"))
        legend(ax, entries, outside={"loc": "upper center", **below(ax, 34), "ncols": 2})
        ax.spines[["top", "right"]].set_visible(False)
        return self._drawn_on(ax)

    def _lines(self, ax: Any) -> list[tuple[Any, str]]:
        level = ax.axhline(self.loss_threshold, color="black", linewidth=1)
        lines = [(level, f"loss threshold {written(self.loss_threshold)}")]
        if np.isfinite(self.indicator_threshold):
            best = ax.axvline(self.indicator_threshold, color="black", linewidth=1, linestyle="--")
            lines.append((best, f"largest F1, {self.f1:.2f}, at {written(self.indicator_threshold)}"))
        if self.alarm_threshold is not None:
            alarm = ax.axvline(self.alarm_threshold, color=GREY, linewidth=1, linestyle=":")
            lines.append((alarm, f"alarm at {written(float(self.alarm_threshold))}"))
        return lines

    def plot_roc(self, ax: Any = None, *, curve_kwargs: dict[str, Any] | None = None) -> RocCurveDisplay:
        """Draw the ROC curve of the indicator, with the threshold of the largest F1 as a dot.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None makes a figure.
        curve_kwargs : dict, default=None
            Passed on to ``ax.plot``.

        Returns
        -------
        roc : sklearn.metrics.RocCurveDisplay
        """
        if np.isnan(self.roc_auc):
            raise ValueError(
                "a ROC curve needs rows with a loss above loss_threshold and rows below, got "
                f"{int(self.is_drifted.sum())} above of {len(self.loss)}; choose another loss_threshold."
            )
        ax = axes(ax, (4.8, 4.8))
        roc = RocCurveDisplay.from_predictions(
            self.is_drifted, self.indicator, ax=ax, name="drift indicator",
            plot_chance_level=True, despine=True,
            curve_kwargs=style("line", {"color": BLUE}, curve_kwargs), chance_level_kw={"color": GREY},
        )  # fmt: skip
        alarm = self.indicator >= self.indicator_threshold
        ax.plot(
            alarm[~self.is_drifted].mean(),
            alarm[self.is_drifted].mean(),
            "o",
            color=VERMILLION,
            label="largest F1",
        )
        ax.set(xlabel="share of other rows with an alarm", ylabel="share of drifted rows with an alarm")
        ax.legend(frameon=False, loc="lower right")
        return roc


def _finite(name: str, values: Any) -> Array:
    numbers: Array = np.asarray(values, dtype=np.float64)
    if numbers.ndim != 1 or not len(numbers) or not np.isfinite(numbers).all():
        raise ValueError(f"{name} must be a one-dimensional array of finite numbers, one a row.")
    return numbers


def _quantile(loss: Any, is_shifted: Any, quantile: Any) -> float:
    """Return the quantile of the losses of rows that are not shifted."""
    if not (isinstance(quantile, Real) and 0 < float(quantile) < 1):
        raise ValueError(f"loss_quantile must be a number between 0 and 1, got {quantile!r}.")
    losses = _finite("loss", loss)[~np.asarray(is_shifted, dtype=bool)]
    if not len(losses):
        raise ValueError("loss_threshold must be given if all rows are shifted.")
    return float(np.quantile(losses, float(quantile)))


def _largest_f1(is_drifted: Array, indicator: Array) -> tuple[float, float]:
    """Return the level from which on rows are told with the largest F1, and that F1."""
    if not is_drifted.any():
        return np.nan, np.nan
    precision, recall, levels = precision_recall_curve(is_drifted, indicator)
    f1 = 2 * precision * recall / np.maximum(precision + recall, np.finfo(float).tiny)
    best = int(np.argmax(f1[:-1]))
    return float(levels[best]), float(f1[best])


def _drawable(values: Array) -> Array:
    """Return numbers for a logarithmic axis, which zeros and the very smallest would stretch without end."""
    positive = values[values > 0]
    return np.maximum(values, np.quantile(positive, 0.01) if len(positive) else 1.0)
