"""Tables for examples: they can be drawn again, and what is said to change does."""

import numpy as np
import pytest

from gbmap.datasets import make_table

NAMES = ("credit", "churn", "sensors")


@pytest.mark.parametrize("name", NAMES)
def test_a_seed_draws_the_same_table_and_another_one_does_not(name):
    (X, y), (again, y_again), (other, _) = (make_table(name, 50, random_state=seed) for seed in (0, 0, 1))
    assert X.equals(again)
    assert (y == y_again).all()
    assert not X.equals(other)


@pytest.mark.parametrize(
    ("name", "column"),
    [("credit", "income"), ("sensors", "temperature")],
)
def test_a_changed_world_moves_the_column_that_it_is_said_to(name, column):
    before, after = (make_table(name, 800, changed=changed, random_state=0)[0] for changed in (False, True))
    assert abs(after[column].mean() - before[column].mean()) > 0.5 * before[column].std()
    assert list(before.columns) == list(after.columns)


def test_churn_has_a_plan_that_is_new_and_credit_has_gaps():
    assert set(make_table("churn", 500, changed=True, random_state=0)[0]["plan"]) >= {"cheap"}
    assert "cheap" not in set(make_table("churn", 500, random_state=0)[0]["plan"])
    assert 0.02 < np.isnan(make_table("credit", 500, random_state=0)[0]["income"]).mean() < 0.3


def test_an_unknown_table_is_named_with_those_that_there_are():
    with pytest.raises(ValueError, match=r"name must be one of 'credit', .*, got 'loans'"):
        make_table("loans")
