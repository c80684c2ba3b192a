"""The directions in which h = f - f_0 varies: the active subspace, in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gbmap._drawing import CurveDisplay
from gbmap._fitted.model import FittedModel, dense
from gbmap._fitted.results import frame
from gbmap._fitted.terms import Terms
from gbmap._utils.shown import Result, Shown, percents
from gbmap._utils.text import counted
from gbmap._utils.typing import Array

_NUMBERS_AT_A_TIME = 1 << 22


@dataclass(frozen=True, repr=False)
class ActiveSubspace(Result):
    """Directions of columns, ordered by the mean squared slope of h along them.

    Attributes
    ----------
    shares : array of shape (r,)
        The share of the mean squared slope that each direction explains; they add up to one.
        r is the smaller of the numbers of features and learners; q where columns bend.
    directions : array of shape (r, q)
        Orthonormal, in standard deviations of the q features.
    effective_dimension : float
        (sum of the shares)^2 / sum of their squares: 1 if h varies along one direction only, r if
        along r directions alike.
    feature_names : array of shape (q,)
        Numeric columns, categories, and marks of missing values.
    model : object
        The model.

    Examples
    --------
    >>> import numpy as np
    >>> from gbmap import GBMAPRegressor
    >>> from gbmap.inspection import active_subspace
    >>> X = np.random.default_rng(0).normal(size=(500, 4))
    >>> model = GBMAPRegressor(n_components=6, random_state=0).fit(X, abs(X[:, 0] + X[:, 1]))
    >>> subspace = active_subspace(model, X)
    >>> bool(subspace.shares[0] > 0.98), subspace.effective_dimension < 1.1
    (True, True)
    >>> subspace.transform(X, 2).shape
    (500, 2)
    """

    shares: Array
    directions: Array
    effective_dimension: float
    feature_names: Array
    model: Any

    def _shown(self) -> Shown:
        known = f"{counted(len(self.shares), 'direction')} of {counted(len(self.feature_names), 'feature')}"
        about = f"{known}, effective dimension {self.effective_dimension:.3g}"
        main = np.asarray(self.feature_names, dtype=object)[np.abs(self.directions).argmax(axis=1)]
        shares = [percents(share) for share in self.shares]
        return Shown(about, {"direction": np.arange(len(shares)), "share": shares, "mostly": main})

    def transform(self, X: Any, n_components: int = 2) -> Array:
        """Return the view of rows along the first directions: the best linear map for h.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, p)
        n_components : int, default=2

        Returns
        -------
        view : array of shape (n, n_components)
            In standard deviations, zero at the training means.
        """
        if not 1 <= n_components <= len(self.directions):
            raise ValueError(
                f"n_components must be between 1 and {len(self.directions)}, the number of directions, "
                f"got {n_components}."
            )
        fitted = FittedModel.of(self.model)
        terms, directions = Terms.of(fitted), self.directions[:n_components].T
        return fitted.map(lambda rows: terms.standard(rows) @ directions, fitted.read(X), n_components)

    def to_frame(self) -> Any:
        """Return the directions as a pandas frame, a row each, with a column "share" at the end.

        Returns
        -------
        frame : pandas.DataFrame
        """
        labels, names = range(1, len(self.shares) + 1), list(self.feature_names)
        return frame(self.directions, "direction", labels, columns=names).assign(share=self.shares)

    def plot(self, ax: Any = None) -> CurveDisplay:
        """Draw the share of the mean squared slope within the first 1, 2, ... directions.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : CurveDisplay
        """
        return CurveDisplay(
            np.arange(1, len(self.shares) + 1),
            {"cumulative": np.cumsum(self.shares)},
            x_label="directions",
            y_label="share of the mean squared slope",
        ).plot(ax=ax)


def active_subspace(model: Any, X: Any) -> ActiveSubspace:
    """Return the directions along which h = f - f_0 varies most over the rows of X.

    These are the eigenvectors of the mean of (grad h)(grad h)', which is W' diag(b) E[s s'] diag(b) W with s
    the slopes of the learners: nothing is differenced or sampled. Columns count in standard deviations;
    several outputs, each in standard deviations of its target, are added. Where a column bends, its weights
    are those at the row.

    Parameters
    ----------
    model : GBMAPRegressor, GBMAPClassifier, or a pipeline or search that ends in one
        Fitted. Directions are those of what the GBMAP is given, after the preprocessing; categories
        and marks of missing values count as 1 or 0.
    X : array-like or sparse matrix of shape (n, p)
        The rows to average over.

    Returns
    -------
    subspace : ActiveSubspace

    References
    ----------
    Constantine, Dow, Wang. Active Subspace Methods in Theory and Practice. SIAM J. Sci. Comput. 2014.

    Examples
    --------
    >>> from gbmap import GBMAPRegressor
    >>> from gbmap.inspection import active_subspace
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = GBMAPRegressor(n_components=4, random_state=0).fit(X, y)
    >>> active_subspace(model, X).directions.shape[1]
    10
    """
    fitted = FittedModel.of(model)
    terms, inputs = Terms.of(fitted), fitted.read(X)
    root = _root(fitted, inputs) if terms.is_plain else _bent_root(fitted, terms, inputs)
    _, singular, directions = np.linalg.svd(root, full_matrices=False)
    power = singular**2
    total = power.sum()
    if total == 0:
        raise ValueError("model must depend on X, but all of its learners are constant; refit it.")
    largest = np.take_along_axis(directions, np.abs(directions).argmax(axis=1)[:, None], axis=1)
    return ActiveSubspace(
        shares=power / total,
        directions=directions * np.sign(largest),  # the sign of a direction means nothing
        effective_dimension=float(total**2 / (power**2).sum()),
        feature_names=terms.names,
        model=model,
    )


def _root(fitted: FittedModel, inputs: Any) -> Array:
    """Return a matrix R W, of which (R W)'(R W) is the mean of (grad h)(grad h)', in standard units."""
    ensemble = fitted.ensemble
    n, n_learners = inputs.shape[0], len(ensemble)
    moments = np.zeros((n_learners, n_learners))
    chunk = max(1, _NUMBERS_AT_A_TIME // max(inputs.shape[1], n_learners))
    for start in range(0, n, chunk):
        slopes = ensemble.slopes(dense(inputs[start : start + chunk]))
        moments += slopes.T @ slopes
    weights = (
        ensemble.weights * fitted.input_scale / fitted.predictor.target_deviation[ensemble.outputs, None]
    )
    moments *= (ensemble.outputs[:, None] == ensemble.outputs) / n
    # The eigenvectors of W'AW with A = R'R are the right singular vectors of RW.
    return _square_root(moments) @ weights


def _bent_root(fitted: FittedModel, terms: Terms, inputs: Any) -> Array:
    """Return a root of the same mean where columns bend, so that gradients are not W's alone."""
    n, n_outputs = inputs.shape[0], fitted.ensemble.n_outputs
    moments = np.zeros((len(terms), len(terms)))
    chunk = max(1, _NUMBERS_AT_A_TIME // (inputs.shape[1] * n_outputs))
    # A number moves with its column by the slope of the preprocessing, which is no part of the terms.
    columns = fitted.columns
    is_bending = np.isin(columns.kind, ("number", "bend")) & columns.has_limits
    for start in range(0, n, chunk):
        rows = dense(inputs[start : start + chunk])
        is_moving = np.where(is_bending, fitted.moves(rows) != 0, True)
        for output in range(n_outputs):
            gradient = fitted.ensemble.gradient(rows)[:, :, output] * is_moving
            along = terms.collect(gradient) * terms.scale / fitted.predictor.target_deviation[output]
            moments += along.T @ along
    return _square_root(moments / n)


def _square_root(moments: Array) -> Array:
    """Return R with R'R of a matrix that is symmetric and has no negative eigenvalues but by rounding."""
    eigenvalues, vectors = np.linalg.eigh(moments)
    return np.sqrt(np.maximum(eigenvalues, 0.0))[:, None] * vectors.T
