"""The picture of a monitor shows what the monitor knows."""

import matplotlib.dates as mdates
import numpy as np
import pytest

from gbmap import DriftDetector, GBMAPRegressor
from gbmap.drift import DriftMonitor
from gbmap.plots import MonitorDisplay


@pytest.fixture(scope="module")
def detector():
    X = np.random.default_rng(0).normal(size=(600, 2))
    return DriftDetector(GBMAPRegressor(4, random_state=0), random_state=0).fit(X, X[:, 0] ** 2)


def lived(detector, times, move=3.0, **options):
    monitor, rng = DriftMonitor(detector, random_state=0, **options), np.random.default_rng(1)
    for k, time in enumerate(times):
        X = rng.normal(size=(50, 2)) + np.array([move if k >= len(times) / 2 else 0, 0])
        monitor.update(X, X[:, 0] ** 2 if k % 2 else None, time=time)
    return monitor


def test_losses_alarms_and_evidence_are_those_of_the_batches(detector):
    display = MonitorDisplay.from_estimator(lived(detector, [None] * 10))
    _, alarms, evidence = display.panels_
    assert display.position.tolist() == list(range(49, 500, 50))
    assert display.position_label == "row"
    assert np.isnan(display.realised).tolist() == [True, False] * 5
    assert alarms.lines[0].get_ydata() == pytest.approx(100 * display.alarm_share)
    crossing = evidence.lines[0].get_ydata() >= 0
    assert crossing.tolist() == (display.log_capital >= display.thresholds[0]).tolist()
    assert crossing[-1]
    assert not crossing[:5].any()


@pytest.mark.parametrize(
    ("times", "label"),
    [
        ([f"2026-01-{day:02d}T00:00:00Z" for day in range(1, 9)], "time"),
        ([0.5 * k for k in range(8)], "time"),
        ([f"batch {k}" for k in range(8)], "row"),
        ([None] * 8, "row"),
    ],
)
def test_batches_lie_where_their_times_say_and_the_change_is_marked_there(detector, times, label):
    display = MonitorDisplay.from_estimator(lived(detector, times))
    assert display.position_label == label
    assert display.changes
    for since, raised, words in display.changes:
        assert display.position[2] <= since <= raised <= display.position[-1]
        assert "before" in words
    assert "x0" in display.panels_[0].get_title()
    is_date = isinstance(display.panels_[0].xaxis.get_major_locator(), mdates.AutoDateLocator)
    assert is_date == (times[0] is not None and str(times[0]).startswith("2026"))


def test_a_quiet_life_says_so_even_of_one_batch(detector):
    display = MonitorDisplay.from_estimator(lived(detector, [None], move=0, label_share=0))
    assert display.panels_[0].get_title() == "no change found"
    assert not display.changes
    assert np.isinf(display.thresholds[1])


def test_only_monitors_that_have_seen_rows_are_drawn(detector):
    with pytest.raises(TypeError, match="monitor must be a DriftMonitor, got DriftDetector"):
        MonitorDisplay.from_estimator(detector)
    for monitor in (DriftMonitor(detector), DriftMonitor(detector).calibrate()):
        with pytest.raises(ValueError, match="monitor must have seen rows"):
            MonitorDisplay.from_estimator(monitor)


def test_rows_that_come_one_by_one_are_drawn_some_at_a_time(detector):
    monitor, X = DriftMonitor(detector, random_state=0), np.random.default_rng(2).normal(size=(120, 2))
    X[60:, 0] += 3
    for k in range(len(X)):
        monitor.update(X[k : k + 1])
    display = MonitorDisplay.from_estimator(monitor, n_batches=30)
    assert display.position.tolist() == list(range(3, 120, 4))
    assert display.alarm_share.mean() == pytest.approx(np.mean(detector.predict(X) == -1))
    assert 56 <= display.changes[0][0] <= 60
    with pytest.raises(ValueError, match="n_batches must be a whole number of at least 1, got 0"):
        MonitorDisplay.from_estimator(monitor, n_batches=0)
