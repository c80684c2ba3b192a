"""
One fit, no knobs
=================

A fit finds its ridge on the way, from the learners it has found so far. Nothing is held out for it and
nothing is searched. Where nothing bends, it begins with a linear function.
"""

# %%
# Two tables, each a few hundred rows: one that is linear but for noise, and one of Friedman's, which bends.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split

from gbmap import GBMAPRegressor

tables = {
    "diabetes": load_diabetes(return_X_y=True),
    "friedman": make_friedman1(400, noise=1.0, random_state=0),
}
models, held_out = {}, {}
for name, (X, y) in tables.items():
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=1)
    models[name] = GBMAPRegressor(random_state=0).fit(X_train, y_train)
    held_out[name] = X_test, y_test
    fixed = GBMAPRegressor(l2_regularization=1e-3, random_state=0).fit(X_train, y_train)
    linear = LinearRegression().fit(X_train, y_train)
    scores = [model.score(X_test, y_test) for model in (models[name], fixed, linear)]
    print(f"{name:>9}: as it comes {scores[0]:.2f}, ridge of 0.001 {scores[1]:.2f}, linear {scores[2]:.2f}")

# %%
# The ridge of each learner. On the diabetes data the first learner is linear and hardly held back; what would
# bend beside it is held to next to nothing. On Friedman's the learners bend, and the ridge stays small.
figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
for name, model in models.items():
    ridges = [record.l2_regularizations[0] for record in model.history_[1:]]
    axes.plot(np.arange(1, len(ridges) + 1), ridges, marker="o", label=name)
axes.set(yscale="log", xlabel="learner", ylabel="ridge")
axes.legend()

# %%
# The same matrices that find the ridge tell how far off a prediction may be: nine in ten held-out rows lie
# within 1.64 standard deviations.
X_test, y_test = held_out["friedman"]
mean, std = models["friedman"].predict(X_test, return_std=True)
inside = np.abs(y_test - mean) < 1.64 * std
print(f"within their interval: {inside.mean():.0%} of {len(inside)} rows")
order = np.argsort(mean)
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
axes.errorbar(mean[order], mean[order], 1.64 * std[order], fmt="none", alpha=0.25, label="90 % interval")
axes.scatter(mean, y_test, s=9, c=np.where(inside, "C0", "C3"), label="held-out rows")
axes.set(xlabel="predicted", ylabel="true")
axes.legend()

plt.show()
