"""Coordinates of many sizes, some of which fail."""

from benchmarks import methods
from benchmarks.experiments import features
from benchmarks.methods.base import Coordinates
from benchmarks.records import OK, read_rows
from benchmarks.runner import Settings


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
