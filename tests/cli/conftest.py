"""Tables as people have them, and the program run on them."""

import io
import os
import subprocess
import sys
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

from gbmap.cli import main  # noqa: E402


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str


def houses(n, seed, **changes):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "id": [f"h{seed}-{i:05d}" for i in range(n)],
            "size": rng.normal(100, 25, n).round(1),
            "age": rng.integers(0, 80, n).astype(float),
            "city": rng.choice(["Oslo", "Turku", "Lund"], n),
            "sold": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 700, n), "D"),
            "noise": rng.normal(size=n).round(3),
        }
    )
    frame = frame.assign(**changes)
    value = (
        2 * frame["size"] + 3 * (frame["size"] - 110).clip(lower=0) + 2 * (30 - frame["age"]).clip(lower=0)
    )
    price = value + 40 + 60 * (frame["city"] == "Oslo") + rng.normal(0, 5, n)
    frame["price"] = price.round(1)
    frame["class"] = pd.cut(price, [-np.inf, 240, 320, np.inf], labels=["cheap", "usual", "dear"]).astype(str)
    frame["sold"] = frame["sold"].dt.strftime("%Y-%m-%d")
    frame.loc[rng.random(n) < 0.05, "age"] = np.nan
    frame.loc[rng.random(n) < 0.05, "city"] = None
    return frame


@pytest.fixture
def run(capsys, monkeypatch):
    """Return a function that runs the program in this process."""

    def run(*arguments, stdin=None):
        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(stdin)))
        capsys.readouterr()
        code = main([str(each) for each in arguments])
        return Ended(code, *capsys.readouterr())

    return run


@pytest.fixture
def start():
    """Return a function that starts the program as a process of its own."""

    def start(*arguments, env=None, **options):
        command = [sys.executable, "-m", "gbmap.cli", *map(str, arguments)]
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
        return subprocess.Popen(command, env=os.environ | (env or {}), text=True, **pipes)

    return start


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A folder with tables of houses, and models of their prices and classes."""
    folder = tmp_path_factory.mktemp("houses")
    houses(600, 0).to_csv(folder / "houses.csv", index=False)
    houses(200, 1).to_csv(folder / "more.csv", index=False)
    far = houses(200, 2)
    far["size"] = far["size"] + 120
    far.to_csv(folder / "far.csv", index=False)
    for model, target, other in (("price", "price", "class"), ("class", "class", "price")):
        options = ["--drop", other, "--components", "6", "--quiet", "--json"]
        given = ["fit", folder / "houses.csv", "-t", target, "-o", folder / f"{model}.gbmap", *options]
        out, sys.stdout = sys.stdout, io.StringIO()
        try:
            assert main([str(each) for each in given]) == 0
        finally:
            sys.stdout = out
    return folder
