"""
Churn: who leaves, and why
==========================

Customers of a telephone company. Which of them are about to leave, what do they have in common, and whom
should one call first?
"""

# %%
# One frame in, with categories as they are.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from gbmap import DriftDetector, GBMAPClassifier
from gbmap.datasets import make_table
from gbmap.inspection import attributions
from gbmap.plots import EmbeddingDisplay, ImportanceDisplay

X, y = make_table("churn", 3000, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
model = GBMAPClassifier(random_state=0).fit(X_train, y_train)
risk = model.predict_proba(X_test)[:, 1]

# %%
# *Look first at* what a call list is worth: of the tenth with the highest risk, how many do leave?
called = np.argsort(risk)[-len(risk) // 10 :]
share, usual = np.mean(y_test.iloc[called] == "lost"), np.mean(y_test == "lost")
print(f"{share:.0%} of the customers on the list are lost, {usual:.0%} of all")

# %%
# What the model listens to, on average over customers.
ImportanceDisplay.from_estimator(model)

# %%
# The map: customers who are next to each other are so for what makes them leave. The risk grows to the right,
# from those who have been there for years to those who have just come; those who have called often stand
# apart from them.
figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
for ax, column in zip(axes, ["months", "calls"]):
    EmbeddingDisplay.from_estimator(model, X_test, color=column, ax=ax)

# %%
# The reason that goes with each customer on the list, in one word: the column that adds most to the risk.
shares = attributions(model, X_test.iloc[called], X_train)
reasons = shares.feature_names[shares.values.argmax(axis=1)]
for reason, count in zip(*np.unique(reasons, return_counts=True)):
    print(f"{count:3} of {len(called)} customers: {reason}")

# %%
# A cheap plan is new. The model has never seen it, and says so.
alarm = DriftDetector(model, random_state=0).fit(X_train, y_train, X_cal=X_test, y_cal=y_test)
X_new, _ = make_table("churn", 500, changed=True, random_state=1)
verdict = alarm.verdict(X_new)
print(verdict.summary)

plt.show()
