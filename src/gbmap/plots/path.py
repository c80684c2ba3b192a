"""PathDisplay: the prediction along the straight line between two rows, with bounds that are proven."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from gbmap._core.arrays import in_memory
from gbmap._core.ensemble import Ensemble
from gbmap._core.path import BentLines
from gbmap._drawing.axes import BLUE, SKY, axes, fit, legend, shorten, style
from gbmap._drawing.display import Display
from gbmap._fitted.model import FittedModel, dense
from gbmap._utils.scikit_learn import num_samples, safe_indexing
from gbmap._utils.typing import Array
from gbmap.distances import embedding_distances, path_distances
from gbmap.plots._arguments import check_count, output_label, take_row, written

_POINTS_A_PIECE = 50


@dataclass(repr=False, eq=False)
class PathDisplay(Display):
    """h = f - f_0 along a segment, with the range that its value and slope at some knots leave it.

    Parameters
    ----------
    positions : array of shape (n,)
        Places on the segment, from 0 to 1.
    values, lower, upper : arrays of shape (n,)
        h there, and its bounds.
    knots, knot_values : arrays of shape (k,)
        The places from which the bounds follow, and h there.
    path_distance, path_bound : float, default=None
        The path distance between the ends, from below, and the most by which it may be larger.
    embedding_distance : float, default=None
    ends : tuple of two names, default=("start", "end")
    value_label : str, default="prediction"

    Notes
    -----
    Along a segment each learner is convex or concave, so that the slope of h is a rising plus a falling
    function. On a piece [u, v] it lies between rising(u) + falling(v) and rising(v) + falling(u), which
    bounds h from both ends. Where columns bend, pieces end at the places where the segment crosses a knot.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from gbmap import GBMAPRegressor
    >>> from gbmap.plots import PathDisplay
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GBMAPRegressor(n_components=4, random_state=0).fit(X, y)
    >>> display = PathDisplay.from_estimator(model, X, rows=(0, 1), n_pieces=4)
    >>> inside = (display.lower <= display.values + 1e-9) & (display.values <= display.upper + 1e-9)
    >>> bool(inside.all())
    True
    >>> plt.close(display.figure_)
    """

    positions: Any
    values: Any
    lower: Any
    upper: Any
    knots: Any
    knot_values: Any
    path_distance: float | None = None
    path_bound: float | None = None
    embedding_distance: float | None = None
    ends: tuple[Any, Any] = ("start", "end")
    value_label: str = "prediction"

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        *,
        rows: tuple[int, int] = (0, 1),
        output: Any = None,
        n_pieces: int = 4,
        **drawing: Any,
    ) -> Self:
        """Draw h = f - f_0 between two rows.

        Parameters
        ----------
        model : GBMAPRegressor, GBMAPClassifier, or a pipeline or search that ends in one
            Fitted. Through a pipeline the line is straight in the columns that the GBMAP is given.
        X : array-like or frame of shape (n, p)
        rows : tuple of two int, default=(0, 1)
            The positions of the rows in X.
        output : default=None
            The class, or the number of the target, if the model has several outputs.
        n_pieces : int, default=4
            The bounds follow from the value and the slope at the ends of so many pieces, and where the
            columns of the model bend.
        **drawing
            Passed on to `plot`: ``ax``, ``line_kwargs``.

        Returns
        -------
        display : PathDisplay
        """
        n_pieces = check_count("n_pieces", n_pieces)
        pair = _two_rows(in_memory(X), rows)
        fitted = FittedModel.of(model)
        k = fitted.output_index(output)
        learners = fitted.ensemble[k :: fitted.ensemble.n_outputs]
        start, end = dense(fitted.read_given(pair))
        line = BentLines(fitted.inputs, start[None], end[None])
        distance, bound = path_distances(model, pair, return_bound=True, output=output)
        return cls(
            **_along(learners, line, n_pieces),
            path_distance=float(distance[0, 1]),
            path_bound=float(bound[0, 1]),
            embedding_distance=float(embedding_distances(model, pair, output=output)[0, 1]),
            ends=(f"row {rows[0]}", f"row {rows[1]}"),
            value_label=output_label(fitted, k),
        ).plot(**drawing)

    def plot(self, ax: Any = None, *, line_kwargs: dict[str, Any] | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None makes a figure.
        line_kwargs : dict, default=None
            Passed on to ``ax.plot``.

        Returns
        -------
        self : PathDisplay
        """
        ax = axes(ax, (6.4, 4.2))
        band = ax.fill_between(self.positions, self.lower, self.upper, color=SKY, alpha=0.4, linewidth=0)
        (line,) = ax.plot(self.positions, self.values, **style("line", {"color": BLUE}, line_kwargs))
        (dots,) = ax.plot(self.knots, self.knot_values, "o", color=line.get_color(), markersize=5)
        legend(
            ax,
            [
                (line, self.value_label),
                (dots, f"at {len(self.knots)} points"),
                (band, "proven from these points"),
            ],
        )
        first, last = (shorten(end, 20) for end in self.ends)
        ax.set_xticks([0, 0.25, 0.5, 0.75, 1], [first, "", "half-way", "", last])
        ax.set(xlim=(-0.02, 1.02), ylabel=self.value_label)
        title = ax.set_title(self._distances(), fontsize="medium")
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(alpha=0.3)
        fit(ax, title)
        return self._drawn_on(ax)

    def _distances(self) -> str:
        if self.path_distance is None or self.embedding_distance is None:
            return ""
        named = {
            "difference": abs(float(self.values[-1] - self.values[0])),
            "path distance": self.path_distance,
            "embedding distance": self.embedding_distance,
        }
        told = [f"{name} {written(value)}" for name, value in named.items()]
        if self.path_distance > self.embedding_distance:  # coordinates turn round where columns bend
            told[1], told[2] = told[2], told[1]
        return " \N{LESS-THAN OR EQUAL TO} ".join(told)


