"""What sections say about rows that are missing, failed or far apart."""

import json
import sys

import pytest

from benchmarks.experiments import neighbours as searches
from benchmarks.experiments.drift import INDICATORS
from benchmarks.problems import CLASSIFICATION_SETS, REGRESSION_SETS
from benchmarks.records import COLUMNS, OK, read_rows
from benchmarks.runner import Settings
from benchmarks.sections import costs, drift, drift_cuts, maps, neighbours, scaling, sets, shapley, stability


def row(problem, method, status=OK, extra=None, **columns):
    known = {"problem": problem, "method": method, "repeat": "0", "status": status}
    return dict.fromkeys(COLUMNS, "") | known | {"extra": json.dumps(extra or {})} | columns


def search(method, seconds, build):
    return row("few", method, extra={"build": build, "recall": 1.0}, seconds=str(seconds))


def test_searches_that_are_missing_failed_or_not_measured_are_named():
    rows = [search("kd_tree", 1.0, 0.5), row("few", "pynndescent", "missing: not installed")]
    rows.append(row("few", "brute", "failed: MemoryError: no room"))
    text = neighbours.section(rows)
    assert "| few | kd_tree | 1.00 | 0.500 | 1.00 |" in text
    assert "| few | ball_tree | - | - | - |" in text
    assert "| few | brute | failed | - | - |" in text
    assert "| few | pynndescent | missing | - | - |" in text


@pytest.mark.parametrize(("seconds", "told"), [(0.5, "- few: 20000"), (2.0, "- few: never")])
def test_an_approximate_search_pays_once_its_gain_has_paid_for_building(seconds, told):
    # Half a second saved on every thousand rows, for ten seconds more of building.
    rows = [search("kd_tree", 1.0, 0.5), search("pynndescent", seconds, 10.5)]
    assert neighbours.section(rows).endswith(told)


def test_a_search_that_crashes_leaves_a_row_as_other_experiments_do(tmp_path, monkeypatch):
    monkeypatch.setattr(searches, "TARGETS", {"few directions": searches.few_directions})
    monkeypatch.setattr(searches, "N_REFERENCE", (50,))
    monkeypatch.setattr(searches, "N_QUERIES", 20)
    monkeypatch.setattr(searches, "METHODS", ("kd_tree", "none", searches.APPROXIMATE))
    monkeypatch.setitem(sys.modules, "pynndescent", None)
    searches.run(Settings(results=tmp_path))
    done, crashed, missing = (found["status"] for found in read_rows(tmp_path / "neighbours.csv"))
    assert done == OK
    assert crashed.startswith("failed: ")
    assert missing == "missing: pynndescent is not installed"


def test_a_set_that_could_not_be_read_is_named():
    rows = [row("abalone", "load", extra={"task": "regression", "encoded": 10}, n="4177", p="8")]
    rows.append(row("autompg", "load", "failed: FileNotFoundError: no such file"))
    text = sets.section(rows)
    assert "| abalone | number | 4177 | 4177 | 8 | 8 | 10 | yes |" in text
    assert "| autompg | failed | - | 392 | - | 8 | - | - |" in text


def test_sets_without_drift_rows_are_counted_and_named():
    figures = {"auc": 0.9, "share": 0.5, "ratio": 3.0}
    extra = {"feature": "x", "loss": figures, "score": figures, "false_alarms": 0.05, "alarms": 0.5}
    known = [*REGRESSION_SETS, *CLASSIFICATION_SETS[1:]]
    rows = [row(name, method, extra=extra) for name in known for method in INDICATORS]
    assert [tally.missing for _, tally in drift.summary(rows)] == [0, 1, 1]
    assert f"not every indicator has a row: {CLASSIFICATION_SETS[0]}." in drift.section(rows)


def test_missed_targets_of_speed_are_named_with_their_sizes():
    times = {"gbmap": 1.0, "pca-full": 0.5, "lol": 2.0, "recipe-precompiled": 7.0, "recipe-user": 30.0}
    rows = [row("", method, seconds=str(time), n="1000000", p="25") for method, time in times.items()]
    text = scaling.section(rows)
    assert "divided by gbmap's median: 7.00 at 10^6 x 25." in text
    assert "- *every size: PCA with full SVD / gbmap, at least 1*: short at 10^6 x 25. With few" in text
    assert "recipe as a user meets it / gbmap, at least 20*: short" not in text


@pytest.mark.parametrize("trees", [(0.1, 0.4), ()])
def test_the_picture_of_costs_shows_the_best_point_of_every_method(trees):
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    scores = {"gbmap-8": 0.9} | dict(zip(("xgboost-3", "xgboost-30"), trees))
    rows = [
        row("california", method, extra={"score": score, "parameters": 9}, seconds="1")
        for method, score in scores.items()
    ]
    figure = costs.figures(rows)["costs"]
    for axes in figure.axes:
        low, top = axes.get_ylim()
        assert low < max(trees, default=0.9) <= 0.9 < top
    plt.close(figure)


def test_a_cut_agrees_with_the_paper_if_both_drifters_do():
    paper = {"gbmap": 0.96, "euclid": 0.87}
    rows = [
        row(f"qm9-10k by {feature}", method, extra={"score": score + off, "share": 0.5, "ratio": 2.0})
        | {"repeat": str(repeat)}
        for feature, wrong in (("nN", None), ("nO", "euclid"), ("MW", "gbmap"))
        for method, figure in paper.items()
        for score in [figure - 0.1 if method == wrong else figure]
        for repeat, off in enumerate((-0.01, 0.01))
    ]
    text = drift_cuts.section(rows)
    assert "| qm9-10k | nN | 0.50 | 2.0 | 0.96 ± 0.01 (2) | 0.96 | 0.87 ± 0.01 (2) | 0.87 | yes |" in text
    assert text.endswith("is cut by 1 of 3 features (nN).")


def test_a_map_that_is_behind_another_is_named_as_a_weak_spot():
    scores = {"pca": 0.1, "umap": 0.9, "gbmap": 0.8}
    rows = [row("concrete", method, extra={"score": score}) for method, score in scores.items()]
    glance = maps.glance(rows)
    assert glance.title.endswith("PCA's on 1 of 1, UMAP's on 0 of 1 tables")
    assert "ahead of gbmap: UMAP on concrete;" in glance.text


def test_a_coordinate_that_turns_its_sign_does_not_count_as_stable():
    rows = [row("digits", "map", extra={"first": [0.9, -0.9], "second": [0.5, 0.3]}, seconds="2")]
    text = stability.section(rows)
    assert "| digits | first | - | - | 0.00 (-0.90) |" in text
    assert "| digits | second | - | - | 0.40 (0.30) |" in text


@pytest.mark.parametrize(
    ("gap", "told"), [(1e-14, "as exactly as SHAP's"), (1e-3, "add up to the prediction;")]
)
def test_sums_are_called_exact_only_where_they_are(gap, told):
    extra = {"gap": gap, "rows": 10}
    times = {"attributions": "1e-4", "permutations": "1e-2"}
    rows = [row("california", method, extra=extra, seconds=time) for method, time in times.items()]
    title = shapley.glance(rows).title
    assert told in title
    assert title.endswith("takes 100 times as long")
