"""What runs keep and what reports read from it."""

import json

import numpy as np
import pytest

from benchmarks import report
from benchmarks.data import Data
from benchmarks.directions import largest_shares
from benchmarks.experiments.features import DIRECTION, DRAWN
from benchmarks.experiments.predictors import budget_of
from benchmarks.methods.linear import Linear
from benchmarks.paper import TABLE_4_PREDICTORS
from benchmarks.problems import REAL_SETS
from benchmarks.records import COLUMNS, OK, Table, read_rows
from benchmarks.runner import Settings
from benchmarks.scores import Scores
from benchmarks.search import Budget, tune
from benchmarks.sections import costs, predictors
from benchmarks.sections.features_reasons import reasons
from benchmarks.sections.features_refined import refined_coordinates
from benchmarks.sections.predictors_peers import as_in_paper, budget, fewer_draws
from benchmarks.sections.predictors_refined import chosen_and_refined
from benchmarks.sections.wording import lines_apart, lines_below
from gbmap.datasets import make_synth_cos


def row(problem="p", method="m", repeat=0, **extra):
    known = {"problem": problem, "method": method, "repeat": str(repeat), "status": OK}
    return dict.fromkeys(COLUMNS, "") | known | {"extra": json.dumps(extra)}


def line_of(text, start):
    return next(line for part in text for line in part.splitlines() if line.startswith(f"| {start}"))


def test_two_runs_that_write_to_one_file_keep_each_others_rows(tmp_path):
    path = tmp_path / "rows.csv"
    one, other = Table(path), Table(path)
    one.put(row(repeat=0))
    other.put(row(repeat=1))
    one.put(row(repeat=2))
    assert sorted(found["repeat"] for found in read_rows(path)) == ["0", "1", "2"]


def test_a_row_replaces_the_one_with_its_key(tmp_path):
    table = Table(tmp_path / "rows.csv")
    table.put(row(score=0.1))
    table.put(row(score=0.2))
    (found,) = read_rows(table.path)
    assert json.loads(found["extra"]) == {"score": 0.2}


def test_a_gain_compares_the_splits_that_both_methods_have():
    rows = [row(method="a", repeat=repeat, score=repeat) for repeat in (1, 2)]
    rows += [row(method="b", repeat=repeat, score=repeat - 0.5) for repeat in (0, 2)]
    assert Scores.of(rows).gain("p", "a", "b") == 0.5
    assert Scores.of(rows).gain("p", "a", "c") is None


@pytest.mark.parametrize(
    ("splits", "text"), [(0, "-"), (1, "1.000 (1)"), (2, "1.500 ± 0.707 (2)"), (5, "3.000 ± 1.581")]
)
def test_a_spread_needs_two_splits_and_few_are_told(splits, text):
    rows = [row(repeat=repeat, score=repeat + 1) for repeat in range(splits)]
    assert Scores.of(rows).text("p", "m") == text


def test_the_best_small_and_quick_models_are_named_and_a_missing_peer_too():
    def point(method, seconds, parameters, score):
        found = row("california", method, score=score, parameters=parameters)
        return found | {"seconds": str(seconds)}

    rows = [point("gbmap-8", 2, 100, 0.7), point("xgboost-30", 0.5, 5000, 0.8), point("mlp-4", 3, 99, 0.6)]
    rows.append(row("california", "ivis-2") | {"status": "missing: no environment"})
    text = costs.section(rows)
    assert "Best within one second: california XGBoost (0.800)." in text
    assert "Best within 1000 parameters: california gbmap (0.700)." in text
    assert "| california | ivis, then linear | missing |" in text


def test_the_largest_column_explains_its_share_of_synth_cos():
    X, y = make_synth_cos(20_000, 10, random_state=3)
    explained = [np.corrcoef(np.cos(column), y)[0, 1] ** 2 for column in X.T]
    shares = largest_shares(10, 3, (2, 20))
    assert shares["2"] == pytest.approx(max(explained), abs=0.02)
    assert shares["20"] == 1.0


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_a_search_tells_its_time_if_there_was_a_choice(task):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    y = X[:, 0] if task == "regression" else np.where(X[:, 0] > 0, 1, -1)
    found = tune(Linear(), Data(X, y, task), Budget(draws=2, folds=2), seed=0)
    assert (found.seconds is None) == (task == "regression") == (not found.settings)


