"""Coordinates of many sizes, some of which fail, and what the README says of them."""

from pathlib import Path
from statistics import median

from benchmarks import methods
from benchmarks.experiments import features
from benchmarks.methods.base import Coordinates
from benchmarks.records import OK, latest, read_rows
from benchmarks.runner import Settings
from benchmarks.scores import Scores

README = Path(__file__).parents[2] / "README.md"


class Crashing:
    """Columns of X as coordinates, which end at the second and the third size."""

    name = "crashing"

    def embed(self, split, sizes, *, seed):
        for m in sizes:
            if m in (8, 12):
                raise RuntimeError(f"no {m}")
            if m <= split.train.X.shape[1]:
                yield Coordinates(m, split.train.X[:, :m], split.test.X[:, :m], 1.0)


def test_a_crash_at_one_size_is_a_row_and_leaves_the_others(tmp_path, monkeypatch):
    monkeypatch.setattr(methods, "FEATURES", (Crashing(),))
    features.run(Settings(repeats=1, datasets=("synth-cos-r-300x20",), results=tmp_path))
    status = {row["m"]: row["status"] for row in read_rows(tmp_path / "features.csv") if row["m"]}
    assert status == {
        **dict.fromkeys(("2", "16"), OK),
        **{m: f"failed: RuntimeError: no {m}" for m in ("8", "12")},
        **dict.fromkeys(("32", "64", "128"), "p < m"),
    }


def test_the_scores_in_the_readme_are_the_measured_ones(measured):
    scores = Scores.of(latest(read_rows(measured / "features.csv")))
    table = README.read_text().split("| 8 refined |\n")[1].split("\n\n")[0]
    for name, *shown in ([cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[1:]):
        methods = ("linear", "pca-m8", "gbmap-m8", "gbmap-refined-m8")
        assert shown == [f"{median(scores.values(name, method)):.3f}" for method in methods], name
