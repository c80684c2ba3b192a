"""What tells one value from another: content, whatever the process, and nothing else."""

import functools
import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
import scipy.sparse
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gbmap import losses
from gbmap.estimators.identity import UnknownContentError, digest_of

X = np.random.RandomState(0).normal(size=(40, 3))
y = X[:, 0] ** 2
WEIGHTS = np.arange(3.0)


def scaled(rows, factor=1.0):
    return factor * (rows @ WEIGHTS)


def times(factor):
    return lambda rows: rows[:, 0] * factor


class Scaler:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, rows):
        return rows[:, 0] * self.factor

    def other(self, rows):
        return rows[:, 1] * self.factor


def own_loss(power):
    class Own(losses.Loss):
        degree = power

        def value(self, y, f):
            return abs(y - f) ** power

        def gradient(self, y, f):
            return power * (f - y)

    return Own()


def frozen(model, target=y):
    return FrozenEstimator(model.fit(X, target))


DIFFERENT = {
    "numbers": (1, 2),
    "a number and a text": (1, "1"),
    "lists": ([[1], 2], [1, [2]]),
    "arrays": (X, X + 1e-15),
    "arrays of another shape": (np.zeros(4), np.zeros((2, 2))),
    "arrays of objects": (np.array(["a", 1], dtype=object), np.array(["a", "1"], dtype=object)),
    "long arrays": (np.zeros(5000), np.eye(1, 5000, 2500)[0]),
    "sparse arrays": (scipy.sparse.csr_array(X), scipy.sparse.csr_array(X[:, ::-1])),
    "lambdas": (lambda rows: rows[:, 0], lambda rows: rows[:, 1]),
    "constants of lambdas": (lambda rows: rows * 2, lambda rows: rows * 3),
    "closures": (times(1), times(2)),
    "closed over arrays": (times(X), times(-X)),
    "partials": (functools.partial(scaled, factor=1), functools.partial(scaled, factor=2)),
    "partials of others": (functools.partial(scaled), functools.partial(times)),
    "objects": (Scaler(1), Scaler(2)),
    "methods": (Scaler(1).__call__, Scaler(1).other),
    "methods of others": (Scaler(1).other, Scaler(2).other),
    "functions of NumPy": (np.abs, np.exp),
    "losses": (own_loss(2), own_loss(4)),
    "losses of ours": (losses.Huber(1.0), losses.Huber(2.0)),
    "parameters": (Ridge(1.0), Ridge(2.0)),
    "parameters of a step": (
        make_pipeline(StandardScaler(), Ridge(1)),
        make_pipeline(StandardScaler(), Ridge(2)),
    ),
    "frozen models": (frozen(LinearRegression()), frozen(LinearRegression(), -y)),
    "frozen forests": (
        frozen(RandomForestRegressor(2, random_state=0)),
        frozen(RandomForestRegressor(2, random_state=1)),
    ),
    "frozen models in a pipeline": (
        make_pipeline(StandardScaler(), frozen(Ridge())),
        make_pipeline(StandardScaler(), frozen(Ridge(), -y)),
    ),
    "random states": (np.random.RandomState(0), np.random.RandomState(1)),
}  # fmt: skip


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_differs_is_told_apart(name):
    one, other = DIFFERENT[name]
    assert digest_of(one) != digest_of(other)


SAME = {
    "arrays in another order of memory": (X, np.asfortranarray(X)),
    "dicts in another order": ({"a": 1, "b": [2]}, {"b": [2], "a": 1}),
    "lambdas of the same code": (times(2), times(2)),
    "objects of the same content": (Scaler(X), Scaler(X.copy())),
    "an estimator that would be cloned, fitted or not": (Ridge(), Ridge().fit(X, y)),
    "models frozen alike": (
        frozen(HistGradientBoostingRegressor(max_iter=2, random_state=0)),
        frozen(HistGradientBoostingRegressor(max_iter=2, random_state=0)),
    ),
    "random states of the same seed": (np.random.RandomState(3), np.random.RandomState(3)),
}


@pytest.mark.parametrize("name", SAME)
def test_what_is_the_same_is_not(name):
    one, other = SAME[name]
    assert digest_of(one) == digest_of(other)


def test_a_function_counts_with_what_it_uses(monkeypatch):
    before = digest_of(scaled)
    monkeypatch.setitem(globals(), "WEIGHTS", -WEIGHTS)
    assert digest_of(scaled) != before


def test_what_holds_itself_has_an_identity():
    loop = Scaler(1)
    loop.factor = [loop]
    other = Scaler(1)
    other.factor = [other, other]
    assert digest_of(loop) != digest_of(other)


def test_a_long_chain_takes_no_longer_than_it_is():
    shared = Scaler(1)
    for _ in range(60):
        shared = Scaler((shared, shared))
    assert len(digest_of(shared)) == 32


@pytest.mark.parametrize("value", [threading.Lock(), (each for each in [1]), sys.stdout], ids=type)
def test_what_has_no_content_is_refused(value):
    with pytest.raises(UnknownContentError):
        digest_of(Scaler(value))


SCRIPT = textwrap.dedent("""
    import numpy as np
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.frozen import FrozenEstimator
    from gbmap import GBMAPRegressor
    from gbmap.estimators.identity import digest_of
    X = np.random.RandomState(0).normal(size=(30, 3))
    class Own:
        names = frozenset("abcdefg")
        def __init__(self):
            self.kept = {"one", "two", "three", "four", object}
        def __call__(self, X):
            return len({"x", "y", "z"} & self.names)
    values = [Own(), Own().__call__, lambda X: X in {"a", "b", "c", "d"}, {1, "a", None, (2, "b")}]
    models = [RandomForestRegressor(3, random_state=0), GBMAPRegressor(1, random_state=0)]
    print([digest_of(each).hex() for each in (values, [FrozenEstimator(m.fit(X, X[:, 0])) for m in models])])
""")


@pytest.mark.nightly
def test_the_same_in_every_process(capsys):
    command, environment = [sys.executable, "-c", SCRIPT], os.environ | {"PYTHONHASHSEED": "0"}
    there = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    exec(SCRIPT, {"__name__": "__main__"})  # in a process whose sets have an order of their own
    assert capsys.readouterr().out == there != ""
