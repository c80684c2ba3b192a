"""The estimators keep scikit-learn's promises."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from gbmap import GBMAPClassifier, GBMAPRegressor

ESTIMATORS = [
    GBMAPRegressor(),
    GBMAPRegressor(loss="huber"),
    GBMAPRegressor(loss="quantile"),
    GBMAPRegressor(activation="identity"),
    GBMAPRegressor(refine=False, standardize=False),
    GBMAPClassifier(),
    GBMAPClassifier(loss="exponential"),
    GBMAPClassifier(loss="hinge"),
    GBMAPClassifier(refine=False, standardize=False),
]


@parametrize_with_checks(ESTIMATORS)
def test_estimator_check(estimator, check):
    check(estimator)
