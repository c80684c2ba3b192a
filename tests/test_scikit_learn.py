"""The estimators keep scikit-learn's promises."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from gbmap import GBMAPClassifier, GBMAPClassifierCV, GBMAPRegressor, GBMAPRegressorCV

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
    GBMAPRegressorCV(4, betas=[5.0], l2_regularizations=[1e-3], cv=2),
    GBMAPClassifierCV(4, betas=[5.0], l2_regularizations=[1e-3], cv=2),
]


@parametrize_with_checks(ESTIMATORS)
def test_estimator_check(estimator, check):
    check(estimator)
