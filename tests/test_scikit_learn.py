"""The estimators keep scikit-learn's promises."""

import re

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from gbmap import GBMAPClassifier, GBMAPClassifierCV, GBMAPRegressor, GBMAPRegressorCV

SEARCHES = [
    GBMAPRegressorCV(1, betas=[5.0], l2_regularizations=[1e-3], cv=2),
    GBMAPClassifierCV(1, betas=[5.0], l2_regularizations=[1e-3], cv=2),
]
VARIANTS = [
    GBMAPRegressor(1, loss="huber"),
    GBMAPRegressor(1, loss="quantile"),
    GBMAPRegressor(1, activation="identity"),
    GBMAPRegressor(1, standardize=False),
    GBMAPClassifier(1, loss="exponential"),
    GBMAPClassifier(1, loss="hinge"),
    GBMAPClassifier(1, standardize=False),
]
# They fit a model for every format of sparse rows, which are read before any setting counts.
OF_FORMATS = {"check_estimator_sparse_array", "check_estimator_sparse_matrix"}
OF_WEIGHTS = {f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")}


def checks_of(estimators, are_for_every_run):
    """Return the checks of estimators; those that are not for every run are for the night.

    The function is given the name of a check, and the sum of the positions of the estimator and of the check.
    """
    return [
        pytest.param(
            estimator,
            check,
            marks=[] if are_for_every_run(check.func.__name__, nth + position) else [pytest.mark.nightly],
            id=re.sub(r"\s", "", f"{estimator}-{check.func.__name__}"),
        )
        for nth, each in enumerate(estimators)
        for position, (estimator, check) in enumerate(estimator_checks_generator(each))
    ]


@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        *checks_of([GBMAPRegressor(2)], lambda name, place: name != "check_estimator_sparse_matrix"),
        *checks_of([GBMAPClassifier(2)], lambda name, place: name not in OF_FORMATS),
    ],
)
def test_estimator_check(estimator, check):
    check(estimator)


# Every third check is made of one of the two searches, which differ in the model that they fit.
@pytest.mark.parametrize(
    ("estimator", "check"),
    checks_of(SEARCHES, lambda name, place: name not in OF_FORMATS and place % 6 == 0),
)
def test_estimator_check_of_searches(estimator, check):
    check(estimator)


# Every other check is made of one variant.
@pytest.mark.parametrize(
    ("estimator", "check"),
    checks_of(VARIANTS, lambda name, place: name not in OF_FORMATS and place % (2 * len(VARIANTS)) == 0),
)
def test_estimator_check_of_other_settings(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("estimator", "check"),
    checks_of(
        [GBMAPRegressor(), GBMAPClassifier()], lambda name, place: name in OF_WEIGHTS and place % 2 == 0
    ),
)
def test_estimator_check_of_the_default_settings(estimator, check):
    check(estimator)
