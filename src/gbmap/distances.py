"""Distances that ignore what does not matter for y: by the embedding, and along the straight path."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from gbmap._core.ensemble import Ensemble
from gbmap._core.path import variation
from gbmap._rows.threads import ThreadTeam, effective_threads
from gbmap._subject import Subject

Array = NDArray[Any]

_NUMBERS_AT_A_TIME = 1 << 17  # pairs times learners, or rows: their work arrays stay in the cache
_TOL_MIN = 1e-9  # below it, rounding decides


def embedding_distances(model: Any, X: Any, Y: Any = None, *, output: Any = None) -> Array:
    """Return the embedding distances between rows, |phi(x) - phi(y)|_1, in the units of y.

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
    path_distances : A smaller distance, which costs more.

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
    subject, learners = _subject_and_learners(model, output)
    phi = subject.map(learners.embed, subject.read(X), len(learners))
    other = phi if Y is None else subject.map(learners.embed, subject.read(Y), len(learners))
    return _manhattan(phi, other, subject.model.n_jobs)


def path_distances(
    model: Any, X: Any, Y: Any = None, tol: float = 1e-3, return_bound: bool = False, *, output: Any = None
) -> Any:
    """Return the path distances between rows: how much h = f - f_0 varies on the straight line between them.

    Parameters
    ----------
    model : GBMAPRegressor, GBMAPClassifier, or a pipeline or search that ends in one
        Fitted. Through a pipeline the line is straight in the inputs of the GBMAP.
    X : array-like or sparse matrix of shape (n, p)
    Y : array-like or sparse matrix of shape (n', p), default=None
        None is X itself.
    tol : float, default=1e-3
        The result is below the true distance by at most ``tol`` times the embedding distance.
    return_bound : bool, default=False
        Whether to return, for each pair, the most that the result may be too small.
    output : default=None
        The class, or the number of the target, whose path counts; None adds up all.

    Returns
    -------
    distances : array of shape (n, n')
        Between the difference of the predictions (less those of ``init``) and the embedding
        distance.
    bound : array of shape (n, n')
        Only if ``return_bound``: ``distances <= true distances <= distances + bound``, to rounding.

    See Also
    --------
    embedding_distances : An upper bound, a hundred times cheaper.

    Notes
    -----
    The slope of h along a line is the sum of a rising and a falling function, so its values at the
    ends of a piece bound it between them; pieces on which its sign is open are halved.

    Examples
    --------
    >>> from gbmap import GBMAPRegressor, embedding_distances, path_distances
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GBMAPRegressor(n_components=4, random_state=0).fit(X, y)
    >>> distances, bound = path_distances(model, X[:50], tol=1e-4, return_bound=True)
    >>> longest = embedding_distances(model, X[:50])
    >>> bool((distances <= longest).all()), bool((bound <= 1e-4 * longest).all())
    (True, True)
    """
    if not (isinstance(tol, Real) and tol >= _TOL_MIN):
        raise ValueError(f"tol must be a number of at least {_TOL_MIN:g}, got {tol!r}.")
    subject, learners = _subject_and_learners(model, output)
    rows, n_jobs = subject.read(X), subject.model.n_jobs
    others = rows if Y is None else subject.read(Y)
    distances, bound = np.zeros((2, rows.shape[0], others.shape[0]))
    if learners.activation == "softplus":  # else the path is straight, and the clip below does it all
        for mine in _by_output(learners):
            t = _activations(subject, mine, rows)
            other = t if Y is None else _activations(subject, mine, others)
            _add_paths(t, other, mine.signs / mine.beta, tol, distances, bound, n_jobs)
    h, other_h = (_scores(subject, learners, each) for each in (rows, others))
    phi, other_phi = (subject.map(learners.embed, each, len(learners)) for each in (rows, others))
    longest = _manhattan(phi, other_phi, n_jobs)
    np.clip(distances, _manhattan(h, other_h, n_jobs), longest, out=distances)
    np.minimum(bound, longest - distances, out=bound)
    return (distances, bound) if return_bound else distances


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
    t: Array, other: Array, c: Array, tol: float, distances: Array, bound: Array, n_jobs: int | None
) -> None:
    """Add the variations of one output, pairs shared out over threads; the half of them if t is other."""
    n, n_other = distances.shape
    step = max(1, _NUMBERS_AT_A_TIME // max(1, t.shape[1]))

    def work(items: Iterator[int]) -> None:
        for item in items:
            pairs = np.arange(item * step, min((item + 1) * step, n * n_other))
            i, j = np.divmod(pairs, n_other)
            if t is other:
                i, j = i[i < j], j[i < j]
            value, more = variation(t[i], other[j], c, tol)
            distances[i, j] += value
            bound[i, j] += more
            if t is other:
                distances[j, i] += value
                bound[j, i] += more

    with ThreadTeam(effective_threads(n_jobs, n * n_other * t.shape[1])) as team:
        team.run(work, -(-n * n_other // step))


def _activations(subject: Subject, learners: Ensemble, rows: Any) -> Array:
    """Return beta_j z_j."""
    return subject.map(lambda block: learners.project(block) * learners.beta, rows, len(learners))


def _scores(subject: Subject, learners: Ensemble, rows: Any) -> Array:
    """Return h of each output."""
    parts = list(_by_output(learners))
    return subject.map(
        lambda block: np.column_stack([part.embed(block).sum(axis=1) for part in parts]), rows, len(parts)
    )


def _by_output(learners: Ensemble) -> Iterator[Ensemble]:
    return (learners[learners.outputs == output] for output in np.unique(learners.outputs))


def _subject_and_learners(model: Any, output: Any) -> tuple[Subject, Ensemble]:
    """Return the model asked about, and the learners of one output or of all."""
    subject = Subject.of(model)
    if output is None:
        return subject, subject.ensemble
    return subject, subject.ensemble[subject.ensemble.outputs == subject.output_index(output)]
