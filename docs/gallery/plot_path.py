"""
The way from a one to a seven
=============================

Both digits are odd, and the model is equally sure of either. Are they close, then? It depends on what lies
between. The change of the prediction, its total variation on the straight way and the embedding distance are
three answers, each at most the next, all in the units of the score: here the log-odds of *odd*.
"""

# %%
# A model that tells even digits from odd ones, and the way from a one to a seven. Half-way it is neither, and
# the score, written below each image, sinks.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from gbmap import GBMAPClassifier, embedding_distances, path_distances
from gbmap.plots import PathDisplay

X, digit = load_digits(return_X_y=True)
parity = np.where(digit % 2 == 0, "even", "odd")
model = GBMAPClassifier(n_components=12, l2_regularization=0.1, random_state=0).fit(X, parity)
one, seven = 99, 27

figure, axes = plt.subplots(1, 5, figsize=(8, 2.2), layout="constrained")
for ax, t in zip(axes, np.linspace(0, 1, 5)):
    image = (1 - t) * X[one] + t * X[seven]
    ax.imshow(image.reshape(8, 8), cmap="gray_r")
    ax.set(xticks=[], yticks=[], title=f"t = {t:.2f}", xlabel=f"{model.decision_function([image])[0]:+.1f}")

# %%
# The score along the way, in the band that its value and slope at a few places leave for it. The bounds are
# proved, not sampled, and so is the path distance.
PathDisplay.from_estimator(model, X, rows=(one, seven))

# %%
# The three lengths for all pairs of fifty digits. Points on the line are pairs whose learners all pull the
# same way.
some = X[:50]
score = model.decision_function(some)
change = np.abs(np.subtract.outer(score, score))
path, embedding = path_distances(model, some), embedding_distances(model, some)

figure, ax = plt.subplots(figsize=(5.5, 4.5), layout="constrained")
ax.scatter(embedding, path, s=6, color="#0072B2", label="path distance")
ax.scatter(embedding, change, s=6, color="#D55E00", alpha=0.4, label="change of the score")
ax.axline((0, 0), slope=1, color="0.5", linewidth=1)
ax.set(xlabel="embedding distance", ylabel="path distance, change of the score")
ax.legend(frameon=False)

plt.show()
