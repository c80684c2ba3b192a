"""
Ten-minute start
================

Once around the library: fit, look, explain, mistrust, keep. The data come with scikit-learn: ten measurements
of 442 patients with diabetes, and how far the disease went within a year. What is needed comes by
``pip install "gbmap[plot,data]"``.
"""

# %%
# Fit
# ---
# ``GBMAPRegressor`` and ``GBMAPClassifier`` are scikit-learn estimators: they go into pipelines, searches and
# cross-validation. Columns need no scaling, and missing values and categories stay as they are. X is a NumPy
# array, a pandas or polars frame, a sparse matrix or a memory map.
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split

import gbmap
from gbmap import DriftDetector, GBMAPRegressor
from gbmap.inspection import attributions, explain, learner_cards
from gbmap.plots import EmbeddingDisplay, ExplanationDisplay

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = GBMAPRegressor(n_components=3, l2_regularization=0.3, random_state=0)
model.fit(X_train, y_train)

# %%
# How good is it? Always compare with something simple. On data this small and this linear the two are close;
# :ref:`the digits <sphx_glr_generated_gallery_plot_map_beside_pca.py>` tell another story.
linear = LinearRegression().fit(X_train, y_train)
print(f"R2 on new patients: {model.score(X_test, y_test):.2f}, linear {linear.score(X_test, y_test):.2f}")

# %%
# Look
# ----
# Each of the three learners is a coordinate in the units of y, and their sum is the prediction.
phi = model.transform(X_test)
print(phi.shape, np.allclose(phi.sum(axis=1), model.predict(X_test)))

# %%
# That makes a map. The axes tell how much of the loss each coordinate explains.
EmbeddingDisplay.from_estimator(model, X_test, y_test, components=("f1", "f2"))

# %%
# What does each learner look at? It is active on one side of a plane, which is told in at most three terms.
learner_cards(model, X_train, y_train).to_frame()[["half_space", "active_share", "explained_loss"]]

# %%
# Explain
# -------
# Why does the model say what it says about one patient? What each column adds over the average patient:
ExplanationDisplay.from_estimator(model, X_test, row=4, baseline=X_train)

# %%
# The numbers behind it are exact, not sampled: they add up to the prediction.
shares = attributions(model, X_test.iloc[[4]], X_train)
total = shares.base_values[0] + shares.values.sum()
print(f"{total:.6f} = {model.predict(X_test.iloc[[4]])[0]:.6f}")

# %%
# And what would change if a patient did? The local linear model of each row: change of the prediction per
# unit of each column.
explain(model, X_test).to_frame().head().round(2)

# %%
# Mistrust
# --------
# A detector compares the prediction for a row with the nearest training rows, and raises the alarm where the
# two part. It needs rows that the model was not trained on, to learn what is usual. No labels of new rows are
# needed. Here are patients who are all far heavier:
detector = DriftDetector(model).fit(X_train, y_train, X_cal=X_test, y_cal=y_test)
heavier = X_test.assign(bmi=X_test["bmi"] + 25)
alarms = np.mean(detector.predict(heavier) == -1)
reasons = detector.explain(heavier)
to_blame = reasons.feature_names[np.abs(reasons.values).mean(axis=0).argmax()]
print(f"alarms for {alarms:.0%} of them, most of all because of {to_blame}")
print(f"squared error to expect: {detector.estimate_loss(heavier).mean:.0f}")
print(f"for patients as before: {detector.estimate_loss(X_test).mean:.0f}")

# %%
# Keep
# ----
# One file holds the detector with the model inside. It is plain data: loading it runs no code.
path = Path(tempfile.mkdtemp()) / "diabetes.gbmap"
gbmap.save(detector, path)
print("the same alarms:", np.array_equal(gbmap.load(path).predict(heavier), detector.predict(heavier)))
plt.show()

# %%
# From here
# ---------
# - :doc:`Choosing parameters </parameters>`: there are three that matter.
# - :doc:`Explaining </explaining>`, :doc:`drift in production </drift>`, :doc:`large data </scaling>`.
# - Coming from :doc:`PCA, UMAP, XGBoost or NannyML </coming-from>`.
# - The same without Python: :doc:`the command line </command-line>` and :doc:`the report </report>`.
