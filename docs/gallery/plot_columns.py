"""
Columns as they are
===================

Numbers may bend, text is a category and what is missing has an effect: a frame goes into the fit as it is,
and the curve of each column can be looked at.
"""

# %%
# Diabetes patients, with sex as text. A fifth of the blood pressures has been lost, more often those of
# patients who fared well.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from gbmap import GBMAPRegressor
from gbmap.inspection import column_curve
from gbmap.plots import ColumnCurveDisplay

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X["sex"] = np.where(X["sex"] == 1, "first", "second")
lost = np.random.default_rng(0).random(len(X)) < np.where(y < y.median(), 0.35, 0.05)
X.loc[lost, "bp"] = np.nan
model = GBMAPRegressor(random_state=0).fit(X, y)
print(f"{lost.mean():.0%} of the blood pressures are missing, R2 on these rows {model.score(X, y):.2f}")

# %%
# The prediction with one column at one value or another, and all else as it is: on average, and for twenty
# rows, shifted to the average. Below, how the values are spread, and ticks where a curve may bend. The dashed
# line is the prediction where the blood pressure is missing.
figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained", sharey=True)
for ax, feature in zip(axes, ["bmi", "bp"]):
    ColumnCurveDisplay.from_estimator(model, X, feature, ax=ax)

# %%
# A category has a bar, with the share of the rows that have it.
ColumnCurveDisplay.from_estimator(model, X, "sex")
curve = column_curve(model, X, "bp")
print(f"a missing blood pressure moves the prediction by {curve.missing:.0f}")

plt.show()
