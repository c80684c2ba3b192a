"""
Credit: a decision with its reasons
===================================

Applications for a loan, some of which were never paid back. How likely is it for a new one, what speaks for
and against it, and what would have to change? Gaps and categories go into the fit as they are.
"""

# %%
# Incomes are missing for some; nothing is filled in or encoded.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibrationDisplay
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from gbmap import DriftDetector, GBMAPClassifier
from gbmap.datasets import make_table
from gbmap.inspection import nearest_counterfactual
from gbmap.plots import ColumnCurveDisplay, ExplanationDisplay

X, y = make_table("credit", 3000, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
model = GBMAPClassifier(random_state=0).fit(X_train, y_train)
risk = model.predict_proba(X_test)[:, 1]
auc = roc_auc_score(y_test == "unpaid", risk)
print(
    f"{np.mean(y == 'unpaid'):.0%} are not paid back; area under the ROC curve {auc:.2f} on held-out "
    "applications"
)

# %%
# *Look first at* whether a risk of 30 % means three in ten: a limit can then be set in money.
CalibrationDisplay.from_predictions(y_test, risk, pos_label="unpaid", n_bins=8, strategy="quantile")

# %%
# The curves say what the model has learned of a column, and are easily checked by somebody who knows the
# trade: debt counts from a third of the income on, an income that is not known (dashed) as a middling one.
figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
for ax, column in zip(axes, ["debt_ratio", "income", "purpose"]):
    ColumnCurveDisplay.from_estimator(model, X_train, column, ax=ax)

# %%
# Why was this one refused? What each column adds to the log-odds of the average application; bars add up.
row = int(np.argsort(risk)[-10])
ExplanationDisplay.from_estimator(model, X_test, row=row)

# %%
# And what is the smallest change that brings its risk to one in four? Only what can change may.
fixed = ["years_employed", "late_payments", "purpose"]
change = nearest_counterfactual(model, X_test.iloc[[row]], np.log(1 / 3), immutable=fixed)
change.to_frame()

# %%
# Next year's applications: their outcome comes years later, the alarm comes now.
alarm = DriftDetector(model, random_state=0).fit(X_train, y_train, X_cal=X_test, y_cal=y_test)
X_new, _ = make_table("credit", 500, changed=True, random_state=1)
verdict = alarm.verdict(X_new)
print(verdict.summary)

plt.show()
