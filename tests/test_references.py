"""What is told of simple models beside a GBMAP."""

import re

import numpy as np
import pytest
from sklearn.linear_model import RidgeCV

from gbmap._utils.references import fit_references, simpler_as_good


@pytest.mark.parametrize(
    ("own", "linear", "constant", "told"),
    [
        ({"r2": 0.5}, {"r2": 0.485}, {"r2": 0.0}, None),
        (
            {"r2": 0.5},
            {"r2": 0.495},
            {"r2": 0.0},
            "linear model does as well .* R2 is 0.495, 0.005 lower than",
        ),
        ({"r2": 0.5}, {"r2": 0.505}, {"r2": 0.0}, "linear model does as well .* R2 is 0.505, 0.005 higher"),
        ({"r2": 0.5}, {"r2": 0.50003}, {"r2": 0.0}, "R2 is 0.5, as that of the GBMAP"),
        ({"r2": 0.5}, {"r2": 0.52}, {"r2": 0.0}, "linear model does better .* R2 is 0.52, 0.02 higher"),
        ({"r2": 0.0}, {"r2": 0.3}, {"r2": 0.0}, "linear model does better"),
        ({"r2": 0.0}, {"r2": -0.2}, {"r2": -0.001}, "constant does as well .* say nothing about the target"),
        ({"r2": -0.3}, {"r2": 0.0}, {"r2": 0.0}, "constant does better"),
        (
            {"r2": 0.5, "mae": 3.0},
            {"r2": 0.6, "mae": 3.2},
            {"r2": 0.0, "mae": 9.0},
            "linear model does better",
        ),
        (
            {"accuracy": 0.9, "log_loss": 0.2},
            {"accuracy": 0.9, "log_loss": 0.204},
            {"accuracy": 0.5, "log_loss": 0.7},
            "linear model does as well .* log loss is 0.204, 0.004 higher",
        ),
        (
            {"accuracy": 0.9, "log_loss": 0.2},
            {"accuracy": 0.9, "log_loss": 0.21},
            {"accuracy": 0.5, "log_loss": 0.7},
            None,
        ),
        (
            {"accuracy": 0.9},
            {"accuracy": 0.9, "log_loss": 1},
            {"accuracy": 0.5},
            "as well .* accuracy is 0.9",
        ),
        ({"rmse": 1.0}, {"rmse": 0.5}, {"rmse": 2.0}, None),
        ({"r2": None}, {"r2": None}, {"r2": None}, None),
    ],
)
def test_a_simpler_model_is_told_of_if_it_explains_as_much_to_within_a_hundredth(own, linear, constant, told):
    found = simpler_as_good([own, linear, constant], "squared_error")
    assert (found is None) if told is None else re.search(told, found)


def test_models_of_another_loss_than_the_square_are_compared_by_the_absolute_error():
    own, linear, constant = {"r2": 0.5, "mae": 3.0}, {"r2": 0.6, "mae": 3.2}, {"r2": 0.0, "mae": 9.0}
    assert simpler_as_good([own, linear, constant], "quantile") is None
    assert "its MAE is 2.5, 0.5 lower" in simpler_as_good([own, {"mae": 2.5}, constant], "huber")
    assert simpler_as_good([{"mae": 0.0}] * 3, "huber") is None


def test_the_ridge_of_the_linear_model_is_chosen_by_leaving_one_out():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 60)), rng.normal(size=30)
    linear, _ = fit_references(X, y, is_classifier=False, max_iter=100)
    assert isinstance(linear[-1], RidgeCV)
    assert linear[-1].alpha_ > 100  # noise
    assert np.isfinite(fit_references(X[:1], y[:1], is_classifier=False, max_iter=100)[0].predict(X)).all()
