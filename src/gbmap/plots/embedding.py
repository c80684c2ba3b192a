"""EmbeddingDisplay: the map of rows that a model makes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.decomposition import PCA

from gbmap._core.arrays import in_memory
from gbmap._drawing.axes import GREY, axes, fit, fit_text, shorten
from gbmap._drawing.display import Display
from gbmap._drawing.points import scatter
from gbmap._fitted.axes import axis_signs
from gbmap._fitted.loss_curve import LossCurve
from gbmap._fitted.model import FittedModel, coordinate_index
from gbmap._utils.sampling import sample_rows
from gbmap._utils.scikit_learn import num_samples, safe_indexing
from gbmap._utils.typing import Array
from gbmap.plots._arguments import check_count
from gbmap.plots._colors import color_of

_FAR = 0.01  # of each coordinate on each side count as if they were at its border: far rows turn no axis
_LONE = 0.001  # of the rows on each side may lie outside of the picture, if they would make all others small


@dataclass(repr=False, eq=False)
class EmbeddingDisplay(Display):
    """Rows as points of a map, coloured by numbers or by classes.

    Parameters
    ----------
    coordinates : array of shape (n, 2) or (n, 1)
        One coordinate alone is drawn from left to right, rows spread at random up and down.
    color : array of shape (n,), default=None
        Numbers get a colour bar, on which the outer 2 % on each side share a colour. Anything else is a
        class with a colour and a shape; beyond 12 of them the rarest share one.
    axis_labels : sequence of one or two str, default=("", "")
    color_label : str, default=""
    n_rows : int, default=None
        Of how many rows these are a sample.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from gbmap import GBMAPClassifier
    >>> from gbmap.plots import EmbeddingDisplay
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = GBMAPClassifier(n_components=2, random_state=0).fit(X, y)
    >>> display = EmbeddingDisplay.from_estimator(model, X, y, components="pca")
    >>> display.coordinates.shape, [text.get_text() for text in display.ax_.get_legend().get_texts()]
    ((150, 2), ['0', '1', '2'])
    >>> plt.close(display.figure_)
    """

    coordinates: Any
    color: Any = None
    axis_labels: Any = ("", "")
    color_label: str = ""
    n_rows: int | None = None

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any = None,
        *,
        components: Any = None,
        color: Any = None,
        output: Any = None,
        max_rows: int = 5000,
        random_state: int = 0,
        **drawing: Any,
    ) -> Self:
        """Draw rows by two coordinates of their embedding.

        Parameters
        ----------
        model : GBMAPRegressor, GBMAPClassifier, or a pipeline or search that ends in one
            Fitted.
        X : array-like or frame of shape (n, p)
        y : array-like of shape (n,) or (n, n_targets), default=None
            Targets or classes. With them, axes tell the share of the loss that their coordinate explains.
        components : tuple of one or two of str or int, or "pca", default=None
            The coordinates to draw, by their names, such as "f1", or their positions in ``transform(X)``;
            or the first two principal components of all of them, in which the outer hundredths of a
            coordinate count as its border; the first rises with the prediction, of the second the longer
            tail points up. None is "pca", or the coordinates themselves if there are no
            more than two.
        color : {"target", "prediction", "loss"}, column of X, or array-like of shape (n,), default=None
            None is "target" if y is given, else "prediction". For a column with the name of one of
            these, pass its values.
        output : default=None
            The class, or the number of the target, whose coordinates count, and whose loss; with several
            targets also the one to colour by.
        max_rows : int, default=5000
            The most rows to draw. More are sampled at random, which the picture tells.
        random_state : int, default=0
            Seeds that sample.
        **drawing
            Passed on to `plot`: ``ax``, ``scatter_kwargs``.

        Returns
        -------
        display : EmbeddingDisplay
        """
        fitted, X, y, color = FittedModel.of(model), in_memory(X), in_memory(y), in_memory(color)
        n_rows = num_samples(X)
        rows = sample_rows(n_rows, check_count("max_rows", max_rows), random_state)
        values, label = color_of(fitted, model, X, y, color, output, rows)
        X = safe_indexing(X, rows)
        y = None if y is None else safe_indexing(y, rows)
        coordinates, labels = _chosen(fitted, X, y, components, output)
        return cls(coordinates, values, labels, label, n_rows).plot(**drawing)

    def plot(self, ax: Any = None, *, scatter_kwargs: dict[str, Any] | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None makes a figure.
        scatter_kwargs : dict, default=None
            Passed on to ``ax.scatter``.

        Returns
        -------
        self : EmbeddingDisplay
        """
        points = np.asarray(self.coordinates, dtype=np.float64)
        ax = axes(ax, (6.4, 4.8 if points.shape[1] == 2 else 2.4))
        if points.shape[1] == 1:
            points = np.column_stack([points, np.random.default_rng(0).uniform(size=len(points))])
            ax.set(yticks=[], ylim=(-0.1, 1.1))
            ax.spines["left"].set_visible(False)
        else:
            ax.set_ylabel(self.axis_labels[1])
        scatter(
            ax,
            points,
            None if self.color is None else np.asarray(self.color),
            self.color_label,
            scatter_kwargs,
        )
        ax.set_xlabel(self.axis_labels[0])
        told = [f"{len(points):,} of {self.n_rows:,} rows"] if (self.n_rows or 0) > len(points) else []
        n_outside = _look_closer(ax, points)
        told += [f"{n_outside:,} outside"] if n_outside else []
        if told:
            title = ax.set_title(", ".join(told), loc="right", fontsize="small", color=GREY)
            fit_text(ax, title)
        ax.spines[["top", "right"]].set_visible(False)
        fit(ax)
        return self._drawn_on(ax)


