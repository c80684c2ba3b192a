"""The state of a monitor in a file: whole and possible, or refused."""

import json

import numpy as np
import pytest

import gbmap
from gbmap import DriftDetector, GBMAPRegressor
from gbmap._files.codec import encode
from gbmap._files.container import Container, write
from gbmap._utils.text import number
from gbmap.drift import DriftMonitor
from gbmap.persistence import ModelFileError
from gbmap.persistence.model_files import _REGISTRY

OWN = {
    "DriftMonitor", "drift.Stream", "drift.Urn", "drift.Martingale", "drift.Timeline", "drift.Suspects",
    "drift.MonitorAlarm", "drift.MonitorState",
}  # fmt: skip
ODD = [None, -1, "x", ["x"], {"float": "nan"}, 10**30]


@pytest.fixture(scope="module")
def lived():
    """A monitor with an alarm, rows that wait and a block that is not complete, and rows for it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    model = GBMAPRegressor(2, random_state=0).fit(X[:100], X[:100, 0] ** 2)
    detector = DriftDetector(model).fit(X[:100], X[:100, 0] ** 2, X_cal=X[100:], y_cal=X[100:, 0] ** 2)
    monitor = DriftMonitor(detector, block=3, random_state=0)
    monitor.calibrate(X[100:], X[100:, 0] ** 2, season=np.arange(200) % 2)
    monitor.update(X[:50] + 4, X[:50, 0], season=0, time="noon")
    monitor.update(X[:5], ids=list("abcde"), season=[0, 1, 1, 1, 1])
    assert monitor.alarms_
    return monitor, X


def state_of(monitor):
    content, arrays = encode(monitor, _REGISTRY)
    return json.loads(json.dumps(content)), arrays


def own_parts(content):
    if isinstance(content, dict):
        if "instance" in content and content["instance"][0] in OWN:
            yield content["instance"]
        for item in content.values():
            yield from own_parts(item)
    elif isinstance(content, list):
        for item in content:
            yield from own_parts(item)


def load(content, arrays, path):
    write(path, Container(content, arrays, {}))
    return gbmap.load(path)


def use(monitor, X):
    monitor.update(X[:7], np.zeros(7), season=1, ids=range(7), time="later")
    monitor.add_labels(["a", "b"], [1.0, 2.0])
    monitor.to_prometheus()


def test_every_part_of_a_state_is_there_or_it_is_refused(lived, tmp_path):
    monitor, _ = lived
    content, arrays = state_of(monitor)
    parts = list(own_parts(content))
    assert {name for name, _ in parts} == OWN
    for _, members in parts:
        for member in list(members):
            value = members.pop(member)
            if member == "metric":  # files of before tell losses as they are
                alarms = load(content, arrays, tmp_path / "m").alarms_
                told = f"Mean loss {number(alarms[0].calibration_loss)} "
                assert sum(told in alarm.summary for alarm in alarms) == 1
            elif member == "strange":  # files of before do not tell it
                use(load(content, arrays, tmp_path / "m"), lived[1])
            elif member not in ("_sklearn_version", "state_"):  # without a state it has not begun
                with pytest.raises(ModelFileError):
                    load(content, arrays, tmp_path / "m")
            members[member] = value
    use(load(content, arrays, tmp_path / "m"), lived[1])


@pytest.mark.parametrize("share", [4, pytest.param(1, marks=pytest.mark.nightly)])
def test_an_impossible_member_is_refused_or_does_no_harm(lived, tmp_path, share):
    monitor, X = lived
    content, arrays = state_of(monitor)
    n_refused = 0
    for position, (_, members) in enumerate(own_parts(content)):
        for place, member in enumerate(members):
            value = members[member]
            for odd in ODD[(position + place) % share :: share]:
                members[member] = odd
                try:
                    use(load(content, arrays, tmp_path / "m"), X)
                except ModelFileError:
                    n_refused += 1
                finally:
                    members[member] = value
    assert n_refused > 300 / share


@pytest.mark.parametrize(
    "row",
    [
        [0, "0", "00"],
        [0, "0", "zz", 1.0],
        [0, "0", "0000", 1.0],
        [0.5, "0", "00", 1.0],
        [0, 1, "00", 1.0],
        "r",
    ],
)
def test_a_row_that_cannot_wait_is_refused(lived, tmp_path, row):
    monitor, _ = lived
    content, arrays = state_of(monitor)
    state = content["instance"][1]["state_"]["instance"][1]
    state["waiting"]["dict"][0][1] = row
    with pytest.raises(ModelFileError):
        load(content, arrays, tmp_path / "m")


def test_a_state_of_before_it_was_an_object_of_its_own_goes_on(lived, tmp_path):
    monitor, X = lived
    content, arrays = state_of(monitor)
    members = content["instance"][1]
    state = members.pop("state_")["instance"][1]
    state.pop("marks")
    members |= {f"_{name}": value for name, value in state.items()}
    members["n_labelled_"], members["alarms_"] = members.pop("_n_labelled"), members.pop("_alarms")
    members["n_rows_"] = monitor.n_rows_
    found = load(content, arrays, tmp_path / "m")
    assert found.to_prometheus() == monitor.to_prometheus()
    use(found, X)
    assert found.n_rows_ == monitor.n_rows_ + 7
