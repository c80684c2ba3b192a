"""Results print in a few lines, and as a small table in a notebook; a new one that does not fails here."""

import importlib
import inspect
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LinearRegression

from gbmap import DriftDetector, DriftMonitor, GBMAPClassifier, GBMAPRegressor
from gbmap._core.ensemble import Ensemble
from gbmap._fit.records import StageRecord
from gbmap._utils.shown import Result, Shown, cell
from gbmap.datasets import drift_split
from gbmap.drift import ConstantColumn
from gbmap.inspection import (
    active_subspace,
    attributions,
    coefficient_bounds,
    column_curve,
    explain,
    interactions,
    is_monotone,
    learner_cards,
    model_difference,
    nearest_counterfactual,
    prediction_interval_missing,
    regions,
)
from gbmap.report import Report, make_report
from gbmap.tables import TableModel

PLACES = ["gbmap", "gbmap.inspection", "gbmap.drift", "gbmap.datasets", "gbmap.report", "gbmap.tables"]
HOSTILE = "<script>alert('x')</script>\n\x1b[31m & " + "long " * 60


def public_results():
    """Return the public classes that are no estimators, readers or errors, and those that a model holds."""
    found = {Ensemble, StageRecord}
    for place in PLACES:
        module = importlib.import_module(place)
        found |= {getattr(module, name) for name in module.__all__ if inspect.isclass(getattr(module, name))}
    others = (BaseEstimator, Exception)
    return {each for each in found if not issubclass(each, others) and each.__name__ != "Table"}


@pytest.fixture(scope="module")
def results():
    """Return results of every kind: of one output, and of several, with names that mean harm."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 12)), columns=[HOSTILE, *(f"column {k}" for k in range(11))])
    y = X[HOSTILE] ** 2 + X["column 0"]
    labels = np.array(["a", f"b {HOSTILE}", "c"])[np.digitize(y, [0.5, 1.5])]
    of_numbers = GBMAPRegressor(8, random_state=0).fit(X, y)
    of_classes = GBMAPClassifier(3, random_state=0).fit(X, labels)
    found = [drift_split(X, y, GBMAPRegressor(1, random_state=0), feature=HOSTILE, random_state=0)]
    for model, target in ((of_numbers, y), (of_classes, labels)):
        found += [model.ensemble_, *model.history_[:2]]
        found += [explain(model, X), attributions(model, X, X.mean()), interactions(model, X)]
        found += [coefficient_bounds(model), active_subspace(model, X), learner_cards(model, X, target)]
        found += [prediction_interval_missing(model, X.head(8), [HOSTILE], reference=X)]
        drift = DriftDetector(model).fit(X, target, X_cal=-X, y_cal=target)
        assessed = drift.assess(X + 1)
        found += [
            assessed,
            assessed.coordinates,
            assessed.regions,
            assessed.verdict,
            assessed.verdict.findings[0],
            drift.explain(X.head(3)),
            drift.estimate_loss(X),
        ]
        update = DriftMonitor(drift, random_state=0).update(9 * X + 9, target)
        found += [update, *update.new_alarms]
    found += learner_cards(of_numbers, X, y).parts("f1")[:1]
    found += [regions(of_numbers, X, y), regions(of_classes, X, output="a"), is_monotone(of_numbers, HOSTILE)]
    found += [nearest_counterfactual(of_numbers, X.head(1), 3.0, bounds=X)]
    found += [nearest_counterfactual(of_numbers, X.head(1), 1e9, bounds=X)]
    found += [column_curve(of_numbers, X, HOSTILE), column_curve(of_classes, X, HOSTILE, output="a")]
    simple = LinearRegression().fit(X, y)
    difference = model_difference(simple, of_numbers, X, n_components=2)
    found += [difference, difference.agreement, difference.lift(X)]
    found.append(make_report(of_numbers, X, y, X_test=X, y_test=y, title=HOSTILE))
    table = TableModel("y", n_components=1, reference_rows=0, beta=5.0, l2_regularization=1e-3).fit(
        X.rename(columns={HOSTILE: "<b>x</b>"}).assign(y=y)
    )
    found += [table.schema_, table.schema_.columns[0], table.schema_.columns[0].form]
    return [*found, ConstantColumn(HOSTILE, HOSTILE, n_before=30, n_rows=20, n_other=3)]


def test_every_public_result_is_here(results):
    assert {type(each) for each in results} == public_results()
    assert all(issubclass(each, Result) for each in public_results())


def test_texts_are_short(results):
    for each in results:
        lines = repr(each).splitlines()
        assert repr(each).startswith(f"{type(each).__name__}: ")
        assert len(lines) < 10
        assert max(map(len, lines)) < 220
        assert "array(" not in repr(each)
        assert "\x1b" not in repr(each)


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.seen = [], set()

    def handle_starttag(self, tag, attrs):
        assert not attrs
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_in_a_notebook_they_are_small_tables_of_plain_text(results):
    for each in results:
        if isinstance(each, Report):  # the page itself, which has tests of its own
            continue
        page = Tags()
        page.feed(each._repr_html_())
        assert not page.open
        assert page.seen <= {"div", "p", "b", "table", "tr", "th", "td"}
        assert each._repr_html_().count("<tr>") <= 11
        assert ("table" in page.seen) == bool(each._shown().table)


def test_what_matters_most_comes_first(results):
    shares = next(each for each in results if type(each).__name__ == "Attribution")
    size = np.abs(shares.values).mean(axis=0)
    first = re.split(r"\s{2,}", repr(shares).splitlines()[2].strip())
    assert first[0] == cell(shares.feature_names[size.argmax()])
    assert float(first[-1]) == pytest.approx(size.max(), rel=1e-3)
    assert repr(shares).endswith("and 7 more")


def test_what_cancels_is_zero():
    X = np.random.default_rng(0).normal(size=(100, 2))
    model = GBMAPRegressor(2, activation="identity", knots=0, random_state=0).fit(X, X[:, 0] + X[:, 1])
    _, _, *lines = repr(attributions(model, X, X)).splitlines()  # which has the mean prediction for its base
    assert [line.split()[1] for line in lines] == ["0", "0"]
    _, _, first, second = repr(model.ensemble_).splitlines()
    assert (float(first.split()[3]) == 0, second.split()[3]) == (False, "0")


def test_texts_of_nothing_are_texts_too():
    model = GBMAPRegressor(1, random_state=0).fit(np.arange(20.0)[:, None], np.arange(20.0))
    assert repr(explain(model, np.zeros((1, 1)))).startswith("Explanation: 1 row, 1 feature, ")
    assert repr(interactions(model, np.zeros((1, 1)))) == "Interactions: 0 pairs of 1 feature"
    assert "<table>" not in Nothing()._repr_html_()
    assert repr(Nothing()) == "Nothing: -"


class Nothing(Result):
    def _shown(self):
        return Shown("-", {"row": []})


def test_a_fitted_model_prints_its_history_line_by_line():
    model = GBMAPRegressor(3, knots=0, random_state=0).fit(np.arange(20.0)[:, None], np.arange(20.0))
    assert all("\n" not in repr(record) for record in model.history_)
    assert repr(model.ensemble_).splitlines()[0] == "Ensemble: 3 learners of 1 feature, softplus"
