"""Boosting in one dimension: the sum of the first 1, 2, 4 and 16 learners of one fit."""

import matplotlib.pyplot as plt
import numpy as np

from gbmap import GBMAPRegressor

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(-4, 4, 300))
y = np.cos(x) + 0.15 * rng.normal(size=300)
model = GBMAPRegressor(n_components=16, beta=5.0, l2_regularization=1e-4, random_state=0).fit(x[:, None], y)
grid = np.linspace(-5.5, 5.5, 400)[:, None]
phi = model.transform(grid)

figure, axes = plt.subplots(1, 4, figsize=(10, 2.9), layout="constrained", sharex=True, sharey=True)
for ax, k in zip(axes, (1, 2, 4, 16)):
    ax.scatter(x, y, s=5, color="0.75")
    ax.plot(grid, phi[:, :k].sum(axis=1), color="#D55E00", linewidth=2)
    ax.set(title=f"{k} learner{'s' if k > 1 else ''}, loss {model.loss_curve_[k]:.3f}", xlabel="x")
axes[0].set(ylabel="y", ylim=(-2.4, 1.7))
