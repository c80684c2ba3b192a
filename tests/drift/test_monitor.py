"""A monitor holds its level over its whole life, finds changes and dates them, and survives what comes in."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor

import gbmap
from gbmap import DriftDetector, GBMAPClassifier, GBMAPRegressor
from gbmap.drift import DriftMonitor
from gbmap.drift._suspects import Suspects

LEARN = {"n_components": 5, "random_state": 1}


def draw(n, seed, move=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) + np.array([move, 0, 0])
    return X, X[:, 0] ** 2 + X[:, 1] + 0.1 * rng.normal(size=n)


def fitted(model, X, y, **options):
    half = len(X) // 2
    rest = {"X_cal": X[half:], "y_cal": y[half:]}
    return DriftDetector(model.fit(X[:half], y[:half]), **options).fit(X[:half], y[:half], **rest)


@pytest.fixture(scope="module")
def detector():
    return fitted(GBMAPRegressor(**LEARN), *draw(800, 0))


@pytest.fixture
def monitor(detector):
    return DriftMonitor(detector, random_state=0)


def feed(monitor, X, y=None, size=50, **more):
    return [
        monitor.update(X[k : k + size], None if y is None else y[k : k + size], **more)
        for k in range(0, len(X), size)
    ]


def test_rows_like_those_of_the_calibration_raise_no_alarm_and_others_do_at_once(monitor):
    quiet = feed(monitor, *draw(2000, 1), size=200)
    assert not monitor.alarms_
    assert max(update.p_value for update in quiet) <= 1
    moved = feed(monitor, *draw(200, 2, move=2.0))
    assert moved[0].is_drifting
    assert {alarm.source for update in moved for alarm in update.new_alarms} == {"rows", "labels"}
    assert monitor.alarms_[0].p_value <= 0.05
    assert monitor.n_rows_ == 2200


def test_a_monitor_that_has_seen_nothing_can_be_asked(monitor):
    assert (monitor.alarms_, monitor.n_rows_, monitor.n_labelled_, monitor.n_waiting_) == ([], 0, 0, 0)
    assert (monitor.last_time_, monitor.p_values_) == ("", {"rows": 1.0, "labels": 1.0})


def test_an_alarm_says_since_when_by_which_columns_where_and_what_the_loss_is(monitor):
    feed(monitor, *draw(500, 1), size=100, time="2026-01-01")
    X, y = draw(100, 2, move=2.5)
    alarm = monitor.update(X, y, time=[f"2026-02-01T00:{k // 2:02d}" for k in range(100)]).new_alarms[0]
    assert 490 <= alarm.since_row <= 510
    assert alarm.columns[0] == "x0"
    assert alarm.since_time.startswith("2026-02-01T00:0" if alarm.since_row >= 500 else "2026-01-01")
    assert "x0" in alarm.regions[0]
    assert alarm.region_shares[0] > alarm.region_reference_shares[0] + 0.1
    assert alarm.mean_loss > 3 * alarm.calibration_loss
    assert alarm.expected_loss > 2 * alarm.calibration_loss
    assert not {"nowhere", "everywhere"} & set(alarm.regions)
    before, since = (f"{np.sqrt(loss):.4g}" for loss in (alarm.calibration_loss, alarm.mean_loss))
    assert alarm.summary.endswith(f". RMSE {before} -> {since} since.")
    for told in ("x0", alarm.since_time, alarm.regions[0]):
        assert told in alarm.summary


def test_a_change_of_the_relation_is_seen_by_labels_alone(monitor):
    X, y = draw(600, 3)
    feed(monitor, X, y + np.where(np.arange(600) < 300, 0.0, 3 * X[:, 2]))
    assert [alarm.source for alarm in monitor.alarms_] == ["labels"]
    assert 280 <= monitor.alarms_[0].since_row <= 320
    assert monitor.alarms_[0].columns == []


def test_an_alarm_by_labels_does_not_call_losses_larger_of_which_the_mean_is_smaller():
    X, y = draw(800, 0)
    y[::100] += 60  # a row of a hundred
    monitor = DriftMonitor(fitted(GBMAPRegressor(**LEARN), X, y), random_state=0)
    new = draw(300, 3)[0]
    predicted = monitor.detector.estimator_.predict(new)
    feed(monitor, new, predicted + 3.0 * np.random.default_rng(0).choice([-1, 1], 300))
    alarm = monitor.alarms_[0]
    assert alarm.source == "labels"
    assert alarm.mean_loss < alarm.calibration_loss
    assert "though their mean is no larger. RMSE " in alarm.summary


def test_an_alarm_by_labels_says_where_the_model_is_wrong(monitor):
    X, y = draw(300, 3)
    feed(monitor, X, y + 9.0 * (X[:, 0] > 1))
    alarm = monitor.alarms_[0]
    assert alarm.source == "labels"
    assert alarm.regions[0].startswith("x0 ")
    assert alarm.region_shares[0] > 3 * alarm.region_reference_shares[0]


def test_without_a_share_for_labels_they_raise_no_alarm_and_rows_get_all_of_the_level(detector):
    X, y = draw(100, 3)
    deaf = DriftMonitor(detector, label_share=0, random_state=0)
    feed(deaf, X, y + 100)
    assert not deaf.alarms_
    both, alone = (DriftMonitor(detector, label_share=share, random_state=0) for share in (0.5, 0))
    p_values = [each.update(draw(8, 4, move=2.0)[0]).p_value for each in (both, alone)]
    assert p_values[0] == pytest.approx(2 * p_values[1])


@pytest.mark.parametrize("size", [1, 7])
def test_the_capitals_do_not_depend_on_how_rows_are_batched(detector, size):
    X, y = draw(24, 5, move=0.5)
    one, other = (DriftMonitor(detector, random_state=3) for _ in range(2))
    last, whole = feed(one, X, y, size)[-1], feed(other, X, y, 24)[-1]
    assert (last.log_capital, last.label_log_capital) == (whole.log_capital, whole.label_log_capital)


def test_a_monitor_goes_on_after_a_restart_to_the_same_bits(detector, tmp_path):
    X, y = draw(600, 6)
    X[400:] += [2, 0, 0]
    y[::3] = np.nan

    def live(restarts):
        monitor, told = DriftMonitor(detector, random_state=9), []
        for k in range(0, 600, 100):
            if restarts:
                gbmap.save(monitor, tmp_path / "state.gbmap")
                monitor = gbmap.load(tmp_path / "state.gbmap")
            stop = k + 100
            update = monitor.update(X[k:stop], y[k:stop], ids=range(k, stop), time=f"{k:03d}")
            told.append(update.to_dict())
        told.append(monitor.add_labels(range(0, 600, 3), np.full(200, 5.0)).to_dict())
        return told, [alarm.to_dict() for alarm in monitor.alarms_], monitor.to_prometheus()

    restarted = live(restarts=True)
    assert restarted == live(restarts=False)
    assert restarted[1]


def test_labels_come_late_or_never_and_count_as_if_they_had_come_at_once(detector):
    X, y = draw(200, 7)
    at_once, late = (DriftMonitor(detector, random_state=0) for _ in range(2))
    expected = feed(at_once, X, y)[-1]
    for k in range(0, 200, 50):
        late.update(X[k : k + 50], ids=[f"order {i}" for i in range(k, k + 50)])
    assert late.n_waiting_ == 200
    update = late.add_labels([f"order {i}" for i in range(200)], y)
    assert (update.n_rows, update.n_labelled, update.n_unknown) == (0, 200, 0)
    assert update.label_log_capital == expected.label_log_capital
    assert late.n_waiting_ == 0
    assert late.n_labelled_ == at_once.n_labelled_ == 200
    assert late.state_.timeline["realised"] == pytest.approx(at_once.state_.timeline["realised"])


def test_labels_before_their_rows_are_counted_and_not_kept(monitor):
    X, y = draw(3, 8)
    assert monitor.add_labels([1, 2, 3], y).n_unknown == 3
    assert monitor.add_labels([], []).n_unknown == 0
    monitor.update(X, ids=[1, 2, 3])
    update = monitor.add_labels([1, 2, 9], [0.0, np.nan, 1.0])
    assert (update.n_labelled, update.n_unknown, monitor.n_waiting_) == (1, 1, 2)
    assert monitor.add_labels([1], [0.0]).n_unknown == 1  # it has had its label


def test_the_oldest_rows_give_up_waiting(detector):
    monitor = DriftMonitor(detector, max_waiting=10, random_state=0)
    feed(monitor, draw(40, 9)[0], size=8, ids=None)
    for k in range(0, 40, 8):
        monitor.update(draw(8, k)[0], ids=range(k, k + 8))
    assert monitor.n_waiting_ == 10
    assert monitor.add_labels(range(40), np.zeros(40)).n_labelled == 10


def test_an_empty_batch_changes_nothing(monitor):
    monitor.update(draw(5, 0)[0], time="now")
    before = monitor.to_prometheus()
    update = monitor.update(np.empty((0, 3)), np.empty(0), ids=[], time="later")
    assert (update.n_rows, update.share_of_alarms, update.n_labelled) == (0, None, 0)
    assert monitor.to_prometheus() == before
    assert monitor.update(pd.DataFrame(columns=["a", "b", "c"])).n_rows == 0


REFUSED = {
    "ids must differ from each other, got 'a' twice": {"ids": ["a", "b", "a"]},
    r"ids must be a list of as many as there are rows, 3, got shape \(2,\)": {"ids": ["a", "b"]},
    r"ids must be a list of as many as there are rows, 3, got shape \(\)": {"ids": "abc"},
    "y must have a label for each row, got '1.0' alone": {"y": 1.0},
    "ids must be texts of at most 200 characters, or whole numbers, got nan": {"ids": ["a", "b", np.nan]},
    "y must have as many rows as X, 3, got 2": {"y": [1.0, 2.0]},
    "time must be one value, or one for each of 3 rows, got 2": {"time": [1, 2]},
    "season must be left out, as it was in calibrate": {"season": "spring"},
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_refused_leaves_the_monitor_as_it_was(monitor, message):
    monitor.update(draw(5, 0)[0], ids=range(5))
    before = monitor.to_prometheus()
    with pytest.raises(ValueError, match=message):
        monitor.update(draw(3, 1)[0], **REFUSED[message])
    with pytest.raises(ValueError, match="rows that wait for labels, got '4'"):
        monitor.update(draw(2, 1)[0], ids=[5, 4])
    with pytest.raises(ValueError, match="features"):
        monitor.update(np.zeros((2, 5)), ids=[7, 8])
    assert monitor.to_prometheus() == before


def test_a_detector_without_calibration_is_refused_in_a_sentence():
    X, y = draw(50, 0)
    bare = DriftDetector(GBMAPRegressor(**LEARN).fit(X, y)).fit(X, y)
    with pytest.raises(ValueError, match="this needs calibration rows: pass X_cal and y_cal to fit"):
        DriftMonitor(bare).update(X)
    with pytest.raises(ValueError, match="detector"):
        DriftMonitor("detector").update(X)
    for options in ({"level": 0}, {"block": 0}, {"label_share": 1.0}):
        with pytest.raises(ValueError, match=next(iter(options))):
            DriftMonitor(fitted(GBMAPRegressor(**LEARN), X, y), **options).update(X)


def test_blocks_and_seasons_need_rows_to_compare_with(detector):
    X, y = draw(400, 10)
    with pytest.raises(ValueError, match="block needs rows to compare with"):
        DriftMonitor(detector, block=5).update(X)
    with pytest.raises(ValueError, match="X must have at least as many rows as a block, 500, got 400"):
        DriftMonitor(detector, block=500).calibrate(X, y)
    monitor = DriftMonitor(detector, block=5, random_state=0)
    monitor.calibrate(X, y, season=np.arange(400) % 2)
    with pytest.raises(ValueError, match="season must be given"):
        monitor.update(X)
    X, y = draw(300, 11)
    monitor.update(X, y, season=np.arange(300) % 2)
    assert not monitor.alarms_
    assert monitor.state_.of_rows.martingale.n == monitor.state_.of_labels.martingale.n == 60
    monitor.update(*draw(300, 12, move=2.0), season=1)
    assert len(monitor.alarms_) == 2


def test_calibrating_again_begins_a_new_life_with_the_rows_of_now(monitor):
    feed(monitor, draw(100, 1, move=2.0)[0])
    assert monitor.alarms_
    monitor.calibrate(*draw(300, 2, move=2.0))
    feed(monitor, *draw(300, 3, move=2.0))
    assert monitor.n_rows_ == 300
    assert not monitor.alarms_


@pytest.mark.parametrize("kind", ["classes", "outputs", "spread", "forest", "pipeline"])
def test_any_model_and_any_columns(kind, tmp_path):
    X, y = draw(600, 13)
    frame = pd.DataFrame(X, columns=list("abc"))
    frame["town"] = np.where(X[:, 2] > 0, "Oslo", "Turku")
    frame.loc[::5, "c"] = np.nan
    model, rows, target, options = {
        "classes": (GBMAPClassifier(**LEARN), X, np.array(["low", "mid", "up"])[np.digitize(y, [0, 2])], {}),
        "outputs": (GBMAPRegressor(**LEARN), X, np.column_stack([y, -y]), {}),
        "spread": (GBMAPRegressor(**LEARN), frame, y, {"measure": "spread"}),
        "forest": (RandomForestRegressor(10, random_state=0), X, y, {"distance_weight": 1.0}),
        "pipeline": (GBMAPRegressor(**LEARN), frame, y, {}),
    }[kind]
    monitor = DriftMonitor(fitted(model, rows, target, **options), random_state=0)
    new = rows.iloc[:60].copy() if isinstance(rows, pd.DataFrame) else rows[:60].copy()
    some = [None if k % 2 else label for k, label in enumerate(target[:60].tolist())]
    if kind == "outputs":
        some = np.where(np.arange(60)[:, None] % 2, np.nan, target[:60])
    update = monitor.update(new, some, ids=range(60))
    assert update.n_labelled == 30
    assert monitor.add_labels(range(60), target[:60]).n_labelled == 30
    if isinstance(new, pd.DataFrame):  # a category that was never seen, and values that are missing
        new["town"], new["a"] = "Lund", np.nan
    else:
        new[:, 0] += 30
    for _ in range(4):
        monitor.update(new)
    if kind in ("classes", "outputs", "forest"):
        assert monitor.alarms_
    json.dumps(update.to_dict())
    if kind != "forest":
        gbmap.save(monitor, tmp_path / "monitor.gbmap")
        assert gbmap.load(tmp_path / "monitor.gbmap").to_prometheus() == monitor.to_prometheus()


def test_the_quick_signal_is_right_for_one_look_and_wrong_for_many(monitor):
    # The number of alarms among 20 rows takes few values: the chance of one that counts is 2 to 5 %, so that
    # it takes a hundred looks and more to be sure of seeing it.
    updates = feed(monitor, draw(20 * 200, 17)[0], size=20)
    share = np.mean([update.batch_p_value <= 0.05 for update in updates])
    assert 0 < share < 0.09
    assert not monitor.alarms_


def test_the_record_of_many_batches_is_bounded_and_loses_no_row(detector):
    monitor = DriftMonitor(detector, random_state=0)
    monitor.update(*draw(1, 0), time="first")
    timeline = monitor.state_.timeline
    for k in range(5000):
        timeline.add(f"{k}", f"{k}", first_row=1 + k, n_rows=1, n_alarms=k % 2, log_capital=float(k))
    assert len(timeline) <= 2000
    assert timeline["n_rows"].sum() == 5001
    assert timeline["n_alarms"].sum() == pytest.approx(2500, abs=1)
    assert timeline["first_row"].tolist() == sorted(timeline["first_row"])
    assert timeline["log_capital"][-1] == 4999
    assert (timeline.begins[0], timeline.ends[-1]) == ("first", "4999")
    last = timeline["first_row"] + timeline["n_rows"] - 2
    assert timeline["log_capital"].tolist() == np.maximum(last, 0).tolist()
    for begin, end, first, n in zip(
        timeline.begins, timeline.ends, timeline["first_row"], timeline["n_rows"]
    ):
        assert end == str(int(first + n - 2))
        assert begin in ("first", str(int(first - 1)))


def test_metrics_are_in_the_text_format_of_prometheus(monitor):
    monitor.update(*draw(40, 1))
    text = monitor.to_prometheus(model='a "b"\n')
    assert 'gbmap_monitor_rows_total{model="a \\"b\\"\\n"} 40\n' in text
    names = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert {line.split("{")[0] for line in lines} == set(names)
    assert all(np.isfinite(float(line.rsplit(" ", 1)[1])) for line in lines)


def test_a_monitor_knows_its_own_detector(detector, monitor, tmp_path):
    gbmap.save(monitor.detector, tmp_path / "detector.gbmap")
    assert monitor.is_of(gbmap.load(tmp_path / "detector.gbmap"))
    assert not monitor.is_of(fitted(GBMAPRegressor(**LEARN), *draw(800, 15)))


def test_columns_are_those_of_the_last_rows_since_the_change():
    found = Suspects.new()
    for row in range(300):
        found.add(
            np.array([row]), np.array([[1.0, row]]), np.zeros((1, 1), np.uint8), np.zeros((1, 2), dtype=bool)
        )
    assert found.rows.tolist() == list(range(100, 300))
    assert found.columns(since=298) == [(1, 298.5), (0, 1.0)]
    assert found.columns(since=300) == []


@pytest.mark.parametrize(
    ("n_strange", "order"), [(0, [0, 1]), (1, [0, 2, 1]), (3, [2, 0, 1]), (4, [2, 0, 1])]
)
def test_columns_are_blamed_by_the_rows_that_they_alarm(n_strange, order):
    found, strange = Suspects.new(), np.zeros((4, 3), dtype=bool)
    strange[:n_strange, 2] = True
    shares = np.tile([3.0, 1.0, 0.0], (4, 1))
    found.add(np.arange(4), shares, np.zeros((4, 1), np.uint8), strange)
    assert found.columns(since=0) == [(k, float(shares[0, k])) for k in order]


def mixed(n, seed):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"]).assign(c=rng.choice(["x", "y", "z"], n))
    return X, X["b"] ** 2 + 3 * (X["c"] == "x") + 0.3 * X["a"]


@pytest.mark.parametrize(("column", "value"), [("a", np.nan), ("c", "new")])
@pytest.mark.parametrize("is_restarted", [False, True])
def test_a_monitor_blames_the_column_that_makes_rows_strange(column, value, is_restarted, tmp_path):
    X, y = mixed(500, 0)
    model = GBMAPRegressor(5, random_state=0).fit(X[:300], y[:300])
    detector = DriftDetector(model).fit(X[:300], y[:300], X_cal=X[300:], y_cal=y[300:])
    monitor, (Z, _) = DriftMonitor(detector, random_state=0), mixed(200, 1)
    monitor.update(Z[:50])
    if is_restarted:
        gbmap.save(monitor, tmp_path / "monitor.gbmap")
        monitor = gbmap.load(tmp_path / "monitor.gbmap")
    moved = Z[50:].assign(**{column: value})
    alarm = monitor.update(moved).new_alarms[0]
    assert alarm.columns[0] == column == detector.verdict(moved).findings[0].column
    assert f"by {column}, " in alarm.summary
    sizes = detector.explain(moved).sizes
    k = list(X).index(column)
    assert alarm.shares[0] == pytest.approx(sizes[:, k].mean(), rel=0.05)  # still of f - f_kNN


def test_labels_of_a_class_that_the_model_does_not_know_are_refused_with_a_way_out():
    X, y = draw(400, 0)
    labels = np.where(y > 1, "high", "low").astype(object)
    monitor = DriftMonitor(fitted(GBMAPClassifier(**LEARN), X, labels), random_state=0)
    new = labels[:20].copy()
    new[3] = "odd"
    with pytest.raises(ValueError, match=r"\['high', 'low'\], got \['odd'\] too; pass None in their place"):
        monitor.update(X[:20], new)
    monitor.update(X[:20], ids=range(20))
    with pytest.raises(ValueError, match="pass None in their place"):
        monitor.add_labels([3], ["odd"])
    assert (monitor.n_rows_, monitor.n_waiting_) == (20, 20)
    new[3] = None
    assert monitor.add_labels(range(20), new).n_labelled == 19
