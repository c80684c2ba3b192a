"""
Hourly demand: curves, intervals, a summer as there was none
============================================================

The electricity that a town needs from hour to hour. How does the day go, how far off may a forecast be, and
does the model hold in a hotter summer?
"""

# %%
# Hours of a year, with the kind of day as text. What the noise of this table allows is an error of 1.2 MW.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from gbmap import DriftDetector, GBMAPRegressor
from gbmap.datasets import make_demand
from gbmap.plots import ColumnCurveDisplay

X, y = make_demand(3000, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = GBMAPRegressor(40, random_state=0).fit(X_train, y_train)
error = np.sqrt(np.mean((y_test - model.predict(X_test)) ** 2))
print(f"RMSE on held-out hours {error:.1f} MW, of the mean {y_test.std():.1f} MW")

# %%
# *Look first at* the curves: the course of the day, heating below 16 degrees and cooling above 23.
# Single rows beside the average show where a column counts for more in some hours than in others.
figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
for ax, column in zip(axes, ["hour", "temperature", "day"]):
    ColumnCurveDisplay.from_estimator(model, X_train, column, ax=ax)

# %%
# Forecasts with their 90 % intervals, and what came: the hours in order of their forecast.
mean, std = model.predict(X_test, return_std=True)
inside = np.mean(np.abs(y_test - mean) < 1.64 * std)
order = np.argsort(mean)[::8]
place = np.arange(len(order))
figure, ax = plt.subplots(figsize=(9, 3.4), layout="constrained")
ax.fill_between(place, (mean - 1.64 * std)[order], (mean + 1.64 * std)[order], alpha=0.3, linewidth=0)
ax.plot(place, mean[order], label="forecast")
ax.scatter(place, y_test.to_numpy()[order], s=9, color="black", label="what came")
ax.set(xlabel="hours, by their forecast", ylabel="MW")
ax.legend()
print(f"inside their interval: {inside:.0%} of {len(mean)} hours")

# %%
# A summer that is eight degrees hotter. Before a single meter is read, the alarm says that the model is asked
# about what it does not know, and names the column.
alarm = DriftDetector(model, random_state=0).fit(X_train, y_train, X_cal=X_test, y_cal=y_test)
hotter, _ = make_demand(500, warmer=8.0, random_state=1)
verdict = alarm.verdict(hotter)
print(verdict.summary)

plt.show()
