"""
Where two models differ
=======================

Two models give two predictions for each row, and subtracting them is easy. What is missing are the regions:
where is the second model higher, where lower, and by how much? :func:`gbmap.inspection.model_difference`
boosts from the first model to the second, and each learner on the way is a half-space. It only asks the
models for predictions, so it needs no labels and works for any pair.

Two cases follow: a linear model against a black box, and a model before and after it was trained again.
"""

# %%
# A linear model against boosted trees
# ------------------------------------
# The strength of concrete, by its ingredients (kg per cubic metre) and its age in days. Trees predict it
# far better than a straight line does. What have they found?
import matplotlib.pyplot as plt
import pandas as pd
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from gbmap.datasets import load_paper_dataset
from gbmap.inspection import model_difference
from gbmap.plots import CurveDisplay

pd.set_option("display.width", 160, "display.max_columns", 10, "display.max_colwidth", 80)

X, y = load_paper_dataset("concrete")
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
linear = LinearRegression().fit(X_train, y_train)
trees = HistGradientBoostingRegressor(random_state=0).fit(X_train, y_train)
print(f"R2 on test rows: linear {linear.score(X_test, y_test):.2f}, trees {trees.score(X_test, y_test):.2f}")

difference = model_difference(linear, trees, X_train, n_components=5)
print(difference.to_frame().round(2))
print(f"R2 of the half-spaces on the difference: {difference.faithfulness:.2f}")
print(f"the same on rows held out: {difference.held_out_faithfulness:.2f}")

# %%
# The first half-space is young concrete, and alone it accounts for 44 % of the squared difference. Five
# account for 72 %, but on rows held out for less: 46 % here, 67 % on the test rows. What comes first is
# what to rely on.
on_test = difference.model.score(X_test, trees.predict(X_test) - linear.predict(X_test))
print(f"R2 of the half-spaces on the difference, test rows: {on_test:.2f}")
difference.plot().ax_.set_title("trees - linear")

# %%
# The difference rises over the first month, levels off, and falls after a hundred days: next to the trees,
# the linear model is too high for the youngest and the oldest concrete. Inside the first half-space it runs
# from about -15 to above zero. So a bar is not the whole story: the half-space tells where the difference
# bends, the bar its mean there.
fig, ax = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
ax.scatter(X_train["Age"], difference.difference, s=8, color="0.6", label="trees - linear")
ax.scatter(
    X_train["Age"], difference.model.predict(X_train), s=8, color="C0", label="by the five half-spaces"
)
ax.set(xscale="log", xlabel="age in days", ylabel="difference of predicted strength")
ax.legend(frameon=False)

# %%
# No learner is active on a quarter of the rows. It would be wrong to read this as agreement: there the
# learners add up to a constant, here not a small one, and the models differ as much as they do elsewhere.
agreement = difference.agreement
print(f"never active: {agreement.share:.0%} of the rows, mean absolute difference {agreement.mean:.1f}, "
      f"which is {agreement.ratio:.1f} times that of all rows")  # fmt: skip

# %%
# The half-spaces as features
# ---------------------------
# Each learner is a column that the linear model lacks. Least squares on the linear prediction and the first
# k of these columns is fitted to what the trees say on the training rows, then judged by the strength
# measured on the test rows.
lift = difference.lift(X_test, y_test)
print(f"R2: linear {lift.first_score:.2f}, with one column {lift.scores[1]:.2f}, "
      f"with five {lift.scores[-1]:.2f}, trees {lift.second_score:.2f}")  # fmt: skip
lift.plot().ax_.set_title("test rows, against the strength measured")

# %%
# Beyond the training region
# --------------------------
# Suppose that both models only know mixes with little water. What do the trees do with more of it? Nobody
# has to measure strengths to find out, since the trees can label any mix. Half of the wetter mixes join the
# rows on which the models are compared, without their strengths; the other half is for judging. The target
# is what the trees say.
dry = X["Water"] <= X["Water"].median()
linear_dry = LinearRegression().fit(X[dry], y[dry])
trees_dry = HistGradientBoostingRegressor(random_state=0).fit(X[dry], y[dry])
wet, wet_to_judge = X[~dry].iloc[::2], X[~dry].iloc[1::2]

narrow = model_difference(linear_dry, trees_dry, X[dry], n_components=5)
wide = model_difference(linear_dry, trees_dry, pd.concat([X[dry], wet]), n_components=5)
outside = {
    "compared on dry mixes": narrow.lift(wet_to_judge),
    "compared on dry and wet mixes": wide.lift(wet_to_judge),
}
for name, lift in outside.items():
    print(f"{name}: R2 on wet mixes {lift.scores[0]:.2f} without columns, {lift.scores[-1]:.2f} with five")

# %%
# Columns that were learned on dry mixes say next to nothing about wet ones. Learned on both, they follow
# the trees.
curves = {name: lift.scores for name, lift in outside.items()}
CurveDisplay(range(6), curves, "coordinates", "R2 against the trees, wet mixes").plot()

# %%
# Before and after training again
# -------------------------------
# The fuel consumption of cars, in miles per gallon. One forest knows the cars of 1970 to 1976. The other
# was trained again when half of the later cars had come in. Where did it change its mind? The column of
# text goes through a one-hot encoder, and the half-spaces are told in the columns of the table all the
# same.
X, y = load_paper_dataset("autompg")
early = X["year"] <= 76
later = X.index[~early]
unseen = later[1::2]
known = X.index.difference(unseen)
encoder = make_column_transformer((OneHotEncoder(), ["origin"]), remainder="passthrough")


def forest(rows):
    model = make_pipeline(clone(encoder), RandomForestRegressor(200, min_samples_leaf=3, random_state=0))
    return model.fit(X.loc[rows], y[rows])


before, after = forest(X.index[early]), forest(known)
print(f"R2 on later cars that neither has seen: before {before.score(X.loc[unseen], y[unseen]):.2f}, "
      f"after {after.score(X.loc[unseen], y[unseen]):.2f}")  # fmt: skip

change = model_difference(before, after, X, n_components=5, preprocessing=encoder)
print(change.to_frame().round(2))
print(f"R2 of the half-spaces on the change: {change.faithfulness:.2f}")
print(f"the same on rows held out: {change.held_out_faithfulness:.2f}")
change.plot().ax_.set_title("after - before, miles per gallon")

# %%
# The change is in the later cars: the first half-space is one of late years, and accounts for 81 % of the
# squared change. Here the rows where no learner is active do tell something. Nearly all are cars of the
# years that the first forest knew, and on them it hardly changed.
agreement = change.agreement
print(
    f"never active: {agreement.share:.0%} of the cars, {early[change.never_active].mean():.0%} of them early"
)
print(f"mean absolute change: {agreement.mean:.1f} on these, {abs(change.difference).mean():.1f} on all")

fig, ax = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
for name, rows in {"some learner active": ~change.never_active, "never active": change.never_active}.items():
    ax.scatter(X["year"][rows], change.difference[rows], s=12, label=name)
ax.set(xlabel="year of the model, 19..", ylabel="after - before, miles per gallon")
ax.legend(frameon=False)

# %%
plt.show()

# sphinx_gallery_thumbnail_path = "images/model_difference.png"
