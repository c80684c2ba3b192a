"""
A supervised map beside PCA
===========================

Is a handwritten digit even or odd? PCA knows nothing of the question: it arranges images by what varies most
in their pixels. A GBMAP arranges them by what matters for the answer.
"""

# %%
# Half of the 1797 images are for learning, the other half is drawn. New rows get their place by a formula, so
# the map of rows that the model has not seen is an honest one.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gbmap import GBMAPClassifier
from gbmap.plots import EmbeddingDisplay

X, digit = load_digits(return_X_y=True)
X, X_new, digit, digit_new = train_test_split(X, digit, test_size=0.5, random_state=0, stratify=digit)
parity, parity_new = (np.where(each % 2 == 0, "even", "odd") for each in (digit, digit_new))

model = GBMAPClassifier(n_components=20, l2_regularization=0.1, random_state=0).fit(X, parity)

# %%
# The embedding has twenty coordinates. To see them at once, their two principal components are drawn, beside
# those of the pixels.
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
pixels = PCA(2).fit(X).transform(X_new)
EmbeddingDisplay(pixels, parity_new).plot(left)
left.set_title("PCA of 64 pixels")
EmbeddingDisplay.from_estimator(model, X_new, parity_new, components="pca", ax=right)
right.set_title("PCA of 20 GBMAP coordinates")

# %%
# The map has not been told which digit is which. Still, digits keep together, since the learners have to
# recognise strokes to tell even from odd.
EmbeddingDisplay.from_estimator(
    model, X_new, components="pca", color=np.array([str(each) for each in digit_new])
).ax_.set_title("The same map, coloured by the digit")

# %%
# Good coordinates make simple models strong. Logistic regression on either map, with the same number of
# columns:
by_pca = PCA(20, random_state=0).fit(X)
columns = {
    "64 pixels": (X, X_new),
    "20 principal components": (by_pca.transform(X), by_pca.transform(X_new)),
    "20 GBMAP coordinates": (model.transform(X), model.transform(X_new)),
}
scores = {}
for name, (seen, unseen) in columns.items():
    linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(seen, parity)
    scores[name] = linear.score(unseen, parity_new)
    print(f"{name:24} {scores[name]:.3f} of the new digits are right")

plt.show()
