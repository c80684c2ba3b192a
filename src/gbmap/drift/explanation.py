"""Why a row raises the alarm: f - f_kNN split into extrapolation, by feature, and local misfit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gbmap._drawing import BarDisplay
from gbmap._fitted.results import one_row, rows_frame
from gbmap._utils.shown import Result, Shown, by_feature, extent
from gbmap._utils.text import counted
from gbmap._utils.typing import Array


@dataclass(frozen=True, repr=False)
class DriftExplanation(Result):
    """The parts of f - f_kNN, which add up to it.

    The embedding distance, which the indicator adds, is not among them, nor is what makes a row strange:
    a category that was not seen, or a value that was never missing and is. Such rows rank beyond all others,
    whatever their parts are.

    Shapes are those of one output; with K outputs there is a last axis of length K.

    Attributes
    ----------
    values : array of shape (n, p)
        The share of each feature in the extrapolation, signed: the mean over the neighbours of
        integrated gradients from them to the row.
    extrapolation : array of shape (n,)
        The mean of f(x) - f(x_i) over the neighbours x_i: the sum of the values, and for a foreign
        model of ``remainder``.
    misfit : array of shape (n,)
        The mean of f(x_i) - y_i: how far the model is from the data right there. Zero for classes,
        whose neighbours count by their scores.
    remainder : array of shape (n,)
        What a foreign model extrapolates otherwise than the GBMAP fitted to it; zero for a GBMAP.
    differences : array of shape (n,)
        f - f_kNN, the sum of extrapolation and misfit.
    strange : boolean array of shape (n, p)
        Which features make each row strange; of any number of outputs.
    feature_names : array of shape (p,)
    output_names : array of shape (K,) or None
        Classes, or numbers of targets; None for one output.

    Examples
    --------
    >>> import numpy as np
    >>> from gbmap import DriftDetector, GBMAPRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3))
    >>> y = X[:, 0] ** 2
    >>> detector = DriftDetector(GBMAPRegressor(4, random_state=0), random_state=0).fit(X, y)
    >>> reasons = detector.explain(np.array([[5.0, 0.0, 5.0]]))
    >>> reasons.because_of.tolist()
    ['x0']
    >>> detector.explain(np.array([[5.0, 0.0, np.nan]])).because_of.tolist()
    ['x2']
    """

    values: Array
    extrapolation: Array
    misfit: Array
    remainder: Array
    differences: Array
    strange: Array
    feature_names: Array
    output_names: Array | None

    @property
    def sizes(self) -> Array:
        """The sizes of the values, summed over outputs, of shape (n, p)."""
        sizes: Array = np.abs(self.values).reshape(*self.values.shape[:2], -1).sum(axis=2)
        return sizes

    @property
    def because_of(self) -> Array:
        """The feature to blame for each row, of shape (n,).

        That with the largest value, among those that make the row strange if there are any.
        """
        is_excused = self.strange.any(axis=1, keepdims=True) & ~self.strange
        first: Array = self.feature_names[np.where(is_excused, -1.0, self.sizes).argmax(axis=1)]
        return first

    def _shown(self) -> Shown:
        about = f"{extent(self.values, self.output_names)}, shares in what rows are extrapolated"
        if n_strange := int(self.strange.any(axis=1).sum()):
            most = str(self.feature_names[self.strange.sum(axis=0).argmax()])
            about += f"; {counted(n_strange, 'row')} strange, most of them by {most}"
        return Shown(about, by_feature(self.values, self.feature_names, "share"))

    def to_frame(self) -> Any:
        """Return the parts as a pandas frame, a row per row (and output).

        Returns
        -------
        frame : pandas.DataFrame
            A column per feature, then "misfit", "remainder" and "difference", their sum.
        """
        further = {"misfit": self.misfit, "remainder": self.remainder, "difference": self.differences}
        return rows_frame(self.values, self.feature_names, self.output_names, further)

    def plot(self, row: int = 0, *, output: Any = None, n_features: int = 12, ax: Any = None) -> BarDisplay:
        """Draw the parts of one row as bars, the largest first.

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
        parts = [one_row(self.values, row, output, self.output_names)]
        names = list(self.feature_names)
        for name, part in (("local misfit", self.misfit), ("remainder", self.remainder)):
            if part.any():
                parts.append(np.atleast_1d(one_row(part, row, output, self.output_names)))
                names.append(name)
        label = "share in prediction less neighbours' mean"
        return BarDisplay.largest(np.concatenate(parts), names, n_features, value_label=label).plot(ax=ax)