def test_the_time_of_the_papers_search_counts_its_draws_folds_and_trees():
    times = {"search_cpu_seconds": 30.0, "cpu_seconds": 2.0}
    searched = row("concrete", "xgboost", score=0.9, draws=5, folds=3, **times)
    rows = [searched, row("concrete", "gbmap-cv", score=0.9, cpu_seconds=50.0)]
    text = chosen_and_refined(Scores.of(rows))
    # 30 / (5 * 3) seconds a fit of 2000 trees; 500 fits of 1050.
    assert line_of(text, "concrete") == "| concrete | 50.0 | - | 32.0 | 525 | 10.5 | - |"
    assert "than chosen on 1 of 1 sets, than refined on 0 of 0 sets" in text[-2]
    assert "from 1 rows, 1 a set" in text[-1]
    assert "concrete" not in text[-1]
    assert "german-credit" in text[-1]


def test_rows_from_before_searches_told_their_time_leave_it_missing():
    rows = [row("concrete", "xgboost", score=0.9, draws=5, folds=3), row("concrete", "gbmap-cv", score=0.9)]
    assert "concrete" in chosen_and_refined(Scores.of(rows))[-1]


def test_a_full_run_of_predictors_measures_no_committed_row_again(measured):
    rows = [found for found in read_rows(measured / "predictors.csv") if found["status"] == OK]
    asked = [budget_of(Settings(), found["problem"], found["method"], int(found["n"])) for found in rows]
    drawn = [json.loads(found["extra"])["draws"] for found in rows]
    assert rows
    assert all(draws >= budget.draws for draws, budget in zip(drawn, asked))


@pytest.mark.parametrize(
    ("ours", "trees", "cell", "told"),
    [
        ((5, 5), (5, 5), "5", "on none"),
        ((3, 3), (1, 1), "3; XGBoost 1", "on p (1 against 3, on 2 of 2 splits)"),
        ((10, 5), (5, 10), "5 to 10", "on p (5 against 10, on 1 of 2 splits)"),
    ],
)
def test_the_budget_of_both_is_told_and_where_xgboost_had_less(ours, trees, cell, told):
    found = [row("p", "gbmap", repeat, draws=draws) for repeat, draws in enumerate(ours)]
    found += [row("p", "xgboost", repeat, draws=draws) for repeat, draws in enumerate(trees)]
    scores = Scores.of(found)
    assert budget(scores, "p", "draws") == cell
    assert fewer_draws(scores, ["p"]) == f"XGBoost had fewer draws than gbmap {told}."


def test_sets_are_told_apart_by_whether_their_linear_model_is_the_papers():
    paper = TABLE_4_PREDICTORS["concrete"]
    found = [row("concrete@49", "linear", score=paper.linear + 0.0004)]
    found += [row("abalone@49", "linear", score=TABLE_4_PREDICTORS["abalone"].linear + 0.0006)]
    found += [row("concrete@49", "gbmap", score=paper.gbmap)]
    assert as_in_paper(Scores.of(found)) == ["concrete"]
    tallies = dict(predictors.summary(found))
    title = "Table 4, gbmap as a predictor, the paper's split, linear model"
    assert tallies[f"{title} reproduced"] == (1, 1, 1, 0)
    assert tallies[f"{title} not reproduced"] == (0, 0, 0, len(REAL_SETS) - 1)


def test_figures_below_and_apart_are_told_with_the_papers_split_and_a_note():
    found = [row("a", "m", repeat, score=score) for repeat, score in enumerate((0.1, 0.2, 0.3))]
    found += [row("a@49", "m", score=0.5)]
    scores = Scores.of(found)
    line = "- a, m: 0.200 ± 0.100 against 0.500; not so on the paper's own split: 0.500 (1)"
    assert lines_below(scores, {("a", "m"): 0.5}) == [f"Below the paper's by more:\n\n{line}."]
    assert lines_below(scores, {("a", "m"): 0.0}) == []
    (text,) = lines_apart("peers", scores, {("a", "m"): 0.5, ("b", "m"): 0.5}, {("a", "m"): "a reason"})
    assert text.startswith("Cells of peers")
    assert text.endswith(f"above or below: 1 of 1.\n\n{line}; a reason.")
    (above,) = lines_apart("peers", scores, {("a", "m"): -0.1}, {})
    assert above.endswith("so too on the paper's own split: 0.500 (1).")


