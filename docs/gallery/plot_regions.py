"""
Regions in words
================

Each learner cuts the space in two. Rows for which the same learners are active lie in one region, where the
model is nearly linear. Where are the rows, what does the model say there, and where is it wrong?
"""

# %%
# Four measurements of 442 patients, and how far their diabetes went within a year. Two learners make four
# regions, few enough to read.
import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes

from gbmap import GBMAPRegressor
from gbmap.inspection import learner_cards, regions
from gbmap.plots import EmbeddingDisplay, RegionDisplay

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X = X[["age", "bmi", "bp", "s5"]].rename(columns={"bp": "pressure", "s5": "log_tg"})
model = GBMAPRegressor(n_components=2, l2_regularization=0.3, random_state=0).fit(X, y)

# %%
# Where is each learner active? At most three conditions on single columns say it, and how precisely they do.
learner_cards(model, X, y).to_frame().iloc[:, :4]

# %%
# The regions, by the mean prediction; the marks are the mean target.
RegionDisplay.from_estimator(model, X, y)

# %%
# Where does the model err? The same regions by their mean squared error.
RegionDisplay.from_estimator(model, X, y, value="mean_loss")

# %%
# On the map the regions are next to each other: an axis stands still where its learner is off.
table = regions(model, X, y)
EmbeddingDisplay.from_estimator(model, X, color=[f"region {label}" for label in table.labels])

# %%
# The table tells how well the words fit: of the rows that they hold for, the share that is in the region; and
# of the region, the share that they hold for.
plt.show()
table.to_frame()[["n_rows", "mean_prediction", "mean_target", "precision", "coverage"]].round(2)
