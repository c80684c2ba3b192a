"""The examples of the page on monitoring: a service, asked by a client over HTTP, and a daily script."""

import http.client
import json
import os
import runpy
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

import gbmap  # noqa: E402
from gbmap.tables import TableModel  # noqa: E402

EXAMPLES = Path(__file__).parents[1] / "docs" / "examples"


def houses(n, seed, move=0.0):
    rng = np.random.default_rng(seed)
    size, town = rng.normal(100, 20, n) + move, rng.choice(["Oslo", "Turku"], n)
    price = 3 * np.abs(size - 90) + 20 * (town == "Oslo") + rng.normal(0, 3, n)
    return pd.DataFrame({"size": size, "town": town, "price": price, "id": [f"{seed}-{k}" for k in range(n)]})


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A file of a model of prices."""
    path = tmp_path_factory.mktemp("served") / "houses.gbmap"
    gbmap.save(TableModel("price", n_components=5).fit(houses(800, 0), drop=["id"]), path)
    return path


@pytest.fixture(scope="module")
def server(model):
    """The port of a server in a process of its own, which ends with the tests, and its state."""
    for name in ("fastapi", "uvicorn"):
        pytest.importorskip(name)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    state = model.with_name("state.gbmap")
    env = os.environ | {"GBMAP_MODEL": str(model), "GBMAP_STATE": str(state)}
    command = [sys.executable, "-m", "uvicorn", "serve:app", "--port", str(port), "--log-level", "warning"]
    process = subprocess.Popen(command, cwd=EXAMPLES, env=env)
    try:
        _wait(port, process)
        for path in ("/drift", "/metrics"):  # before there are rows, as a probe asks
            assert ask(port, "GET", path)[0] == 200
        yield port
    finally:
        process.terminate()
        process.wait(30)
    assert gbmap.load(state).n_rows_ > 0


def _wait(port, process):
    for _ in range(300):
        assert process.poll() is None
        try:
            return socket.create_connection(("127.0.0.1", port), 0.1).close()
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the server did not start")


def ask(port, method, path, body=None, headers=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    text = body if isinstance(body, bytes) else None if body is None else json.dumps(body)
    connection.request(method, path, text, {"Content-Type": "application/json"} | (headers or {}))
    response = connection.getresponse()
    answer = response.status, response.read().decode()
    connection.close()
    return answer


def rows_of(frame):
    return frame[["size", "town"]].to_dict("records")


def test_rows_are_predicted_and_those_not_to_trust_say_why(server, model):
    rows = [*rows_of(houses(3, 1)), {"size": 900.0, "town": "Oslo"}, {"size": None, "town": "Lund"}]
    status, text = ask(server, "POST", "/predict", {"rows": rows})
    assert status == 200
    answers = json.loads(text)["rows"]
    expected = gbmap.load(model).predict(pd.DataFrame(rows))
    assert [each["prediction"] for each in answers] == expected.tolist()
    assert [each["trusted"] for each in answers[:4]] == [True, True, True, False]
    assert answers[3]["because_of"] == "size"
    assert answers[3]["p_value"] < 0.05
    assert [answers[4][key] for key in ("trusted", "because_of")] == [False, "size"]
    assert answers[0]["because_of"] is None


def test_requests_at_the_same_time_get_their_own_answers(server, model):
    frame = houses(40, 2)
    expected, found = gbmap.load(model).predict(frame), {}

    def one(k):
        _, text = ask(
            server, "POST", "/predict", {"rows": rows_of(frame[k : k + 1]), "ids": [f"at once {k}"]}
        )
        found[k] = json.loads(text)["rows"][0]["prediction"]

    threads = [threading.Thread(target=one, args=(k,)) for k in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[k] for k in range(40)] == expected.tolist()
    status, text = ask(server, "POST", "/labels", {"ids": ["at once 3", "nobody"], "targets": [1.0, 2.0]})
    assert (status, json.loads(text)["used"], json.loads(text)["unknown"]) == (200, 1, 1)


def test_what_cannot_be_answered_is_refused_and_the_next_request_is_answered(server):
    good = {"rows": rows_of(houses(1, 3))}
    refused = [
        ({"rows": []}, 422),
        ({"rows": [{}] * 101}, 422),
        ({"rows": [{"size": "large"}]}, 422),
        ({"rows": [{"size": [1]}]}, 422),
        ({"rows": good["rows"] * 2, "ids": ["a"]}, 422),
        ({"rows": good["rows"] * 2, "ids": ["twice", "twice"]}, 422),
        (b'{"rows": [' + b" " * 1_000_001 + b"]}", 413),
        (b"no json", 422),
    ]
    for body, status in refused:
        assert ask(server, "POST", "/predict", body)[0] == status
        assert ask(server, "POST", "/predict", good)[0] == 200
    assert ask(server, "POST", "/labels", {"ids": ["a"], "targets": [1.0, 2.0]})[0] == 422


def test_the_script_that_measures_the_rate_gets_answers(server, tmp_path):
    row = tmp_path / "row.json"
    row.write_text(json.dumps(rows_of(houses(1, 4))[0]))
    script = [sys.executable, EXAMPLES / "load.py", str(server), row, "4", "1"]
    ended = subprocess.run(script, capture_output=True, text=True)
    assert ended.stdout.startswith("4 clients: "), ended.stderr


def test_drift_is_told_over_http_too(server):
    assert json.loads(ask(server, "GET", "/drift")[1])["drift"] is False
    for seed in range(4):
        body = {"rows": rows_of(houses(50, 10 + seed, move=200.0))}
        assert ask(server, "POST", "/predict", body)[0] == 200
    found = json.loads(ask(server, "GET", "/drift")[1])
    assert found["drift"] is True
    assert found["alarms"][0]["columns"][0] == "size"
    assert "gbmap_monitor_drift 1\n" in ask(server, "GET", "/metrics")[1]


def test_the_daily_script_goes_on_from_day_to_day(model, tmp_path, monkeypatch, capsys):
    frame = pd.concat([houses(96, 20), houses(48, 21, move=150.0)], ignore_index=True)
    frame["id"] = [f"h{k}" for k in range(len(frame))]
    frame["when"] = pd.date_range("2026-01-01", periods=len(frame), freq="15min").strftime("%Y-%m-%dT%H:%M")
    files = [tmp_path / name for name in ("rows.csv", "labels.csv", "state.gbmap")]

    def day(rows, labels):
        rows.drop(columns="price").to_csv(files[0], index=False)
        labels[["id", "price"]].to_csv(files[1], index=False)
        script = EXAMPLES / "watch_daily.py"
        monkeypatch.setattr(sys, "argv", [str(each) for each in (script, model, *files)])
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(script), run_name="__main__")
        printed = capsys.readouterr()
        return ended.value.code, [json.loads(line) for line in printed.out.splitlines()], printed.err

    code, told, errors = day(frame[:96], frame[:0])
    assert code == 0, errors
    assert len(told) == 25
    code, told, errors = day(frame, frame[:96])  # the file has grown
    assert code == 1
    assert len(told) == 13
    assert told[-1]["n_labelled"] == 96
    assert "size" in errors
    assert day(frame, frame[:96])[1][-1]["n_labelled"] == 0
