"""Three lengths of one segment: the change of f, its total variation, and the sum over the learners."""

import matplotlib.pyplot as plt
import numpy as np

from gbmap import GBMAPRegressor, embedding_distances, path_distances

rng = np.random.default_rng(1)
X = rng.uniform(-3, 3, size=(2000, 2))
y = 2 * np.cos(X[:, 0]) + 0.5 * np.abs(X[:, 1])
model = GBMAPRegressor(n_components=6, random_state=0).fit(X, y)
start, end = np.array([[-2.6, -1.2]]), np.array([[2.4, 1.9]])
t = np.linspace(0, 1, 300)[:, None]
segment = (1 - t) * start + t * end
f = model.predict(segment)

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.7), layout="constrained")
u, v = np.meshgrid(np.linspace(-3, 3, 150), np.linspace(-3, 3, 150))
surface = model.predict(np.column_stack([u.ravel(), v.ravel()])).reshape(u.shape)
shades = left.contourf(u, v, surface, levels=14, cmap="cividis")
figure.colorbar(shades, ax=left, label="f(x)")
left.plot(*segment.T, color="white", linewidth=2)
left.plot(*start[0], "o", *end[0], "s", color="white", markeredgecolor="black")
left.annotate("x", start[0], (-10, -14), textcoords="offset points", color="white")
left.annotate("x'", end[0], (6, 6), textcoords="offset points", color="white")
left.set(xlabel="first column", ylabel="second column")

rising = np.gradient(f) >= 0
right.plot(t, f, color="0.6", linewidth=1)
right.plot(t, np.where(rising, f, np.nan), color="#0072B2", linewidth=2.5, label="f rises")
right.plot(t, np.where(rising, np.nan, f), color="#D55E00", linewidth=2.5, label="f falls")
lengths = (
    f"|f(x') - f(x)| = {abs(f[-1] - f[0]):.2f}\n"
    f"path distance = {path_distances(model, start, end)[0, 0]:.2f}\n"
    f"embedding distance = {embedding_distances(model, start, end)[0, 0]:.2f}"
)
right.set(xlabel="t, from x to x'", ylabel="f", ylim=(f.min() - 0.3, f.max() + 1.9))
right.text(0.03, 0.97, lengths, transform=right.transAxes, va="top")
right.legend(frameon=False, loc="upper right")
