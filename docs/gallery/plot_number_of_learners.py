"""
How many learners?
==================

One fit holds all smaller ones: the first k learners of a fit with m are the fit with k. So fit once with
plenty, and look where the loss on held-out rows ends to fall.
"""

# %%
# Breast cancer: 30 measurements of a tumour, malignant or benign.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from gbmap import GBMAPClassifier
from gbmap.plots import EmbeddingDisplay, LossCurveDisplay

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target_names[data.target]
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=0, stratify=y)

model = GBMAPClassifier(n_components=20, l2_regularization=0.05, random_state=0).fit(X_train, y_train)
curve = LossCurveDisplay.from_estimator(model, X_test, y_test)

# %%
# The training loss only ever falls. The loss on the held-out rows ends to do so after a few learners, where
# the dotted line is. Accuracy tells the same more coarsely; no refit is needed for it either.
accuracy = [np.mean(labels == y_test) for labels in model.staged_predict(X_test)]
best = int(np.argmin(curve.validation))
print(
    f"lowest loss with {best} learners; accuracy {accuracy[best - 1]:.3f} there, {accuracy[-1]:.3f} with 20"
)

# %%
# That the first coordinates of the large fit are the small fit is a promise, to the last bit:
small = GBMAPClassifier(n_components=2, l2_regularization=0.05, random_state=0).fit(X_train, y_train)
print("the same bits:", np.array_equal(small.transform(X_test), model.transform(X_test)[:, :2]))

# %%
# So two coordinates can be drawn of any fit. Their axes tell how much of the loss each explains.
EmbeddingDisplay.from_estimator(model, X_test, y_test, components=("f1", "f2"))

plt.show()
