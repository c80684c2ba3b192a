"""
What did the forest find?
=========================

A forest predicts better than a linear model. Where do the two differ, and can the linear model be taught what
the forest knows? :func:`gbmap.inspection.model_difference` boosts from one model to the other. Each learner
on the way is a half-space in words, and a column that the linear model lacks.
"""

# %%
# How malignant is a tumour (0 or 1), by seven measurements of its cells that leave out their size?
import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split

from gbmap.inspection import model_difference

data = load_breast_cancer(as_frame=True)
X = data.data.filter(regex="^mean (?!radius|perimeter|area)").rename(columns=lambda name: name[5:])
y = 1.0 - data.target
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
linear = LinearRegression().fit(X_train, y_train)
forest = ExtraTreesRegressor(100, min_samples_leaf=3, random_state=0).fit(X_train, y_train)
print(
    f"R2 on test rows: linear {linear.score(X_test, y_test):.2f}, forest {forest.score(X_test, y_test):.2f}"
)

# %%
# Four learners from the linear model to the forest: where they are active, in words, and the mean difference
# of the two models there.
difference = model_difference(linear, forest, X_train, n_components=4)
difference.to_frame().round(2)

# %%
# The second is the largest. There the straight line goes on beyond 1, up to 1.8, and the forest does not.
difference.plot().ax_.set_title("forest - linear")

# %%
# How far to rely on them? The share of the squared difference that they account for, on these rows and on
# rows held out of the comparison:
print(f"{difference.faithfulness:.2f} on these rows, {difference.held_out_faithfulness:.2f} on rows held out")

# %%
# As columns for the linear model: R2 on the test rows with 0, 1, ..., 4 of them, between the two models.
lift = difference.lift(X_test, y_test)
lift.plot().ax_.set_title("test rows")

plt.show()