def _two_rows(X: Any, rows: Any) -> Any:
    """Return two rows of X as a table."""
    if not isinstance(rows, (tuple, list)) or len(rows) != 2:
        raise ValueError(f"rows must be the positions of two rows of X, got {rows!r}.")
    for row in rows:
        take_row(X, row, "each of rows")
    return safe_indexing(X, [row % num_samples(X) for row in rows])


def _along(learners: Ensemble, line: BentLines, n_pieces: int) -> dict[str, Array]:
    """Return h of one output on a segment, and its bounds from knots at equal distances and at bends."""
    knots = np.unique(np.append(np.linspace(0, 1, n_pieces + 1), line.cuts()[1]))
    z = learners.project(_inputs_at(line, knots))
    h = learners.embed_projected(z).sum(axis=1)
    middle = (knots[1:] + knots[:-1]) / 2
    along = line.slopes(np.zeros(len(middle), dtype=np.intp), middle) @ learners.weights.T
    slopes = learners.slopes_projected(z)
    first_slopes, last_slopes = slopes[:-1] * along, slopes[1:] * along
    rises, falls = learners.signs > 0, learners.signs < 0
    least = first_slopes[:, rises].sum(axis=1) + last_slopes[:, falls].sum(axis=1)
    most = last_slopes[:, rises].sum(axis=1) + first_slopes[:, falls].sum(axis=1)

    positions = np.unique(np.append(np.linspace(0, 1, n_pieces * _POINTS_A_PIECE + 1), knots))
    piece = np.clip(np.searchsorted(knots, positions, side="right") - 1, 0, len(knots) - 2)
    after, before = positions - knots[piece], knots[piece + 1] - positions
    first, last = h[piece], h[piece + 1]
    return {
        "positions": positions,
        "values": learners.embed(_inputs_at(line, positions)).sum(axis=1),
        "lower": np.maximum(first + least[piece] * after, last - most[piece] * before),
        "upper": np.minimum(first + most[piece] * after, last - least[piece] * before),
        "knots": knots,
        "knot_values": h,
    }


def _inputs_at(line: BentLines, positions: Array) -> Array:
    return line.at(np.zeros(len(positions), dtype=np.intp), positions)