def test_a_report_of_few_rows_goes_where_it_is_asked_to(tmp_path):
    results = tmp_path / "results"
    Table(results / "predictors.csv").put(
        row("concrete", "gbmap", score=0.9, draws=2, folds=3, size=5, beta=2) | {"date": "2026-01-01"}
    )
    failed = row("concrete", "recipe-user") | {"status": "missing: no JAX", "date": "2026-01-01"}
    Table(results / "sparse.csv").put(failed)
    report.main(["--results", str(results), "--output", str(tmp_path / "new")])
    texts = {page.stem: page.read_text(encoding="utf-8") for page in (tmp_path / "new").glob("*.md")}
    assert "| concrete | 2 | 3 | 5 | 2 |" in texts["predictions"]
    assert "- recipe-user: missing: no JAX (1 times)" in texts["memory"]
    assert "*scaling: not measured yet.*" in texts["speed"]
    assert "figures/" not in texts["index"]
    assert line_of([texts["all"]], "[Speed]").endswith("| Not measured yet | - |")


def test_the_committed_pages_say_what_the_committed_rows_do(measured):
    written = {page.stem: page.read_text(encoding="utf-8") for page in report.OUTPUT.glob("*.md")}
    assert report.pages(measured) == written


def test_the_targets_of_a_section_are_counted_by_its_table_of_targets_else_by_its_verdicts():
    lines = "| a | 1 | PASS |\n| b | 2 | short |"
    by_line = f"| problem | ratio |  |\n| --- | ---: | ---: |\n{lines}"
    of_targets = "| target | worst | verdict |\n| --- | ---: | ---: |\n| all | 2 (b) | short, 1 of 2 |"
    assert report.met([by_line]) == "1 of 2"
    assert report.met([f"{by_line}\n\n{of_targets}"]) == "0 of 1"
    assert report.met([by_line, of_targets]) == "1 of 3"
    assert report.met(["| problem |\n| --- |\n| a |"]) == "-"


def test_both_samples_of_higgs_count_as_one_set_that_needs_both():
    best = [row(name, "gbmap-refined", score=0.99) for name in REAL_SETS]
    start = "refined: real sets"
    assert "| 15 of 15 | PASS |" in line_of(chosen_and_refined(Scores.of(best)), start)
    low = [row("higgs-10k-h2o", "gbmap-refined", score=0.1)]
    others = [one for one in best if one["problem"] != "higgs-10k-h2o"]
    assert "| 14 of 15 | PASS |" in line_of(chosen_and_refined(Scores.of(others + low)), start)


@pytest.mark.parametrize(("measured", "verdict"), [(3, "not measured"), (4, "PASS")])
def test_a_mean_rank_is_judged_once_the_missing_sets_cannot_change_it(measured, verdict):
    names = ["abalone", "airquality", "autompg", "concrete", "cpu-small", "wine-red", "wine-white"][:measured]
    rows = [row(name, "gbmap-refined", score=0.9) for name in names]
    rows += [row(name, "xgboost", score=0.8) for name in names]
    line = line_of(chosen_and_refined(Scores.of(rows)), "refined: mean rank")
    assert f"| 1.00 over {measured} sets | {verdict}, {7 - measured} not measured |" in line


def test_refined_coordinates_are_held_to_ivis_within_one_standard_deviation():
    def verdicts(average):
        scores = [average - 0.01, average, average + 0.01]
        rows = [row("california", "gbmap-refined-m8", repeat, score=one) for repeat, one in enumerate(scores)]
        return "\n".join(refined_coordinates(Scores.of(rows)))

    assert "| 0.00100 (california, m = 8) | PASS, 1 of 1, 40 not measured |" in verdicts(0.761)
    assert "- california, m = 8: 0.759 ± 0.010 against 0.770; ivis here -." in verdicts(0.759)


def test_draws_that_hold_less_than_the_papers_figure_are_named():
    shares = {"8": 0.9, "12": 0.9, "16": 0.9, "32": 0.9, "64": 0.9, "128": 0.9}
    rows = [
        row(DRAWN, DIRECTION, repeat, **shares, **{"2": share}) for repeat, share in enumerate((0.04, 0.056))
    ]
    text = "\n".join(reasons(Scores.of(rows), []))
    assert "at m = 2 in 1 of 2 draws (0)." in text
    assert "At m = 8, 12, 16, 32, 64, 128 no draw" in text
