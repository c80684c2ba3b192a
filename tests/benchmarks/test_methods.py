"""Adapters of gbmap: what an experiment is given is what gbmap did."""

from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import environment
from benchmarks.data import Data, Split, mean_loss
from benchmarks.methods.chosen import ChosenPredictor, RefinedFeatures
from benchmarks.methods.linear import read_out
from benchmarks.methods.starts import Starts, constant_loss


def bent(task, n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    f = np.abs(X[:, 0]) - 0.8 + 0.1 * rng.standard_normal(n)
    return Data(X, f if task == "regression" else np.where(f > 0, 1, -1), task)


def test_a_fit_that_chooses_by_itself_tells_what_it_chose_and_scores_with_it():
    method, data = ChosenPredictor(name="gbmap-refined", refine=True), bent("regression", n=60)
    assert not method.space(data)
    model = method.train(data, {}, seed=0)
    told, scores = method.told(model), method.path(model, data.X)
    assert list(scores) == [told["size"]]
    np.testing.assert_allclose(scores[told["size"]], model.transform(data.X).sum(axis=1), atol=1e-8)
    assert {"beta": told["beta"], "l2_regularization": "auto"} in model.candidates_
    assert told["l2_regularization"] == model.l2_regularization_


def test_refined_coordinates_are_at_most_as_many_as_asked_for_and_follow_the_bend():
    split = Split(bent("regression"), bent("regression", seed=1))
    for m, found in zip((1, 2), RefinedFeatures().embed(split, (1, 2), seed=0)):
        assert found.m == m
        assert 1 <= found.train.shape[1] == found.test.shape[1] <= m
    known = Data(found.train, split.train.y, "regression")
    new = Data(found.test, split.test.y, "regression")
    assert read_out(known, new) > 0.9 > 0.1 > read_out(split.train, split.test)


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_starts_keep_a_time_and_a_loss_for_every_learner(task):
    data = bent(task)
    result = Starts(n_init=2, m=3).fit(data, seed=0, threads=1)
    seconds, shares = result.extra["cpu_seconds"], result.extra["shares"]
    assert len(seconds) == len(shares) == 3
    assert seconds == sorted(seconds)
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] * constant_loss(data) == pytest.approx(result.loss, rel=1e-4)


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_no_constant_has_a_lower_loss_than_the_best_one(task):
    data = bent(task)
    losses = [mean_loss(task, data.y, np.full(len(data.y), one)) for one in np.linspace(-2, 2, 2001)]
    assert min(losses) == pytest.approx(constant_loss(data), abs=1e-5)


@pytest.mark.parametrize(("system", "unit"), [("linux", 1024), ("darwin", 1)])
def test_the_peak_of_memory_is_told_in_bytes_on_every_system(monkeypatch, system, unit):
    monkeypatch.setattr(environment.sys, "platform", system)
    monkeypatch.setattr(environment.resource, "getrusage", lambda _: SimpleNamespace(ru_maxrss=7))
    assert environment.peak_bytes() == 7 * unit
