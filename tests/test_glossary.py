"""One word for one thing: what the page, the command line and the documentation call metrics and terms."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gbmap import TableModel
from gbmap._utils.glossary import METRICS, TERMS, in_words, metric_of_loss
from gbmap.cli._screen import Page
from gbmap.cli._summary import show_scores
from gbmap.report import make_report

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"size": rng.normal(50, 9, 240), "kind": rng.choice(["u", "v"], 240)})
    rows["price"] = (2 * rows["size"] + 30 * (rows["kind"] == "u") + rng.normal(0, 5, 240)).round(2)
    rows["class"] = np.where(rows["price"] > rows["price"].median(), "dear", "cheap")
    return rows


def test_the_documentation_explains_each_word_as_the_page_does():
    lines = (ROOT / "docs/glossary.md").read_text(encoding="utf-8").splitlines()
    for metric in METRICS.values():
        better = "higher" if metric.higher_is_better else "lower"
        assert f"| {metric.title} | {metric.meaning} | {better} |" in lines
    for term, meaning in TERMS.items():
        assert f"| {term} | {meaning} |" in lines


@pytest.mark.parametrize(("target", "other"), [("price", "class"), ("class", "price")])
def test_the_page_and_the_command_line_call_metrics_alike(capsys, table, target, other):
    rows = table.drop(columns=other)
    model = TableModel(target, n_components=2, random_state=0).fit(rows)
    page = Page()
    show_scores(page, model.scores_)
    page.print()
    printed = capsys.readouterr().out
    y = rows[target].to_numpy()
    report = make_report(model, rows[:120], y[:120], X_test=rows[120:], y_test=y[120:], max_rows=60)
    html = report.to_html()
    for key in model.scores_["gbmap"]:
        assert METRICS[key].name in printed
        assert METRICS[key].title in html
    assert in_words(model.scores_["gbmap"]) in printed
    for term, meaning in TERMS.items():
        assert f"<dt>{term}</dt><dd>{meaning.replace(chr(39), '&#39;')}</dd>" in html
    regions = report.contents["regions"]
    assert regions["error_name"] == ("typical error (RMSE)" if target == "price" else "log loss")
    assert regions["error_name"] in html


def test_squared_errors_are_told_by_their_root(table):
    rows = table.drop(columns="class")
    model = TableModel("price", n_components=2, random_state=0).fit(rows)
    y = rows["price"].to_numpy()
    contents = make_report(model, rows, y, X_test=rows, y_test=y, max_rows=60).contents["regions"]
    shown = contents["outputs"][0]["regions"]
    total = sum(each["n_rows"] * each["error"] ** 2 for each in shown)
    n_rows = sum(each["n_rows"] for each in shown)
    if n_rows == len(rows):
        assert total / n_rows == pytest.approx(np.mean((y - model.predict(rows)) ** 2), rel=1e-4)
    assert max(each["error"] for each in shown) < y.std()


def test_a_loss_without_a_metric_keeps_its_name():
    assert metric_of_loss("huber") == "mean loss (huber)"
    assert in_words(["rmse", "mae", "no metric"]) == "RMSE, MAE: lower is better, in the target's units"
