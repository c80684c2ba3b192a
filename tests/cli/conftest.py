"""Tables as people have them, and the program run on them."""

import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

from gbmap.cli import main  # noqa: E402

CHOSEN = ["--beta", "5", "--l2", "0.001"]


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


def orders(n, seed):
    """Return a table as shops have them: identifiers, many categories, dates, holes, names in any writing."""
    rng = np.random.default_rng(seed)
    often = 1 / np.arange(1, 61)  # a few cities are frequent, most are rare
    frame = pd.DataFrame(
        {
            "id": 2**60 + 977 * rng.permutation(n),
            'order "no."': [f"№ {seed}-{i:04d}" for i in range(n)],
            "päron, kg": rng.gamma(3, 2, n).round(2),
            "customer's age": rng.integers(18, 90, n).astype(float),
            "city": rng.choice([f"Stad {i}'s «hamn»" for i in range(60)], n, p=often / often.sum()),
            "seller": rng.choice([f"säljare {i}" for i in range(25)], n),
            "product": rng.choice([f'{i}" pipe' for i in range(1, 26)], n),
            "colour": rng.choice(["red", "blå", "緑", "жёлтый", "a, b"], n),
            "member": rng.choice([True, False], n).astype(object),
            "ordered": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 700, n), "D"),
            "logged at": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 60_000_000, n), "s"),
            "mixed": np.where(rng.random(n) < 0.5, rng.integers(0, 3, n).astype(str), "other"),
            "note": [f"please ring {i} times" for i in rng.permutation(10 * n)[:n]],
            "country": "SE",
            "unused": np.nan,
        }
    )
    worth = (
        3 * (frame["päron, kg"] - 5).abs()
        + 4 * (frame["colour"] == "緑")
        + 5 * (frame["city"] == "Stad 0's «hamn»")
        + 3 * (frame["product"] == '3" pipe')
        + 2 * frame["member"].astype(float)
        + rng.normal(0, 0.5, n)
    )
    frame["paid"] = worth.round(2)
    frame["kept?"] = np.where(worth > 10, "yes, it's kept", 'no: "back"')
    frame["grade"] = pd.cut(worth, [-np.inf, 5, 10, 15, np.inf], labels=list("ABCD")).astype(str)
    for name in ("päron, kg", "customer's age", "city", "colour", "member", "ordered"):
        frame.loc[rng.random(n) < 0.08, name] = None
    return frame


@pytest.fixture
def run(capsys, monkeypatch):
    """Return a function that runs the program in this process, with no progress however long it takes."""
    monkeypatch.setattr("gbmap.cli._screen._SECONDS_BETWEEN_LINES", np.inf)

    def run(*arguments, stdin=None):
        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(stdin)))
        capsys.readouterr()
        code = main([str(each) for each in arguments])
        return Ended(code, *capsys.readouterr())

    return run


@pytest.fixture
def start():
    """Return a function that starts the program as a process of its own.

    How long that takes depends on what else the machine does, and so does progress: say --quiet.
    """

    def start(*arguments, env=None, **options):
        command = [sys.executable, "-m", "gbmap", *map(str, arguments)]
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
        return subprocess.Popen(command, env=os.environ | (env or {}), text=True, **pipes)

    return start


def quietly(*arguments):
    """Run the program where there is no test to catch what it prints, and return that."""
    out, sys.stdout = sys.stdout, io.StringIO()
    try:
        assert main([str(each) for each in arguments]) == 0
        return sys.stdout.getvalue()
    finally:
        sys.stdout = out


@dataclass(frozen=True)
class Shop:
    """Models of one target of a shop's orders, and the tables: those of the fit, and later ones."""

    folder: Path
    target: str
    is_sparse: bool
    options: tuple
    fitted: dict  # what the fit printed

    @property
    def later(self):
        return pd.read_csv(self.folder / "later.csv", dtype=str, keep_default_na=False, na_values=[""])


SHOPS = {
    "numbers": ("paid", True),
    "two classes": ("kept?", True),
    "many classes": ("grade", True),
    "dense": ("kept?", False),
}


# "dense" has two classes too, and others are sparse too.
@pytest.fixture(
    scope="session",
    params=[
        pytest.param(name, marks=[pytest.mark.nightly] * (name == "two classes"), id=name) for name in SHOPS
    ],
)
def shop(request, tmp_path_factory):
    """A shop with two models of a target, whose categories are encoded sparsely or densely."""
    target, is_sparse = SHOPS[request.param]
    folder = tmp_path_factory.mktemp("shop")
    orders(400, 0).to_csv(folder / "orders.csv", index=False)
    orders(150, 1).to_csv(folder / "later.csv", index=False)
    left_out = [name for name in ("paid", "kept?", "grade") if name != target]
    left_out += [] if is_sparse else ["city", "seller"]
    options = [word for name in left_out for word in ("--drop", name)]
    options += ["-t", target, "--beta", 5, "--l2", 3, "-q"]
    given = ["fit", folder / "orders.csv", *options, "--json"]
    fitted = json.loads(quietly(*given, "-m", 3, "-o", folder / "model.gbmap"))
    quietly(*given, "-m", 2, "--seed", 1, "-o", folder / "other.gbmap")
    return Shop(folder, target, is_sparse, tuple(options), fitted)


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
        options = ["--drop", other, "--components", "6", *CHOSEN, "--quiet", "--json"]
        given = ["fit", folder / "houses.csv", "-t", target, "-o", folder / f"{model}.gbmap", *options]
        quietly(*given)
    return folder


@pytest.fixture(scope="session")
def blind(folder):
    """A model of prices that knows neither cities nor ages."""
    options = ["--drop", "class", "--drop", "city", "--drop", "age", "-m", 6, *CHOSEN, "-q"]
    quietly("fit", folder / "houses.csv", "-t", "price", "-o", folder / "blind.gbmap", *options)
    return folder / "blind.gbmap"


@pytest.fixture(scope="session")
def rare(folder):
    """A table with rare categories, and a model of it."""
    rows = pd.read_csv(folder / "houses.csv", dtype=str)
    rng = np.random.default_rng(0)
    rows["street"] = rng.choice([f"street {i}" for i in range(40)], len(rows), p=[0.3, 0.3, *[0.4 / 38] * 38])
    rows.loc[::9, "street"] = None
    rows.loc[1, "street"] = "a street of one row"
    rows["price"] = (
        rows["price"].astype(float)
        + 30 * (rows["street"] == "street 0")
        - 20 * (rows["street"] == "street 7")
    )
    rows.to_csv(folder / "rare.csv", index=False)
    options = ["--drop", "class", "-m", 4, *CHOSEN, "-q"]
    quietly("fit", folder / "rare.csv", "-t", "price", "-o", folder / "rare.gbmap", *options)
    return rows
