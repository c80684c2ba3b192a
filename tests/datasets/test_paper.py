"""load_paper_dataset with every source faked, and with the real files where GBMAP_DATA names them."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import os
import subprocess
import sys
import urllib.error
import zipfile
from pathlib import Path

import numpy as np
import pytest
import sklearn.datasets
from sklearn.utils import Bunch

import gbmap
from gbmap.datasets import load_paper_dataset
from gbmap.datasets._sources import SOURCES
from gbmap.datasets.paper import _level, _verify

REGRESSION = ["abalone", "airquality", "autompg", "california", "concrete", "cpu-small", "qm9-10k"]
REGRESSION += ["superconductor", "wine-red", "wine-white"]
CLASSIFICATION = ["breast-cancer", "diabetes", "eeg-eye-state", "german-credit"]
CLASSIFICATION += ["higgs-10k-h2o", "higgs-10k-openml-sample"]
NAMES = REGRESSION + CLASSIFICATION


@pytest.fixture
def no_folder(monkeypatch):
    pytest.importorskip("pandas")
    monkeypatch.delenv("GBMAP_DATA", raising=False)


@pytest.fixture
def known(monkeypatch):
    """Return a function that changes what is known of a data set."""

    def change(name, **changes):
        monkeypatch.setitem(SOURCES, name, dataclasses.replace(SOURCES[name], **changes))

    return change


# --- the folder -----------------------------------------------------------------------------------


@pytest.fixture
def data_folder(tmp_path, monkeypatch, known):
    """Return a function that writes a data set into the folder GBMAP_DATA."""
    pytest.importorskip("pandas")
    monkeypatch.setenv("GBMAP_DATA", str(tmp_path))

    def write(name, text, trusted=True):
        content = gzip.compress(text.encode())
        (tmp_path / f"{name}.csv.gz").write_bytes(content)
        if trusted:
            known(name, sha256=hashlib.sha256(content).hexdigest())

    return write


def test_a_file_in_the_folder_comes_first(data_folder, monkeypatch):
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", None)  # calling it would fail
    data_folder("abalone", "Sex,Length,target\nM,0.5,15\nnone,0.25,7\nNA,1,9\n")
    X, y = load_paper_dataset("abalone")
    assert X.to_dict("list") == {"Sex": ["M", "none", "NA"], "Length": [0.5, 0.25, 1.0]}
    assert y.dtype == np.float64
    assert y.tolist() == [15.0, 7.0, 9.0]


def test_classes_in_the_folder_are_integers(data_folder):
    data_folder("higgs-10k-h2o", "m_bb,target\n0.5,1\n0.25,-1\n")
    X, y = load_paper_dataset("higgs-10k-h2o")
    assert X.to_dict("list") == {"m_bb": [0.5, 0.25]}
    assert y.dtype == np.int64
    assert y.tolist() == [1, -1]


def test_a_file_with_another_checksum_is_refused(data_folder):
    data_folder("abalone", "Sex,target\nM,15\n", trusted=False)
    with pytest.raises(
        ValueError, match=r"abalone.csv.gz must have the SHA-256 checksum a69d.*, got .*replace"
    ):
        load_paper_dataset("abalone")


def test_a_folder_that_does_not_exist_is_an_error(monkeypatch, tmp_path):
    pytest.importorskip("pandas")
    monkeypatch.setenv("GBMAP_DATA", str(tmp_path / "typo"))
    with pytest.raises(FileNotFoundError, match=r"GBMAP_DATA must name a folder, got .*typo"):
        load_paper_dataset("breast-cancer")


def test_a_set_without_a_public_source_names_the_folder(no_folder):
    with pytest.raises(FileNotFoundError, match=r"qm9-10k has no public source.*GBMAP_DATA.*qm9-10k.csv.gz"):
        load_paper_dataset("qm9-10k")


# --- the public sources ---------------------------------------------------------------------------


def test_breast_cancer_is_not_in_the_folder_and_scikit_learns_with_benign_as_plus_one(data_folder):
    X, y = load_paper_dataset("breast-cancer")
    bunch = sklearn.datasets.load_breast_cancer()
    np.testing.assert_array_equal(X.to_numpy(), bunch.data)
    assert list(X.columns) == list(bunch.feature_names)
    assert y.dtype == np.int64
    np.testing.assert_array_equal(y, np.where(bunch.target_names[bunch.target] == "benign", 1, -1))


def _fake_openml(monkeypatch, data, target):
    def fetch_openml(*, data_id, as_frame, **options):
        assert as_frame
        calls.append(data_id)
        return Bunch(data=data, target=target)

    calls = []
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch_openml)
    return calls


def test_auto_mpg_from_openml(no_folder, monkeypatch, known):
    import pandas as pd

    raw = pd.DataFrame(
        {
            "cylinders": pd.Categorical(["8", "4", "4", "4"]),
            "displacement": [307.0, 97.0, 98.0, 121.0],
            "horsepower": [130.0, 88.0, np.nan, 113.0],
            "weight": [3504.0, 2130.0, 2046.0, 2234.0],
            "acceleration": [12.0, 14.5, 19.0, 12.5],
            "model": pd.Categorical(["70", "71", "71", "70"]),
            "origin": pd.Categorical(["1", "3", "1", "2"]),
        }
    )
    calls = _fake_openml(monkeypatch, raw, pd.Series([18.0, 27.0, 25.0, 26.0], name="class"))
    expected = raw.drop(index=2).reset_index(drop=True).drop(columns="model")
    expected = expected.assign(cylinders=[8, 4, 4], origin=["USA", "Japan", "Europe"])
    expected.insert(5, "year", [70, 71, 70])
    known("autompg", n=3, y_mean=71 / 3, x_level=_level(expected))
    X, y = load_paper_dataset("autompg")
    assert calls == [196]
    pd.testing.assert_frame_equal(X, expected)
    assert y.tolist() == [18.0, 27.0, 26.0]

    raw["origin"] = ["1", "2", "3", "4"]  # no such country: missing, not the text "nan"
    with pytest.raises(OSError, match="autompg could not be loaded from openml 196: a value is missing"):
        load_paper_dataset("autompg")


def test_classes_from_openml(no_folder, monkeypatch, known):
    import pandas as pd

    raw = pd.DataFrame({"age": [67, 22, 49], "housing": pd.Categorical(["own", "none", "own"])})
    target = pd.Series(pd.Categorical(["good", "bad", "good"]), name="class")
    calls = _fake_openml(monkeypatch, raw, target)
    level = (np.log([68, 23, 50]).mean() + np.log([4, 5, 4]).mean()) / 2
    known("german-credit", n=3, p=2, y_mean=1 / 3, x_level=level, text=frozenset({"housing"}))
    X, y = load_paper_dataset("german-credit")
    assert calls == [31]
    assert X.to_dict("list") == {"age": [67, 22, 49], "housing": ["own", "none", "own"]}
    assert not isinstance(X["housing"].dtype, pd.CategoricalDtype)
    assert y.dtype == np.int64
    assert y.tolist() == [1, -1, 1]


@pytest.fixture
def fake_uci(tmp_path, monkeypatch, no_folder):
    """Return a function that serves an archive with one file, and a list of what was asked for."""
    calls = []

    def serve(member, text):
        path = tmp_path / "archive.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(member, text)

        def fetch_file(url, sha256):
            calls.append((url, sha256))
            return path

        monkeypatch.setattr(sklearn.datasets, "fetch_file", fetch_file)
        return calls

    return serve


AIR = """\
Date;Time;CO(GT);PT08.S1(CO);NMHC(GT);T;;
10/03/2004;18.00.00;2,6;1360;150;13,6;;
10/03/2004;19.00.00;-200;1292;-200;13,3;;
10/03/2004;20.00.00;2,2;1402;88;-200;;
10/03/2004;21.00.00;2,2;1376;-200;-200;;
10/03/2004;22.00.00;1,6;-200;-200;-1,2;;
10/03/2004;23.00.00;1,2;1197;38;11,4;;
11/03/2004;00.00.00;1,2;1185;31;-200;;
;;;;;;;
;;;;;;;
"""


def test_air_quality_from_uci_fills_single_hours_and_drops_the_other_gaps(fake_uci, known):
    calls = fake_uci("AirQualityUCI.csv", AIR)
    sensor, temperature = np.array([1360, 1292, 1286.5, 1197]), np.array([13.6, 13.3, -1.2, 11.4])
    level = (np.log1p(sensor).mean() + np.log1p(np.abs(temperature)).mean()) / 2
    known("airquality", n=4, p=2, y_mean=7.8 / 4, x_level=level)
    X, y = load_paper_dataset("airquality")
    url = "https://archive.ics.uci.edu/static/public/360/air+quality.zip"
    assert calls == [(url, SOURCES["airquality"].archive_sha256)]
    assert list(X.columns) == ["PT08.S1(CO)", "T"]
    assert X.index.tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(X["PT08.S1(CO)"], sensor)
    np.testing.assert_allclose(X["T"], temperature)
    np.testing.assert_allclose(y, [2.6, 2.4, 1.6, 1.2])  # 2.4 lies between 2.6 and 2.2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("alcohol;quality\n9.5;5\n10.5;6\n10.5;6\n", r"the shape must be \(2, 1\), got \(3, 1\)"),
        ("alcohol;quality\n9.5;5\n;6\n", "a value is missing"),
        ("alcohol;quality\n9.5;5\n10.5;7\n", "the mean of the target must be 5.5, got 6"),
        ("alcohol;quality\n9.5;5\n10.6;6\n", "the level of the features must be 2.3.*, got 2.4"),
        ("alcohol;quality\n9.5;5\n10.5;six\n", "six"),
    ],
)
def test_a_public_source_with_other_data_is_refused(fake_uci, known, text, message):
    fake_uci("winequality-red.csv", text)
    known("wine-red", n=2, p=1, y_mean=5.5, x_level=np.log([10.5, 11.5]).mean())
    way_out = "Set the environment variable GBMAP_DATA to a folder with wine-red.csv.gz"
    with pytest.raises(OSError, match=f"wine-red could not be loaded from uci .*{message}.*{way_out}"):
        load_paper_dataset("wine-red")


def test_an_archive_without_the_file_is_refused(fake_uci):
    fake_uci("readme.txt", "")
    with pytest.raises(OSError, match=r"wine-red could not be loaded.*winequality-red\.csv.*GBMAP_DATA"):
        load_paper_dataset("wine-red")


def test_without_a_network_one_error_names_the_set_the_reason_and_the_way_out(no_folder, monkeypatch):
    def fail(**options):
        raise urllib.error.URLError("no network")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fail)
    with pytest.raises(OSError, match=r"abalone could not be loaded.*no network.*GBMAP_DATA.*abalone.csv.gz"):
        load_paper_dataset("abalone")


# --- names, pandas, the real files ----------------------------------------------------------------


def test_an_unknown_name_is_an_error_that_lists_the_names():
    with pytest.raises(ValueError, match=f"name must be one of {', '.join(NAMES)}, got 'iris'"):
        load_paper_dataset("iris")


def test_without_pandas_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r'pip install "gbmap\[data\]"'):
        load_paper_dataset("breast-cancer")


@pytest.mark.nightly
def test_nothing_else_needs_pandas_or_matplotlib():
    code = (
        "import sys; sys.modules['pandas'] = sys.modules['matplotlib'] = None\n"
        "from gbmap.datasets import drift_split, make_synth_cos\n"
        "X, y = make_synth_cos(20, 2, random_state=0)\n"
        "print(len(drift_split(X, y, None, feature=0).shifted))"
    )
    source = str(Path(gbmap.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])}
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False
    )
    assert (run.stdout.strip(), run.stderr) == ("10", "")


@pytest.mark.skipif(
    "GBMAP_DATA" not in os.environ, reason="GBMAP_DATA names no folder with the real data sets"
)
@pytest.mark.parametrize("name", NAMES)
def test_the_real_files_are_what_the_table_says(name):
    X, y = load_paper_dataset(name)
    source = SOURCES[name]
    _verify(X, y, source)  # so that public sources are held against the right numbers
    assert y.shape == (source.n,)
    assert y.dtype == (np.float64 if name in REGRESSION else np.int64)
    if name in CLASSIFICATION:
        assert sorted(set(y.tolist())) == [-1, 1]
    if source.kind == "openml":
        texts = {c for c in X if not np.issubdtype(X[c].to_numpy().dtype, np.number)}
        assert texts == source.text
    if source.columns is not None:
        assert tuple(X.columns) == source.columns
