"""
Neighbours that matter
======================

Nearest neighbours are as good as their distance. In the embedding, directions that do not matter for the
target have no length, so that columns of noise do no harm.
"""

# %%
# Handwritten digits, even or odd. Beside the 64 pixels come 64 columns of noise of the same spread.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from gbmap import GBMAPClassifier

rng = np.random.default_rng(0)
X, digit = load_digits(return_X_y=True)
noise = 8 * rng.normal(size=X.shape)
noisy = np.hstack([X, noise])
is_even = digit % 2 == 0
train, test = train_test_split(np.arange(len(X)), random_state=0)

euclid = KNeighborsClassifier(10)
nearest = make_pipeline(
    GBMAPClassifier(n_components=20, l2_regularization=0.3, random_state=0),
    KNeighborsClassifier(10, metric="manhattan"),
)
scores = {
    columns: [
        each.fit(data[train], is_even[train]).score(data[test], is_even[test]) for each in (euclid, nearest)
    ]
    for columns, data in {"64 pixels": X, "64 pixels, 64 columns of noise": noisy}.items()
}
for columns, (by_euclid, by_map) in scores.items():
    print(f"{columns:32} Euclidean {by_euclid:.3f}, embedding {by_map:.3f}")

# %%
# On clean images the Euclidean distance is hard to beat: images that look alike are alike. Noise takes a
# tenth of the answers from it, while the embedding hardly notices.
#
# The last fit was that to the noisy columns. Here are some test images, and the five nearest training images
# by either distance; the noise is there, but not drawn.
shown = test[[0, 3, 5]]
phi = nearest[:-1].transform(noisy)
figure, axes = plt.subplots(3, 11, figsize=(10, 3.2), layout="constrained")
for line, row in zip(axes, shown):
    plain = train[np.argsort(np.linalg.norm(noisy[train] - noisy[row], axis=1))[:5]]
    mapped = train[np.argsort(np.abs(phi[train] - phi[row]).sum(axis=1))[:5]]
    for ax, image in zip(line, [row, *plain, *mapped]):
        ax.imshow(X[image].reshape(8, 8), cmap="gray_r")
        right = is_even[image] == is_even[row]
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_color("0.8" if right else "#D55E00")
        ax.spines[:].set_linewidth(1 if right else 3)
axes[0, 0].set_title("new")
axes[0, 3].set_title("nearest by Euclid")
axes[0, 8].set_title("nearest in the embedding")

plt.show()
