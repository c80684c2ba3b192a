"""The state of a monitor in a file: whole and possible, or refused."""

import json

import numpy as np
import pytest

import gbmap
from gbmap import DriftDetector, GBMAPRegressor
from gbmap._files.codec import encode
from gbmap._files.container import Container, write
from gbmap.drift import DriftMonitor
from gbmap.persistence import ModelFileError
from gbmap.persistence.model_files import _REGISTRY

OWN = {
    "DriftMonitor", "drift.Stream", "drift.Urn", "drift.Martingale", "drift.Timeline", "drift.Suspects",
    "drift.MonitorAlarm",
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
            if member != "_sklearn_version":
                with pytest.raises(ModelFileError):
                    load(content, arrays, tmp_path / "m")
            members[member] = value
    use(load(content, arrays, tmp_path / "m"), lived[1])


def test_an_impossible_member_is_refused_or_does_no_harm(lived, tmp_path):
    monitor, X = lived
    content, arrays = state_of(monitor)
    n_refused = 0
    for _, members in own_parts(content):
        for member in list(members):
            value = members[member]
            for odd in ODD:
                members[member] = odd
                try:
                    use(load(content, arrays, tmp_path / "m"), X)
                except ModelFileError:
                    n_refused += 1
                finally:
                    members[member] = value
    assert n_refused > 300


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
    content["instance"][1]["_waiting"]["dict"][0][1] = row
    with pytest.raises(ModelFileError):
        load(content, arrays, tmp_path / "m")
