"""The table of the demonstration: its formula, its noise, its changes."""

import numpy as np
import pandas as pd
import pytest

from gbmap.datasets import make_demand


def test_the_columns_are_what_they_say():
    X, y = make_demand(20_000, random_state=0)
    assert set(X["hour"]) == set(range(24))
    assert X["day"].value_counts(normalize=True).to_dict() == pytest.approx(
        {"working day": 261 / 365, "Saturday": 52 / 365, "Sunday": 52 / 365}, abs=0.01
    )
    assert X["temperature"].mean() == pytest.approx(10, abs=0.2)
    assert X["clouds"].between(0, 100).all()
    assert (X["wind"] >= 0).all()
    assert y.name == "demand"
    pd.testing.assert_frame_equal(X, make_demand(20_000, random_state=0)[0])


def test_cold_and_heat_cost_and_wind_matters_in_the_cold():
    X, y = make_demand(60_000, random_state=1)
    noon = X["hour"].between(11, 14) & (X["day"] == "working day")

    def slope(column, rows):
        return np.polyfit(X[column][rows], y[rows], 1)[0]

    assert slope("temperature", noon & (X["temperature"] < 12)) < -0.5
    assert abs(slope("temperature", noon & X["temperature"].between(17, 22))) < 0.15
    assert slope("temperature", noon & (X["temperature"] > 25)) == pytest.approx(
        1.56, abs=0.25
    )  # less the lamps of summer
    night = X["hour"].between(1, 5)
    assert slope("wind", night & (X["temperature"] < 0)) > 0.3
    assert abs(slope("wind", night & X["temperature"].between(17, 22))) < 0.05


def test_a_warmer_year_is_the_same_but_for_its_temperatures():
    X, y = make_demand(500, random_state=3)
    X_warmer, y_warmer = make_demand(500, warmer=5, random_state=3)
    np.testing.assert_allclose(X_warmer["temperature"], X["temperature"] + 5, atol=0.051)
    pd.testing.assert_frame_equal(X.drop(columns="temperature"), X_warmer.drop(columns="temperature"))
    mild = X["temperature"].between(16.1, 17.9)  # neither heated nor cooled, before and after
    np.testing.assert_allclose(y[mild], y_warmer[mild], atol=1e-9)


@pytest.mark.parametrize("given", [{"n_samples": 0}, {"n_samples": 2.5}, {"warmer": np.inf}])
def test_what_is_not_possible_is_refused(given):
    with pytest.raises(ValueError, match=f"{next(iter(given))} must be"):
        make_demand(**given)
