"""The paper's recipe, written from the paper, with the optimiser that it names. Runs alone, under JAX.

python -P recipe_jax.py FOLDER precompiled|user|plain M SEED

reads X.npy and y.npy (labels -1, +1) and prints one line of JSON: seconds, loss, passes, peer, extra. With
X' = (X, 1), stage j minimises over (a, w), for b = +1 and for b = -1 from the same start,

    mean_i log(1 + exp(-y_i (F_i + a + b g(x'_i.w)))) + lambda mean(w^2),   g(z) = log(1 + exp(beta z)) / beta

by jaxopt's L-BFGS from (a, w) ~ N(0, 1), keeps the sign with the smaller training loss without the ridge,
ties to +1, and adds its learner to F. All in float32.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import jaxopt
import numpy as np

BETA, LAMBDA, MAX_ITER, TOL = 1.0, 1e-3, 100, 1e-3

Params = dict[str, jax.Array]
Solve = Callable[[Params, jax.Array, jax.Array, jax.Array, float], tuple[Params, Any]]


def learner(params: Params, X: jax.Array, b: float) -> jax.Array:
    """f_j(x) = a + b g(x.w)."""
    return params["a"] + b * jax.nn.softplus(BETA * (X @ params["w"])) / BETA


def logistic_loss(y: jax.Array, score: jax.Array) -> jax.Array:
    """Mean over the rows."""
    return jnp.mean(jax.nn.softplus(-y * score))


def objective(params: Params, X: jax.Array, y: jax.Array, F: jax.Array, b: float) -> jax.Array:
    """Training loss with the new learner, and its ridge."""
    return logistic_loss(y, F + learner(params, X, b)) + LAMBDA * jnp.mean(params["w"] ** 2)


def solve(start: Params, X: jax.Array, y: jax.Array, F: jax.Array, b: float) -> tuple[Params, Any]:
    """One minimisation with a new solver: left to itself, jaxopt compiles each time."""
    params, state = jaxopt.LBFGS(objective, maxiter=MAX_ITER, tol=TOL).run(start, X, y, F, b)
    return params, state


def boost(solve: Solve, X: jax.Array, y: jax.Array, m: int, seed: int) -> tuple[jax.Array, int]:
    """The scores of the rows after m learners, and the number of evaluations of the objective."""
    key, F, evaluations = jax.random.key(seed), jnp.zeros_like(y), 0
    for _ in range(m):
        key, key_w, key_a = jax.random.split(key, 3)
        start = {"w": jax.random.normal(key_w, X.shape[1:]), "a": jax.random.normal(key_a)}
        tried = []
        for b in (1.0, -1.0):
            params, state = solve(start, X, y, F, b)
            f = learner(params, X, b)
            tried.append((float(logistic_loss(y, F + f)), f))
            evaluations += int(state.num_fun_eval)
        F = F + min(tried, key=lambda one: one[0])[1]
    return F.block_until_ready(), evaluations


def to_jax(X: np.ndarray, y: np.ndarray) -> tuple[jax.Array, jax.Array]:
    """The data with a last column of ones, in JAX."""
    with_ones = jnp.concatenate([jnp.asarray(X), jnp.ones((len(X), 1), X.dtype)], axis=1)
    return with_ones.block_until_ready(), jnp.asarray(y).block_until_ready()


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Wall-clock seconds of a call, and what it returned."""
    start = time.perf_counter()
    value = call()
    return time.perf_counter() - start, value


def main(folder: str, mode: str, m: int, seed: int) -> dict[str, Any]:
    """Measure one fit."""
    X, y = np.load(Path(folder, "X.npy")), np.load(Path(folder, "y.npy"))
    jnp.zeros(1).block_until_ready()  # starts the backend, which no fit should pay for
    extra = {}
    if mode == "precompiled":
        compiled, data = jax.jit(solve), to_jax(X, y)
        extra["first_fit_seconds"], _ = timed(lambda: boost(compiled, *data, m, seed))
        seconds, (F, evaluations) = timed(lambda: boost(compiled, *data, m, seed))
    else:
        solver = jax.jit(solve) if mode == "user" else solve
        seconds, (F, evaluations) = timed(lambda: boost(solver, *to_jax(X, y), m, seed))
    loss = np.logaddexp(0.0, -y.astype(np.float64) * np.asarray(F, np.float64)).mean()
    peer = f"jax {version('jax')}, jaxopt {version('jaxopt')}"
    return {"seconds": seconds, "loss": float(loss), "passes": evaluations, "peer": peer, "extra": extra}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))))
