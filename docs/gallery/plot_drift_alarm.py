"""
An alarm with reasons
=====================

A model learned from one kind of patients and is used on another. Which predictions should not be trusted, how
wrong will they be, and which columns are to blame? No labels are needed to ask.
"""

# %%
# The size of the largest cells of a tumour, by ten measurements of its average cells. The model only knows
# tumours whose cells are rounder than the median, and most of these are benign. A third of them are kept out
# of the fit, to learn what is usual.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from gbmap import DriftDetector, GBMAPRegressor
from gbmap.plots import DriftDisplay

data = load_breast_cancer(as_frame=True).data
X, y = data.filter(regex="^mean").rename(columns=lambda name: name.removeprefix("mean ")), data["worst area"]
is_round = X["concave points"] <= X["concave points"].median()
X_new, y_new = X[~is_round], y[~is_round]
X_train, X_test, y_train, y_test = train_test_split(X[is_round], y[is_round], test_size=1 / 3, random_state=0)

model = GBMAPRegressor(n_components=5, l2_regularization=0.1, random_state=0).fit(X_train, y_train)
detector = DriftDetector(model).fit(X_train, y_train, X_cal=X_test, y_cal=y_test)
alarms, alarms_new = (np.mean(detector.predict(each) == -1) for each in (X_test, X_new))
print(f"alarms: {alarms:.0%} of the tumours of the same kind, {alarms_new:.0%} of the others")

# %%
# Do alarms come where errors are? Here the labels are known after all. Each point is a tumour: to the right
# the indicator, upwards the squared error.
display = DriftDisplay.from_estimator(detector, X_test, y_test, X_new, y_new)

# %%
# As a classifier of large errors, over all levels of alarm:
display.plot_roc()

# %%
# The batch as a whole: by how much has the mean prediction moved, and through which columns?
drift = detector.assess(X_new)
print(f"the mean prediction moved by {drift.shift:+.0f}, p = {drift.p_value:.1g}")
drift.plot()

# %%
# One tumour, the one with the loudest alarm: what the model adds because it leaves the data, column by
# column.
loudest = int(detector.indicator(X_new).argmax())
detector.explain(X_new).plot(loudest)

# %%
# The loss to expect, estimated without labels, against what it turned out to be:
usual, true = (np.mean((model.predict(a) - b) ** 2) for a, b in ((X_test, y_test), (X_new, y_new)))
expected = detector.estimate_loss(X_new).mean
print(f"mean squared error on the same kind: {usual:.0f}")
print(f"on the others: {expected:.0f} expected, {true:.0f} in truth")

plt.show()
