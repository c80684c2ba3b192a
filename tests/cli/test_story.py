"""The whole story, on data that nobody prepared: text, missing values, another delimiter."""

import io
import json
import os

import numpy as np
import pandas as pd
import pytest

from gbmap.datasets import load_paper_dataset

needs_data = pytest.mark.skipif(not os.environ.get("GBMAP_DATA"), reason="GBMAP_DATA names no folder")


@pytest.fixture
def credits(tmp_path):
    """German credits with holes in them, those that are known and those that come later, by semicolons."""
    X, y = load_paper_dataset("german-credit")
    rows = X.assign(risk=np.where(y > 0, "good", "bad"))
    rng = np.random.default_rng(0)
    for name in ("savings_status", "age", "job"):
        rows[name] = rows[name].astype(object).where(rng.random(len(rows)) > 0.1)
    rows.insert(0, "number", range(1, len(rows) + 1))
    rows.loc[:699].to_csv(tmp_path / "known.csv", sep=";", index=False)
    rows.loc[700:].drop(columns="risk").to_csv(tmp_path / "later.csv", sep=";", index=False)
    long = rows.loc[700:].assign(duration=rows["duration"] + 40, job="seaman")
    long.to_parquet(tmp_path / "long.parquet")
    return tmp_path


@needs_data
def test_credits_from_a_raw_file_to_a_drift_alarm(run, credits, monkeypatch):
    monkeypatch.chdir(credits)
    fitted = run("fit", "known.csv", "-t", "risk", "-o", "risk.gbmap", "--l2", 1, "-m", 8, "--json")
    document = json.loads(fitted.out)
    kinds = {column["name"]: column["kind"] for column in document["columns"]}
    assert (document["task"], kinds["number"], kinds["job"]) == ("classification", "dropped", "category")
    assert document["scores"]["gbmap"]["log_loss"] < document["scores"]["constant"]["log_loss"]
    predicted = pd.read_csv(
        io.StringIO(run("predict", "risk.gbmap", "later.csv", "-k", "number", "--drift").out)
    )
    assert list(predicted["number"]) == list(range(701, 1001))
    assert set(predicted["prediction"]) == {"good", "bad"}
    assert predicted["drift_alarm"].mean() < 0.15
    assert run("drift", "risk.gbmap", "later.csv").code == 0
    drifted = run("drift", "risk.gbmap", "long.parquet", "--json")
    assert drifted.code == 1
    assert json.loads(drifted.out)["columns"][0]["column"] == "duration"
    assert (
        run("report", "known.csv", "-t", "risk", "--new", "long.parquet", "-o", "p.html", "-m", 4).code == 0
    )
    for to in ("sql", "onnx"):
        assert run("export", "risk.gbmap", "--to", to, "-o", f"risk.{to}").code == 0
