"""Distances that ignore what does not matter for y: by the embedding, and along the straight path."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from gbmap._core.ensemble import Ensemble
from gbmap._core.path import BentLines, Points, n_breaks, variation
from gbmap._fitted.model import FittedModel, dense
from gbmap._rows.threads import ThreadTeam, effective_threads
from gbmap._utils.typing import Array

_NUMBERS_AT_A_TIME = 1 << 17  # pairs times learners, or rows: their work arrays stay in the cache
_CUT_NUMBERS_AT_A_TIME = 1 << 20  # inputs, or projections, where lines are cut
_TOL_MIN = 1e-9  # below it, rounding decides


def embedding_distances(model: Any, X: Any, Y: Any = None, *, output: Any = None) -> Array:
    """Return the embedding distances between rows, ``|phi(x) - phi(y)|_1``, in the units of y.

    Parameters
    ----------
    model : GBMAPRegressor, GBMAPClassifier, or a pipeline or search that ends in one
        Fitted.
    X : array-like or sparse matrix of shape (n, p)
    Y : array-like or sparse matrix of shape (n', p), default=None
        None is X itself.
    output : default=None
        The class, or the number of the target, whose learners count; None adds up all.

    Returns
    -------
    distances : array of shape (n, n')

    See Also
    --------
    path_distances : How much the prediction varies on the way, which costs more.

    Notes
    -----
    The prediction (less that of ``init``) differs by at most this distance. For nearest neighbours
    use ``transform`` with a metric tree of scikit-learn, which needs no matrix.

    Examples
    --------
    >>> from gbmap import GBMAPRegressor, embedding_distances
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GBMAPRegressor(n_components=4, random_state=0).fit(X, y)
    >>> distances = embedding_distances(model, X[:3], X)
    >>> distances.shape
    (3, 442)
    >>> bool((abs(model.predict(X[:3])[:, None] - model.predict(X)) <= distances + 1e-9).all())
    True
    """
    fitted, learners = _model_and_learners(model, output)
    phi = fitted.map(learners.embed, fitted.read(X), len(learners))
    other = phi if Y is None else fitted.map(learners.embed, fitted.read(Y), len(learners))
    return _manhattan(phi, other, fitted.model.n_jobs)


def path_distances(
    model: Any, X: Any, Y: Any = None, tol: float = 1e-3, return_bound: bool = False, *, output: Any = None
) -> Any:
    """Return the path distances between rows: how much h = f - f_0 varies on the straight line between them.

    Parameters
    ----------
    model : GBMAPRegressor, GBMAPClassifier, or a pipeline or search that ends in one
        Fitted. Through a pipeline the line is straight in the columns that the GBMAP is given. Between
        categories, and between a missing number and one that is there, it leads evenly from one to the other.
    X : array-like or sparse matrix of shape (n, p)
    Y : array-like or sparse matrix of shape (n', p), default=None
        None is X itself.
    tol : float, default=1e-3
        The result is below the true distance by at most ``tol`` times the embedding distance; where
        columns bend, times the length of the line in the embedding.
    return_bound : bool, default=False
        Whether to return, for each pair, the most that the result may be too small.
    output : default=None
        The class, or the number of the target, whose path counts; None adds up all.

    Returns
    -------
    distances : array of shape (n, n')
        At least the difference of the predictions (less those of ``init``). At most the embedding distance
        if ``knots`` is 0; where columns bend, what grows on a part of the line may fall again on the
        next, and the distance may be larger.
    bound : array of shape (n, n')
        Only if ``return_bound``: ``distances <= true distances <= distances + bound``, to rounding.

    See Also
    --------
    embedding_distances : A hundred times cheaper, and without knots an upper bound.

    Notes
    -----
    The slope of h along a line is the sum of a rising and a falling function, so its values at the
    ends of a piece bound it between them; pieces on which its sign is open are halved. Where columns bend,
    the line is first cut at the knots that it crosses.

    Examples
    --------
    >>> from gbmap import GBMAPRegressor, embedding_distances, path_distances
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GBMAPRegressor(n_components=4, knots=0, random_state=0).fit(X, y)
    >>> distances, bound = path_distances(model, X[:50], tol=1e-4, return_bound=True)
    >>> longest = embedding_distances(model, X[:50])
    >>> bool((distances <= longest).all()), bool((bound <= 1e-4 * longest).all())
    (True, True)
    """
    if not (isinstance(tol, Real) and tol >= _TOL_MIN):
        raise ValueError(f"tol must be a number of at least {_TOL_MIN:g}, got {tol!r}.")
    fitted, learners = _model_and_learners(model, output)
    if fitted.inputs.has_limits.any():
        distances, bound = _bent_paths(fitted, learners, X, Y, tol)
    else:
        distances, bound = _straight_paths(fitted, learners, X, Y, tol)
    return (distances, bound) if return_bound else distances


def _straight_paths(
    fitted: FittedModel, learners: Ensemble, X: Any, Y: Any, tol: float
) -> tuple[Array, Array]:
    """Return path distances and bounds where lines between rows are lines of the inputs too."""
    rows, n_jobs = fitted.read(X), fitted.model.n_jobs
    others = rows if Y is None else fitted.read(Y)
    z = fitted.map(learners.project, rows, len(learners))
    other_z = z if Y is None else fitted.map(learners.project, others, len(learners))
    phi = learners.embed_projected(z)
    other_phi = phi if Y is None else learners.embed_projected(other_z)
    longest = _manhattan(phi, other_phi, n_jobs)
    shortest = _manhattan(_sums(learners, phi), _sums(learners, other_phi), n_jobs)
    distances, bound = np.zeros((2, *longest.shape))
    if learners.activation == "softplus":  # else the path is straight, and the clip below does it all
        for k in np.unique(learners.outputs):
            mine = learners.outputs == k
            beta = learners.beta[mine]
            c = learners.signs[mine] / beta
            start = Points.of(z[:, mine] * beta, c)
            end = start if Y is None else Points.of(other_z[:, mine] * beta, c)
            of_output = longest if mine.all() else _manhattan(phi[:, mine], other_phi[:, mine], n_jobs)
            _add_paths(start, end, c, tol * of_output, distances, bound, n_jobs)
    np.clip(distances, shortest, longest, out=distances)
    np.minimum(bound, longest - distances, out=bound)
    return distances, bound


def _bent_paths(fitted: FittedModel, learners: Ensemble, X: Any, Y: Any, tol: float) -> tuple[Array, Array]:
    """Return path distances and bounds where projections bend along lines, pairs shared out over threads."""
    inputs = fitted.inputs
    rows = dense(fitted.read_given(X))
    others = rows if Y is None else dense(fitted.read_given(Y))
    distances, bound = np.zeros((2, len(rows), len(others)))
    most = (2 + n_breaks(inputs)) * max(len(inputs), len(learners))
    step = max(1, _CUT_NUMBERS_AT_A_TIME // most)

    def work(items: Iterator[int]) -> None:
        for item in items:
            pairs = np.arange(item * step, min((item + 1) * step, distances.size))
            i, j = np.divmod(pairs, len(others))
            if Y is None:
                i, j = i[i < j], j[i < j]
            lines = BentLines(inputs, rows[i], others[j])
            distances[i, j], bound[i, j] = _along(lines, learners, tol)
            if Y is None:
                distances[j, i], bound[j, i] = distances[i, j], bound[i, j]

    with ThreadTeam(effective_threads(fitted.model.n_jobs, distances.size * most)) as team:
        team.run(work, -(-distances.size // step))
    return distances, bound


def _along(lines: BentLines, learners: Ensemble, tol: float) -> tuple[Array, Array]:
    """Return the variation of h along lines, of all outputs, and how much more it may be."""
    n = len(lines.start)
    line, place = lines.cuts()
    z = learners.project(lines.at(line, place))
    phi = learners.embed_projected(z)
    first = np.flatnonzero(line[1:] == line[:-1])
    last, of = first + 1, line[first]
    distances, bound = np.zeros((2, n))
    for k in np.unique(learners.outputs):
        mine = learners.outputs == k
        h = phi[:, mine].sum(axis=1)
        # Coordinates turn round where a line bends, so that it may be longer than their distance.
        length = np.bincount(of, np.abs(phi[last][:, mine] - phi[first][:, mine]).sum(axis=1), n)
        least = np.bincount(of, np.abs(h[last] - h[first]), n)
        if learners.activation == "identity":
            distances += least
            continue
        beta = learners.beta[mine]
        c = learners.signs[mine] / beta
        points = Points.of(z[:, mine] * beta, c)
        value, more = variation(points, points, (first, last), c, tol * length, of)
        value = np.clip(value, least, np.maximum(least, length))
        distances += value
        bound += np.clip(length - value, 0.0, more)
    return distances, bound


def _manhattan(points: Array, others: Array, n_jobs: int | None) -> Array:
    """Return the Manhattan distances between points, rows shared out over threads."""
    distances = np.empty((len(points), len(others)))
    step = max(1, _NUMBERS_AT_A_TIME // max(1, len(others)))

    def work(items: Iterator[int]) -> None:
        for item in items:
            rows = slice(item * step, (item + 1) * step)
            cdist(points[rows], others, "cityblock", out=distances[rows])

    with ThreadTeam(effective_threads(n_jobs, distances.size * points.shape[1])) as team:
        team.run(work, -(-len(points) // step))
    return distances


def _add_paths(
    start: Points, end: Points, c: Array, allowance: Array, distances: Array, bound: Array, n_jobs: int | None
) -> None:
    """Add the variations of one output, pairs shared out over threads; half of them if both ends are one."""
    n, n_other = distances.shape
    step = max(1, _NUMBERS_AT_A_TIME // max(1, len(c)))

    def work(items: Iterator[int]) -> None:
        for item in items:
            i, j = np.divmod(np.arange(item * step, min((item + 1) * step, n * n_other)), n_other)
            if start is end:
                i, j = i[i < j], j[i < j]
            value, more = variation(start, end, (i, j), c, allowance[i, j])
            distances[i, j] += value
            bound[i, j] += more
            if start is end:
                distances[j, i] += value
                bound[j, i] += more

    with ThreadTeam(effective_threads(n_jobs, n * n_other * len(c))) as team:
        team.run(work, -(-n * n_other // step))


def _sums(learners: Ensemble, phi: Array) -> Array:
    """Return h of each output."""
    outputs = np.unique(learners.outputs)
    return np.column_stack([phi[:, learners.outputs == output].sum(axis=1) for output in outputs])


def _model_and_learners(model: Any, output: Any) -> tuple[FittedModel, Ensemble]:
    """Return the model asked about, and the learners of one output or of all."""
    fitted = FittedModel.of(model)
    if output is None:
        return fitted, fitted.ensemble
    return fitted, fitted.ensemble[fitted.ensemble.outputs == fitted.output_index(output)]