def _look_closer(ax: Any, points: Array) -> int:
    """Leave out a few rows so far off that all others would be small, and return how many they are."""
    outside = np.zeros(len(points), dtype=bool)
    for values, set_limits in zip(points.T, (ax.set_xlim, ax.set_ylim)):
        low, high = np.quantile(values, [_LONE, 1 - _LONE]) if len(values) else (0.0, 0.0)
        span = high - low
        if span > 0 and (values.min() < low - span / 2 or values.max() > high + span / 2):
            set_limits(low - span / 10, high + span / 10)
            outside |= (values < low - span / 10) | (values > high + span / 10)
    return int(outside.sum())


def _chosen(fitted: FittedModel, X: Any, y: Any, components: Any, output: Any) -> tuple[Array, list[str]]:
    """Return the coordinates to draw, with their labels."""
    mine = np.arange(len(fitted.ensemble))
    if output is not None:
        mine = np.flatnonzero(fitted.ensemble.outputs == fitted.output_index(output))
    if components is None and len(mine) > 2 and num_samples(X) > 1:
        components = "pca"
    if isinstance(components, str) and components == "pca":
        return _principal(fitted, X, mine)
    chosen = _check_components(fitted, components, mine)
    learners = fitted.ensemble[chosen]
    coordinates = fitted.map(learners.embed, fitted.read(X), len(chosen))
    shares = None if y is None else LossCurve.of(fitted, X, y).explained_by_learner()
    names = fitted.coordinate_names
    return coordinates, [_label(names[j], None if shares is None else shares[j]) for j in chosen]


def _principal(fitted: FittedModel, X: Any, mine: Array) -> tuple[Array, list[str]]:
    phi = fitted.map(fitted.ensemble[mine].embed, fitted.read(X), len(mine))
    if len(phi) < 2:
        raise ValueError('components="pca" needs at least two rows, got one.')
    inner = np.clip(phi, *np.quantile(phi, [_FAR, 1 - _FAR], axis=0))
    with np.errstate(invalid="ignore"):  # of a map where all rows are one point
        pca = PCA(min(2, phi.shape[1])).fit(inner)
    shares = np.nan_to_num(pca.explained_variance_ratio_)
    labels = [
        f"principal component {j + 1}, {round(100 * share)} % of the variance"
        for j, share in enumerate(shares)
    ]
    points = pca.transform(phi)
    return points * axis_signs(pca.transform(inner), inner.sum(axis=1)), labels


def _check_components(fitted: FittedModel, components: Any, mine: Array) -> Array:
    if components is None:
        return mine[:2]
    names = fitted.coordinate_names
    if not isinstance(components, (tuple, list)) or not 1 <= len(components) <= 2:
        raise ValueError(
            f'components must be "pca", or one or two of {_listed(names[mine])} or their positions, '
            f"got {components!r}."
        )
    chosen = np.array([coordinate_index(each, names, "components") for each in components])
    if not np.isin(chosen, mine).all():
        raise ValueError(
            f"components must be coordinates of the output, {_listed(names[mine])}, got {components!r}."
        )
    return chosen


def _listed(names: Array) -> str:
    return ", ".join(names) if len(names) <= 4 else f"{names[0]}, {names[1]}, ..., {names[-1]}"


def _label(name: str, share: float | None) -> str:
    text = shorten(name, 20)
    return text if share is None else f"{text}, explains {round(100 * share)} % of the loss"
