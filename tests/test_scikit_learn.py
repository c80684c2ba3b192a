"""The estimators keep scikit-learn's promises."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from gbmap import GBMAPClassifier, GBMAPClassifierCV, GBMAPRegressor, GBMAPRegressorCV

ESTIMATORS = [
    GBMAPRegressor(),
    GBMAPRegressor(5, loss="huber"),
    GBMAPRegressor(5, loss="quantile"),
    GBMAPRegressor(5, activation="identity"),
    GBMAPRegressor(5, standardize=False),
    GBMAPClassifier(),
    GBMAPClassifier(5, loss="exponential"),
    GBMAPClassifier(5, loss="hinge"),
    GBMAPClassifier(5, standardize=False),
    GBMAPRegressorCV(4, betas=[5.0], l2_regularizations=[1e-3], cv=2),
    GBMAPClassifierCV(4, betas=[5.0], l2_regularizations=[1e-3], cv=2),
]


@parametrize_with_checks(ESTIMATORS)
def test_estimator_check(estimator, check):
    check(estimator)
