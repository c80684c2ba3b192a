"""The paper's synthetic data."""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.special import expit

from gbmap.datasets._random import RandomState, seed_sequence

# Numbers drawn at a time (8 MB): small beside any X that needs blocks, large beside the cost of a call.
_BLOCK = 1 << 20


def make_synth_cos(
    n_samples: int = 200_000,
    n_features: int = 200,
    *,
    task: Literal["regression", "classification"] = "regression",
    alpha: float = 5.0,
    rotate: bool = False,
    dtype: DTypeLike = np.float64,
    random_state: RandomState = None,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Make the paper's synth-cos data: a sum of cosines, one per feature.

    The rows of ``X`` are standard normal, ``u`` is a random unit vector and the score is
    ``alpha * cos(X) @ u``, shifted to mean zero.

    Parameters
    ----------
    n_samples : int, default=200_000
        Number of rows.
    n_features : int, default=200
        Number of columns. No column of ones is added.
    task : {"regression", "classification"}, default="regression"
        Whether `y` is the score, or a label that is +1 with probability ``1 / (1 + exp(-score))``.
    alpha : float, default=5.0
        Norm of the coefficients of the cosines.
    rotate : bool, default=False
        Whether to multiply `X` by a random orthogonal matrix once `y` is made. The target is then no longer
        a sum of functions of single columns, which is hard for trees and changes nothing for GBMAP.
    dtype : {float64, float32}, default=float64
        Type of `X`. All numbers are drawn as float64, block by block, and rounded: `y` is the same for both.
    random_state : int, RandomState, Generator, SeedSequence or None, default=None
        Seed. None takes fresh entropy; NumPy's global state is never used.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The features.
    y : ndarray of shape (n_samples,)
        The centred score (float64), or the labels -1 and +1 (int64).

    Notes
    -----
    The unit vector, the rows, the labels and the rotation draw from streams of their own. So with one seed
    the two tasks share `X`, the rotated data are ``X @ Q`` with the same `y`, and more samples add rows.

    Examples
    --------
    >>> from gbmap.datasets import make_synth_cos
    >>> X, y = make_synth_cos(1000, 5, task="classification", random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((1000, 5), [-1, 1])
    """
    n, p = check_count("n_samples", n_samples), check_count("n_features", n_features)
    if task not in ("regression", "classification"):
        raise ValueError(f"task must be 'regression' or 'classification', got {task!r}.")
    if not math.isfinite(alpha):
        raise ValueError(f"alpha must be a finite number, got {alpha!r}.")
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, got {np.dtype(dtype).name!r}.")

    direction, rows, labels, rotation = map(np.random.default_rng, seed_sequence(random_state).spawn(4))
    u = _unit_vector(p, direction)
    Q = _orthogonal_matrix(p, rotation) if rotate else None
    X = np.empty((n, p), dtype=dtype)
    score = np.empty(n)
    step = max(1, _BLOCK // p)
    for start in range(0, n, step):
        part = slice(start, min(start + step, n))
        block = rows.standard_normal((part.stop - start, p))
        score[part] = np.cos(block) @ u
        X[part] = block if Q is None else block @ Q
    score *= alpha
    score -= score.mean()
    if task == "regression":
        return X, score
    return X, np.where(labels.random(n) < expit(score), 1, -1)


def make_clusters(random_state: RandomState = None) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Make the three clusters of the paper's Appendix F.

    All 3000 rows are standard normal in 8 dimensions, apart from a shift by 4: in dimensions 1 to 4 for
    cluster "a", in dimensions 5 to 8 for cluster "b1", nowhere for "b2". The target is ``cos(X) @ u`` with a
    random unit vector ``u`` that is zero in dimensions 5 to 8. So "b1" and "b2" differ only where the target
    does not look.

    Parameters
    ----------
    random_state : int, RandomState, Generator, SeedSequence or None, default=None
        Seed. None takes fresh entropy; NumPy's global state is never used.

    Returns
    -------
    X : ndarray of shape (3000, 8)
        The features.
    y : ndarray of shape (3000,)
        The target, not centred.
    labels : ndarray of shape (3000,)
        The clusters "a", "b1", "b2", a thousand rows each, in this order.

    Examples
    --------
    >>> from gbmap.datasets import make_clusters
    >>> X, y, labels = make_clusters(random_state=0)
    >>> X[labels == "a"].mean(axis=0).round().astype(int).tolist()
    [4, 4, 4, 4, 0, 0, 0, 0]
    """
    direction, rows = map(np.random.default_rng, seed_sequence(random_state).spawn(2))
    X = rows.standard_normal((3000, 8))
    X[:1000, :4] += 4.0
    X[1000:2000, 4:] += 4.0
    y = np.cos(X[:, :4]) @ _unit_vector(4, direction)
    return X, y, np.repeat(["a", "b1", "b2"], 1000)


def _unit_vector(p: int, rng: np.random.Generator) -> NDArray[np.float64]:
    u = rng.standard_normal(p)
    return u / np.linalg.norm(u)


def _orthogonal_matrix(p: int, rng: np.random.Generator) -> NDArray[np.float64]:
    q, r = np.linalg.qr(rng.standard_normal((p, p)))
    # QR alone leaves the signs of the columns to LAPACK; those of diag(r) make q uniform over all rotations.
    return np.asarray(q * np.sign(np.diag(r)), dtype=np.float64)


def check_count(name: str, value: int) -> int:
    """Return how many to draw, or an error that names the argument."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be an integer of at least 1, got {value!r}.")
    return int(value)
