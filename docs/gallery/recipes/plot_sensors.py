"""
Sensors: a machine that is watched
==================================

A pump reports after each run, and a model tells its wear. When may the model no longer be trusted, since
when, and which sensor is to blame? Labels come late, or never.
"""

# %%
# Rows are in order of time, so the model learns from the first of them and is calibrated by those that
# follow.
import matplotlib.pyplot as plt

from gbmap import DriftDetector, DriftMonitor, GBMAPRegressor
from gbmap.datasets import make_table
from gbmap.plots import ColumnCurveDisplay, MonitorDisplay

X, wear = make_table("sensors", 4000, random_state=0)
model = GBMAPRegressor(random_state=0).fit(X[:2000], wear[:2000])
print(f"R2 on the runs after: {model.score(X[2000:], wear[2000:]):.2f}")
detector = DriftDetector(model, random_state=0).fit(
    X[:2000], wear[:2000], X_cal=X[2000:3000], y_cal=wear[2000:3000]
)

# %%
# *Look first at* the monitor. It sees 50 runs at a time and has one chance of 5 % of a false alarm for its
# whole life. After 1000 good runs the sensor of the temperature begins to read 12 degrees too much.
X_off, _ = make_table("sensors", 1000, changed=True, random_state=1)
monitor = DriftMonitor(detector, random_state=0)
for part in (X[3000:], X_off):
    for start in range(0, len(part), 50):
        monitor.update(part[start : start + 50])
for alarm in monitor.alarms_:
    print(alarm.summary)

# %%
# The picture that belongs on the wall: the loss to expect, the share of alarms, and the evidence.
MonitorDisplay.from_estimator(monitor)

# %%
# Which sensor? The verdict on the runs since names it, and what to do.
verdict = detector.verdict(X_off)
for finding in verdict.findings:
    if finding.column:
        print(finding.degree, "-", finding.text, "-", finding.advice)

# %%
# What the model knows of the sensor at fault: wear begins at 58 degrees, so 12 degrees too much look like
# wear.
ColumnCurveDisplay.from_estimator(model, X[:2000], "temperature")

plt.show()
