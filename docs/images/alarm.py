"""The drift indicator in one dimension: beyond the data f goes on, its neighbours stay behind."""

import matplotlib.pyplot as plt
import numpy as np

from gbmap import DriftDetector, GBMAPRegressor

rng = np.random.default_rng(0)
x = rng.uniform(-2, 2, 400)
y = x**2 / 2 + 0.15 * rng.normal(size=400)
detector = DriftDetector(GBMAPRegressor(n_components=6, random_state=0), random_state=0).fit(x[:, None], y)
grid = np.linspace(-4, 4, 401)
f = detector.estimator_.predict(grid[:, None])
mean_of_neighbours = f - detector.explain(grid[:, None]).differences

figure, (top, bottom) = plt.subplots(
    2, 1, figsize=(8, 4.6), layout="constrained", sharex=True, height_ratios=(3, 2)
)
top.scatter(x, y, s=5, color="0.75", label="training rows")
top.plot(grid, f, color="#0072B2", linewidth=2, label="prediction")
top.plot(grid, mean_of_neighbours, color="#D55E00", label="mean of the 5 nearest")
top.fill_between(grid, f, mean_of_neighbours, color="#D55E00", alpha=0.15)
top.set_ylabel("y")
top.legend(frameon=False, loc="upper center")
bottom.plot(grid, detector.indicator(grid[:, None]), color="black", linewidth=1, label="indicator")
bottom.plot(grid, np.abs(f - mean_of_neighbours), color="#D55E00", linewidth=1, label="the paper's")
bottom.axhline(detector.threshold_, color="#009E73", linestyle="--", label="threshold")
bottom.set(xlabel="x", ylabel="indicator")
bottom.legend(frameon=False, loc="upper center")
