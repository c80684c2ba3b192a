"""
One row explained
=================

Why does the model expect the disease of this patient to go on so fast? The answer is in closed form: nothing
is sampled, and no second model stands in for the first.
"""

# %%
# Ten measurements of 442 patients, and a measure of how far their diabetes went within a year.
import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes

from gbmap import GBMAPRegressor
from gbmap.inspection import attributions, nearest_counterfactual
from gbmap.plots import ExplanationDisplay, ImportanceDisplay

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X = X.rename(columns={"bp": "blood pressure", "s1": "cholesterol", "s2": "ldl", "s3": "hdl", "s4": "tch"})
X = X.rename(columns={"s5": "log triglycerides", "s6": "glucose"})
model = GBMAPRegressor(n_components=4, l2_regularization=0.5, random_state=0).fit(X, y)
row = int(model.predict(X).argmax())

# %%
# What sets this patient apart from the average one? Integrated gradients, averaged over all patients: the
# shares add up to the difference of the predictions.
ExplanationDisplay.from_estimator(model, X, row=row)
shares = attributions(model, X.iloc[[row]], X)
print(f"{shares.base_values[0]:.1f} on average {shares.values.sum():+.1f} = {model.predict(X)[row]:.1f}")

# %%
# What would change if the patient did, a little? The local linear model: coefficients per standard deviation.
ExplanationDisplay.from_estimator(model, X, row=row, kind="coefficients")

# %%
# And what is the smallest change that brings the prediction below 250, if age and sex stay as they are?
change = nearest_counterfactual(model, X.iloc[[row]], 250.0, immutable=["age", "sex"])
change.to_frame().round(2)

# %%
# Over all patients, the mean size of what a column adds tells how much the model listens to it.
ImportanceDisplay.from_estimator(model)

plt.show()
