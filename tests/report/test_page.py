"""The page in a real browser: what hover, click, choices, filters and keys do; hostile names stay text."""

import json
import shutil
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from gbmap import DriftDetector, GBMAPClassifier, GBMAPRegressor, TableModel
from gbmap.drift import DriftMonitor
from gbmap.report import make_report
from gbmap.report.page import number, percent

CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed"),
    pytest.mark.usefixtures("few_trees"),
]

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
HOSTILE = [
    "</script><img src=x onerror=window.pwned=1>",
    "\"'><b onmouseover=window.pwned=1>quote</b>",
    "🦄 & <!-- \u2028 {{ 7 * 7 }}",
    "עברית \u202e override",
    "long " * 2000,
]


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


def opened(browser, report, folder):
    """Yield the page; in the end there must have been no error, no message and no request but the page."""
    path = folder / "report.html"
    report.to_html(path)
    page, problems = browser.new_page(viewport={"width": 1280, "height": 900}), []
    page.set_default_timeout(10_000)
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: problems.append(request.url))
    page.goto(path.as_uri())
    assert problems.pop(0) == path.as_uri()
    yield page
    page.close()
    assert [problem for problem in problems if problem != "data:,"] == []


@pytest.fixture(scope="module")
def report():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(80, 4)), columns=HOSTILE[:4])
    X["town"] = rng.choice(HOSTILE, 80)
    X.iloc[3, 1] = 10.0
    y = pd.Series(
        np.abs(X.iloc[:, 0]) * 3 + (X["town"] == HOSTILE[0]) + 0.1 * rng.normal(size=80), name=HOSTILE[0]
    )
    columns = make_column_transformer((StandardScaler(), HOSTILE[:4]), (OneHotEncoder(), ["town"]))
    model = make_pipeline(columns, GBMAPRegressor(7, random_state=0)).fit(X[:50], y[:50])
    new = X[50:].copy()
    new[HOSTILE[0]] += 4
    title = HOSTILE[0]
    return make_report(model, X[:50], y[:50], X_test=X[50:], y_test=y[50:], X_new=new, title=title)


@pytest.fixture(scope="module")
def contents(report):
    return report.to_dict()


@pytest.fixture(scope="module")
def page(browser, report, tmp_path_factory):
    yield from opened(browser, report, tmp_path_factory.mktemp("regression"))


@pytest.fixture(scope="module")
def classes():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 3))
    y = np.array(HOSTILE[:3])[np.argmax(X, axis=1)]
    model = GBMAPClassifier(2, random_state=0).fit(X[:80], y[:80])
    return make_report(model, X[:80], y[:80], X_test=X[80:], y_test=y[80:])


@pytest.fixture(scope="module")
def class_page(browser, classes, tmp_path_factory):
    yield from opened(browser, classes, tmp_path_factory.mktemp("classes"))


@pytest.fixture(scope="module")
def batches():
    """A report of ten days of new rows, the last five of which have changed in a column of a hostile name."""
    rng = np.random.default_rng(2)
    X = pd.DataFrame(rng.normal(size=(700, 2)), columns=["{b}" + HOSTILE[0], HOSTILE[1]])
    y = X.iloc[:, 0] ** 2 + 0.1 * rng.normal(size=700)
    model = GBMAPRegressor(4, random_state=0).fit(X[:200], y[:200])
    detector = DriftDetector(model).fit(X[:200], y[:200], X_cal=X[200:400], y_cal=y[200:400])
    monitor, new = DriftMonitor(detector, random_state=0), X[400:].copy()
    new.iloc[150:, 0] += 5
    for day in range(10):
        rows = slice(30 * day, 30 * day + 30)
        monitor.update(new[rows], y[400:][rows] if day % 2 else None, time=f"2026-03-{day + 1:02}T12:00:00Z")
    given = {"X_test": X[200:400], "y_test": y[200:400], "X_new": new, "detector": detector}
    return make_report(model, X[:200], y[:200], **given, monitor=monitor, max_rows=60)


@pytest.fixture(scope="module")
def batch_page(browser, batches, tmp_path_factory):
    yield from opened(browser, batches, tmp_path_factory.mktemp("batches"))


@pytest.fixture(scope="module")
def years():
    """A report of years and hours, whose predictions go from below zero to thousands, and of far new rows."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"year": rng.integers(2001, 2008, 300), "hour": rng.integers(0, 24, 300)})
    X["dry"] = rng.integers(0, 2, 300)
    y = 4000 * np.sin(X["hour"] / 4) + 900 * X["dry"] + 300 * (X["year"] - 2000) + rng.normal(size=300)
    model = GBMAPRegressor(6, random_state=0).fit(X[:150], y[:150])
    new = X[150:].assign(year=X["year"][150:] + 60)
    return make_report(model, X[:150], y[:150], X_test=X[150:], y_test=y[150:], X_new=new)


@pytest.fixture(scope="module")
def year_page(browser, years, tmp_path_factory):
    yield from opened(browser, years, tmp_path_factory.mktemp("years"))


@pytest.fixture(autouse=True)
def fresh_view(request):
    """Put the page back to how it opened, without loading it anew."""
    yield
    if "page" in request.fixturenames:
        page = request.getfixturevalue("page")
        page.set_viewport_size({"width": 1280, "height": 900})
        for name, value in (("colour", "target"), ("axis-x", "pca1"), ("axis-y", "pca2"), ("region", "")):
            page.select_option(f"#{name}", value)
        for box in page.query_selector_all("#kinds input"):
            box.check()
        page.mouse.move(5, 5)


def series(page, chart, index=1):
    """Return the data that a chart draws, with its colours."""
    script = "([id, i]) => echarts.getInstanceByDom(document.getElementById(id)).getOption().series[i].data"
    return page.evaluate(script, [chart, index])


def pixel(page, chart, row):
    """Scroll to a chart and return where on the screen it draws a row."""
    page.locator(f"#{chart}").scroll_into_view_if_needed()
    script = """([id, row]) => {
        const element = document.getElementById(id), chart = echarts.getInstanceByDom(element);
        const point = chart.getOption().series[1].data.find((each) => each.row === row);
        const [x, y] = chart.convertToPixel({ gridIndex: 0 }, point.value);
        const box = element.getBoundingClientRect();
        return [box.left + x, box.top + y];
    }"""
    return page.evaluate(script, [chart, row])


def lonely_row(contents):
    """Return a row well within the frame that no other one covers."""
    x, y = (np.array(values) for values in contents["map"]["embedding_pca"]["values"])
    inside = [(np.abs(each - np.median(each)) < 1.2 * each.std()) for each in (x, y)]
    gap = np.hypot(np.subtract.outer(x, x) / x.std(), np.subtract.outer(y, y) / y.std())
    np.fill_diagonal(gap, np.inf)
    return int(np.argmax(np.where(inside[0] & inside[1], gap.min(axis=1), -1)))


def highlighted(page, chart):
    """Return the rows that a chart draws with emphasis."""
    script = """(id) => {
        const chart = echarts.getInstanceByDom(document.getElementById(id));
        const data = chart.getModel().getSeriesByIndex(1).getData(), rows = [];
        for (let i = 0; i < data.count(); i++) {
            const symbol = data.getItemGraphicEl(i);
            const states = symbol ? symbol.childAt(0).currentStates : [];
            if (states.includes("emphasis")) rows.push(data.getRawDataItem(i).row);
        }
        return rows;
    }"""
    return page.evaluate(script, chart)


def wait_until(page, condition):
    """Wait until a condition holds; the page's policy forbids the driver's own way, which is eval."""
    for _ in range(100):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    raise AssertionError(condition)


def settle(page):
    """Wait until the page has done what it put off, however slow it is, since its timers go off in order.

    ECharts follows moves up to 100 ms later; sizes are observed in the first frame and drawn by the second.
    """
    frames = "requestAnimationFrame(() => requestAnimationFrame(done))"
    page.evaluate(f"new Promise((done) => setTimeout(() => {frames}, 150))")


def shown_count(page):
    return page.evaluate(
        "echarts.getInstanceByDom(document.getElementById('map-chart')).getOption().series[1].data.length"
    )


def test_the_page_holds_the_numbers_of_its_twin(page, report, contents):
    assert json.loads(page.text_content("#data")) == contents == json.loads(report.to_json())
    score = contents["performance"]["contenders"][0]["scores"]["r2"]
    assert page.locator("#how-good .own td").first.text_content() == f"{score:.3f}"
    drift = contents["drift"]
    assert drift["summary"] in page.text_content("#drift .verdict")
    assert percent(drift["share_alarmed"]) in page.text_content("#drift .facts")
    means = [number(drift["mean_prediction"][rows]) for rows in ("new", "held_out")]
    assert "mean prediction{} held-out rows {}".format(*means) in page.text_content("#drift .facts")


def test_the_first_screen_holds_what_was_asked_how_good_it_is_what_matters_and_what_to_do(page, contents):
    page.set_viewport_size({"width": 1280, "height": 800})
    page.evaluate("scrollTo(0, 0)")
    assert page.evaluate("document.querySelector('.first').getBoundingClientRect().bottom") < 800
    names = page.locator("#how-good tbody th").all_text_contents()
    assert names == [each["name"] for each in contents["performance"]["contenders"]]
    assert number(contents["predictions"]["numbers"]["half_within"]) in page.text_content("#how-good")
    shares = [percent(each["share"]) for each in contents["summary"]["matters"]]
    assert [each.strip() for each in page.locator(".matters .share").all_text_contents()] == shares
    assert contents["drift"]["summary"] in page.text_content("#trust")
    steps = page.locator("#next li").all_text_contents()
    assert [each["text"] in step for each, step in zip(contents["summary"]["steps"], steps)] == [True] * 3


def test_sections_come_in_the_order_of_the_questions(page, batch_page):
    of = "all => all.map((each) => each.id)"
    expected = [
        "summary",
        "the-data",
        "performance",
        "map",
        "features",
        "regions",
        "learners",
        "drift",
        "about",
    ]
    assert page.eval_on_selector_all("main > section", of) == expected
    expected.insert(1, expected.pop(expected.index("drift")))
    assert batch_page.eval_on_selector_all("main > section", of) == expected
    for each in (page, batch_page):
        links = each.eval_on_selector_all(
            "nav a", "all => all.map((link) => link.getAttribute('href').slice(1))"
        )
        assert links == each.eval_on_selector_all("main > section", of)


def test_each_column_has_a_picture_and_a_row_in_a_table(page, contents):
    data = contents["data"]
    assert page.locator("#spreads > li").count() == 1 + len(data["columns"])
    town = next(each for each in data["columns"] if each["kind"] == "category")
    card = page.locator("#spreads > li").nth(1 + data["columns"].index(town))
    told = card.locator("td.num").all_text_contents()
    assert told == [f"{percent(old)} / {percent(new)}" for old, new in zip(*town["shares"])]
    widths = card.locator(".length").evaluate_all("all => all.map((each) => parseFloat(each.style.width))")
    assert widths[0] / widths[2] == pytest.approx(town["shares"][0][0] / town["shares"][0][1], rel=1e-3)
    of_number = page.locator("#spreads > li").nth(1 if data["columns"][0]["edges"] else 2)
    assert of_number.locator("path").count() == 2  # training and new rows
    table = page.locator("#the-data details table").first
    assert table.locator("tbody tr").count() == 1 + len(data["columns"])
    shown = table.locator("tbody tr").nth(1).text_content()
    assert percent(data["columns"][0]["missing"][0]) in shown
    differing = max(each["difference"] for each in data["columns"])
    assert percent(differing) in page.locator("#the-data .bars tbody tr").first.text_content()


def test_many_columns_are_shown_when_they_are_asked_for(browser, tmp_path_factory):
    X = np.random.default_rng(0).normal(size=(60, 20))
    model = GBMAPRegressor(1, l2_regularization=0.1, random_state=0).fit(X[:40], X[:40, 0])
    made = make_report(model, X[:40], X[:40, 0], X_test=X[40:], y_test=X[40:, 0], max_rows=10)
    for page in opened(browser, made, tmp_path_factory.mktemp("wide")):
        assert page.locator("#spreads > li:visible").count() == 12
        assert page.text_content("#more-spreads") == "Show all 21 columns"
        page.click("#more-spreads")
        assert page.locator("#spreads > li:visible").count() == 21
        assert not page.is_visible("#more-spreads")


def test_predictions_are_drawn_beside_the_truth(page, contents):
    numbers = contents["predictions"]["numbers"]
    points = series(page, "truth-chart", 0)
    assert points == [list(each) for each in zip(numbers["prediction"], numbers["target"])]
    for (predicted, true), (x, error) in zip(points, series(page, "errors-chart", 0)):
        assert (x, error) == (predicted, pytest.approx(true - predicted))
    assert series(page, "tenths-chart", 0) == [group["typical_error"] for group in numbers["groups"]]
    told = page.locator("#performance details tbody tr").first.locator("td").all_text_contents()
    assert told[0] == str(numbers["groups"][0]["n_rows"])
    assert told[3] == number(numbers["groups"][0]["typical_error"])


def test_classes_are_drawn_one_against_the_others(class_page, classes):
    told, page = classes.to_dict()["predictions"]["classes"], class_page
    cells = page.locator(".confusion tbody tr").first.locator("td").all_text_contents()
    assert cells == [*map(str, told["confusion"][0]), percent(told["found"][0])]
    page.select_option("#performance-output", "1")
    one = told["outputs"][1]
    roc = series(page, "roc-chart", 0)
    assert roc == [list(each) for each in zip(one["false_positive_rate"], one["true_positive_rate"])]
    assert series(page, "precision-chart", 0)[-1] == [one["recall"][-1], one["precision"][-1]]
    shares = [[group["mean_probability"], group["share"]] for group in one["calibration"]]
    assert series(page, "calibration-chart", 0) == shares
    page.locator("#calibration").evaluate("table => table.closest('details').open = true")
    first = page.locator("#calibration tbody tr").first.locator("td").all_text_contents()
    assert first[:2] == [str(one["calibration"][0]["n_rows"]), percent(one["calibration"][0]["share"])]
    assert page.locator("#thresholds tbody tr").count() > 3
    page.select_option("#performance-output", "0")


def test_the_first_chart_is_the_life_of_the_monitor(batch_page, batches):
    told = batches.contents["drift"]["over_time"]
    assert told["error_name"] == "typical error (RMSE)"
    held_out = batches.contents["drift"]["metrics"]["rmse"]["held_out"]
    assert told["calibration_error"] == pytest.approx(held_out, rel=1e-4)
    assert batch_page.locator(".chart").first.get_attribute("id") == "time-chart"
    expected = series(batch_page, "time-chart", 2)
    assert expected == [list(each) for each in zip(told["positions"], told["expected_error"])]
    known = series(batch_page, "time-chart", 3)
    assert [value for _, value in known] == told["known_error"]
    since = told["changes"][0]["since_position"]
    assert since == pd.Timestamp("2026-03-06T12:00").timestamp() * 1000
    texts = batch_page.locator("#time-chart svg text").all_text_contents()
    assert any(text.startswith("change: {b}</script>") for text in texts)
    assert "2026-03-03" in texts
    assert batch_page.text_content(".changes li").startswith("Since about 2026-03-06")
    batch_page.locator("#time-chart").scroll_into_view_if_needed()
    box = batch_page.locator("#time-chart").bounding_box()
    batch_page.mouse.move(box["x"] + 0.97 * box["width"], box["y"] + 0.2 * box["height"])
    tip = batch_page.locator("#time-chart .tip")
    assert "until 2026-03-10T12:00:00Z" in tip.text_content()
    assert number(told["known_error"][-1]) in tip.text_content()
    assert batch_page.evaluate("window.pwned") is None
    assert batch_page.locator("img, b").count() == 0


def test_hostile_names_stay_text(page, class_page):
    for each in (page, class_page):
        each.hover("#map-chart")
        assert each.evaluate("window.pwned") is None
        assert each.locator("img, b, [onerror], [onmouseover]").count() == 0
        assert each.locator("script").count() == 3
    assert page.text_content("h1") == HOSTILE[0]
    options = page.locator("#colour option").all_text_contents()
    assert HOSTILE[0] in options
    assert HOSTILE[1] in options
    page.select_option("#colour", next(value for value in values_of(page, "colour") if value == "column4"))
    levels = page.locator("#legend .name").all_text_contents()
    assert HOSTILE[0] in levels[1:] or HOSTILE[0][:35] + "…" in levels
    assert max(map(len, levels)) <= 70
    assert "49" not in page.text_content("#legend .levels bdi:has-text('🦄')")


def test_a_name_of_two_lines_takes_one_beside_a_bar(page):
    script = "id => echarts.getInstanceByDom(document.getElementById(id)).getOption().yAxis[0].data"
    assert "🦄 & <!-- {{ 7 * 7 }}" in page.evaluate(script, "importance-chart")


def values_of(page, name):
    return page.eval_on_selector_all(f"#{name} option", "options => options.map((option) => option.value)")


def test_hover_shows_the_row_and_highlights_it_in_the_other_chart(page, contents):
    row = lonely_row(contents)
    page.mouse.move(*pixel(page, "map-chart", row))
    tip = page.locator("#map-chart .tip")
    tip.wait_for()
    shown = tip.text_content()
    rows = contents["map"]
    assert f"row {rows['labels'][row]}" in shown
    assert f"prediction{number(rows['prediction'][row])}" in shown
    assert f"error{number(rows['error'][row])}" in shown
    assert highlighted(page, "original-chart") == [row]
    page.mouse.move(5, 5)
    assert highlighted(page, "original-chart") == []
    page.mouse.move(*pixel(page, "original-chart", row))
    page.locator("#original-chart .tip").wait_for()
    assert len(highlighted(page, "map-chart")) == 1


def test_a_click_shows_why_the_row_is_predicted_as_it_is(page, contents):
    row, rows = lonely_row(contents), contents["map"]
    page.mouse.click(*pixel(page, "map-chart", row))
    assert rows["labels"][row] in page.text_content("#row-title")
    assert f"row {rows['labels'][row]}: prediction {number(rows['prediction'][row])}" in page.text_content(
        "#row-status"
    )
    adds = page.locator("#reasons-of-row tbody td:nth-child(4)").all_text_contents()
    expected = [rows["reasons"][0]["base"], *rows["reasons"][0]["adds"][row]]
    assert adds == [*(number(value, sign=True) for value in expected), number(rows["scores"][0][row])]
    slopes = page.locator("#reasons-of-row tbody td:nth-child(5)").all_text_contents()
    assert slopes[1] == number(rows["reasons"][0]["coefficients"][row][0], sign=True)
    for chart, plane in (("map-chart", "embedding_pca"), ("original-chart", "original_pca")):
        ring = series(page, chart, 2)[0]
        inside = [values[row] for values in rows[plane]["values"]]
        assert ring == pytest.approx(inside)


def test_the_colour_follows_the_choice(page, contents):
    rows = contents["map"]
    page.select_option("#colour", "error")
    colours = {point["row"]: point["itemStyle"]["color"] for point in series(page, "map-chart")}
    known = [row for row in colours if rows["error"][row] is not None]
    low, high = min(known, key=lambda row: rows["error"][row]), max(known, key=lambda row: rows["error"][row])
    assert colours[low] == "#0072b2" or colours[high] == "#d55e00"  # the ends of the scale
    assert "Error: target less prediction" in page.text_content("#legend")
    page.select_option("#colour", "kind")
    looks = {
        point["row"]: (point["itemStyle"]["color"], point["symbol"]) for point in series(page, "map-chart")
    }
    assert len(set(looks.values())) == 3
    assert all(looks[a] == looks[b] for a in looks for b in looks if rows["kind"][a] == rows["kind"][b])
    assert looks == {
        point["row"]: (point["itemStyle"]["color"], point["symbol"])
        for point in series(page, "original-chart")
    }


def test_the_axes_follow_the_choice(page, contents):
    page.select_option("#axis-x", "f1")
    page.select_option("#axis-y", "f3")
    first, third = (contents["map"]["coordinates"][j]["values"] for j in (0, 2))
    for point in series(page, "map-chart"):
        assert point["value"] == [first[point["row"]], third[point["row"]]]
    script = "echarts.getInstanceByDom(document.getElementById('map-chart')).getOption().xAxis[0].name"
    assert page.evaluate(script) == "f1"


def test_filters_leave_the_rows_that_they_say(page, contents):
    rows = contents["map"]
    n = len(rows["kind"])
    assert shown_count(page) == n
    page.fill("#range-from", "1.5")
    page.press("#range-from", "Tab")
    left = sum(value is not None and value >= 1.5 for value in rows["target"])
    assert 0 < left < n
    assert shown_count(page) == left
    assert len(series(page, "map-chart", 0)) == n - left  # faded
    assert f"{left} of {n} rows chosen" in page.text_content("#shown")
    page.select_option("#colour", "prediction")  # another column starts anew
    page.uncheck("#kinds input[value='new']")
    assert shown_count(page) == rows["n_shown"][0] + rows["n_shown"][1]
    page.select_option("#region", "0:1")
    of_points = contents["regions"]["outputs"][0]["of_points"]
    assert shown_count(page) == sum(r == 1 and kind < 2 for r, kind in zip(of_points, rows["kind"]))
    page.locator("[data-region]").first.click()
    assert page.input_value("#region") == "0:0"
    assert shown_count(page) == sum(r == 0 and kind < 2 for r, kind in zip(of_points, rows["kind"]))
    page.select_option("#region", "")
    page.select_option("#colour", "column4")
    town = next(column for column in rows["columns"] if column["feature"] == 4)
    page.locator("#legend input").first.uncheck()
    assert shown_count(page) == sum(v != 0 and kind < 2 for v, kind in zip(town["values"], rows["kind"]))
    assert f"{shown_count(page)} in all" in page.text_content("#rows caption")


def drag(page, chart, points):
    """Press in a chart at the first point, move over the others and let go; in shares of its size."""
    page.locator(f"#{chart}").scroll_into_view_if_needed()
    box = page.locator(f"#{chart}").bounding_box()
    for i, (x, y) in enumerate(points):
        page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])
        if i == 0:
            page.mouse.down()
    page.mouse.up()
    settle(page)


CHART = "echarts.getInstanceByDom(document.getElementById('{}'))"


def extents(page, chart):
    """Return where the axes of a chart begin and end."""
    axes = f"['xAxis', 'yAxis'].map((axis) => {CHART.format(chart)}.getModel().getComponent(axis))"
    return page.evaluate(f"{axes}.map(({{axis}}) => axis.scale.getExtent())")


def test_rows_that_are_encircled_are_told_of_and_downloaded(page, contents):
    rows = contents["map"]
    page.select_option("#sort", "order")
    page.click("#encircle")
    assert page.get_attribute("#encircle", "aria-pressed") == "true"
    drag(page, "original-chart", [(0.0, 0.0), (0.5, 0.0), (0.5, 1.0), (0.0, 1.0)])  # the left half
    width = page.locator("#original-chart").bounding_box()["width"]
    middle = page.evaluate(
        f"{CHART.format('original-chart')}.convertFromPixel({{gridIndex: 0}}, [{width / 2}, 9])"
    )
    (low, high), places = extents(page, "original-chart")[1], rows["original_pca"]["values"]
    left = [i for i, (x, y) in enumerate(zip(*places)) if x < middle[0] and low < y < high]
    assert 0 < len(left) < len(rows["kind"])
    assert sorted(point["row"] for point in series(page, "map-chart")) == left
    assert page.get_attribute("#encircle", "aria-pressed") == "false"

    with page.expect_download() as waiting:
        page.click("#download")
    table = pd.read_csv(waiting.value.path())
    assert table["row"].astype(str).tolist() == [rows["labels"][i] for i in left]
    column = next(each for each in rows["columns"] if each["kind"] == "number")
    expected = [column["values"][i] for i in left]
    name = contents["features"]["names"][column["feature"]]
    np.testing.assert_allclose(table[name], expected)
    town = next(each for each in rows["columns"] if each["kind"] == "category")
    assert table["town"].tolist() == [town["levels"][town["values"][i]] for i in left]

    told = dict(zip(page.locator("#apart tbody th").all_text_contents(), range(9)))
    target = [rows["target"][i] for i in left if rows["target"][i] is not None]
    if "mean of target" in told:
        shown = page.locator("#apart tbody tr").nth(told["mean of target"]).locator("td").first.text_content()
        assert shown == number(float(f"{np.mean(target):.12g}"))
    assert len(told) == 6
    page.click("#clear-selection")
    assert shown_count(page) == len(rows["kind"])
    assert not page.is_visible("#apart")


def test_the_map_zooms_and_moves_and_comes_back(page):
    whole = extents(page, "map-chart")[0]
    page.click("#zoom-in")
    near = extents(page, "map-chart")[0]
    assert np.ptp(near) == pytest.approx(np.ptp(whole) / 1.6, rel=1e-3)
    drag(page, "map-chart", [(0.5, 0.5), (0.45, 0.5), (0.4, 0.5)])
    moved = extents(page, "map-chart")[0]
    assert moved[0] > near[0]
    assert np.ptp(moved) == pytest.approx(np.ptp(near), rel=1e-3)  # ECharts rounds ends by itself
    page.select_option("#colour", "prediction")  # stays where it is
    assert extents(page, "map-chart")[0] == moved
    page.click("#whole-map")
    assert extents(page, "map-chart")[0] == whole
    width = page.locator("#map-chart").bounding_box()["width"]
    assert width == page.locator("#map .how").evaluate("each => each.parentElement.clientWidth")


def test_rows_worth_a_look_are_one_press_away(page, contents):
    rows = contents["map"]
    page.click("[data-order=error]")
    sizes = [-1 if value is None else abs(value) for value in rows["error"]]
    assert rows["labels"][int(np.argmax(sizes))] in page.text_content("#row-title")
    page.click("[data-order=alarm]")
    indicator = [-1 if value is None else value for value in contents["drift"]["indicator"]]
    assert rows["labels"][int(np.argmax(indicator))] in page.text_content("#row-title")
    page.click("[data-order=typical]")
    x, y = (np.array(each) for each in rows["embedding_pca"]["values"])
    far = np.hypot(x - np.sort(x)[len(x) // 2], y - np.sort(y)[len(y) // 2])
    assert rows["labels"][int(np.argmin(far))] in page.text_content("#row-title")


def test_the_waterfall_leads_from_the_average_row_to_the_prediction(page):
    page.click("#next-row")
    bars = page.locator("#reasons-of-row .length").evaluate_all(
        "all => all.map(({style, className}) => [parseFloat(style.left), parseFloat(style.width), className])"
    )
    adds = page.locator("#reasons-of-row tbody td:nth-child(4)").all_text_contents()
    end = bars[0][0] + bars[0][1]
    for (left, width, look), add in zip(bars[1:-1], adds[1:-1]):
        assert ("down" in look) == (add[0] == "\N{MINUS SIGN}")
        if width > 0.6:
            begins, ends = (left + width, left) if "down" in look else (left, left + width)
            assert begins == pytest.approx(end, abs=0.7)
            end = ends
    assert bars[-1][0] + bars[-1][1] == pytest.approx(end, abs=0.7)


def test_the_swarm_shows_what_each_feature_adds_to_single_rows(page, contents):
    dependences = {each["feature"]: each for each in contents["features"]["dependences"]}
    ranked = [
        each["feature"] for each in contents["features"]["importances"] if each["feature"] in dependences
    ]
    points = series(page, "swarm-chart", 0)
    assert {point["value"][1] for point in points} == set(range(len(ranked)))
    for at, feature in enumerate(ranked):
        told = dependences[feature]
        drawn = [(point["row"], point["value"][0]) for point in points if point["value"][1] == at]
        assert drawn == list(zip(told["rows"], told["adds"][0]))  # all, since they are few
    numbers = next(each for each in contents["map"]["columns"] if each["kind"] == "number")
    values = numbers["values"]
    own = [point for point in points if ranked[point["value"][1]] == numbers["feature"]]
    lowest, highest = (pick(own, key=lambda point: values[point["row"]]) for pick in (min, max))
    assert lowest["itemStyle"]["color"] == "#440154"  # the ends of the colours, dark and light
    assert luminance(highest["itemStyle"]["color"]) > 0.3


def test_labels_of_bars_are_whole(browser, tmp_path_factory):
    start = "average_monthly_amount_of_the_customer_over_the_last_twelve_months_in_category_"
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 4)), columns=[f"{start}{i}" for i in range(4)])
    model = GBMAPRegressor(1, l2_regularization=0.1, random_state=0).fit(X[:40], X[:40].sum(axis=1))
    made = make_report(model, X[:40], X[:40].sum(axis=1), X_test=X[40:], y_test=X[40:].sum(axis=1))
    for page in opened(browser, made, tmp_path_factory.mktemp("long")):
        for width in (1280, 400):
            page.set_viewport_size({"width": width, "height": 900})
            wait_until(page, f"document.getElementById('importance-chart').clientWidth < {width}")
            settle(page)
            assert page.evaluate("document.documentElement.scrollWidth") == width
            texts = "".join(page.locator("#importance-chart svg text").all_text_contents())
            assert all(f"{start}{i}" in texts for i in range(4))
            tops = page.locator("#importance-chart svg text").evaluate_all(
                "all => all.map((each) => each.getBoundingClientRect()).map(({top, bottom}) => [top, bottom])"
            )
            rows = sorted(tops)
            assert all(low[1] < high[0] + 6 or low[0] == high[0] for low, high in pairwise(rows))


def test_the_keyboard_goes_from_row_to_row(page, contents):
    page.focus("#map-focus")
    page.keyboard.press("ArrowRight")
    first = page.text_content("#row-status")
    page.keyboard.press("ArrowRight")
    second = page.text_content("#row-status")
    page.keyboard.press("ArrowLeft")
    assert page.text_content("#row-status") == first != second
    page.select_option("#sort", "order")
    page.focus("#rows tbody tr:nth-child(2) button")
    page.keyboard.press("Enter")
    assert contents["map"]["labels"][1] in page.text_content("#row-title")
    assert page.evaluate("document.activeElement.getAttribute('aria-current')") == "true"
    page.click("#next-row")
    assert contents["map"]["labels"][2] in page.text_content("#row-title")


def luminance(colour):
    channels = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(first, second):
    light, dark = sorted([luminance(first), luminance(second)], reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_light_and_dark_can_be_read(page):
    variable = "(name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim()"
    pages = set()
    for _ in range(2):
        page.click("#theme")
        grounds = [page.evaluate(variable, name) for name in ("page", "surface")]
        pages.add(grounds[0])
        for name in ("text", "muted", "accent"):
            assert min(contrast(page.evaluate(variable, name), ground) for ground in grounds) > 4.5
        assert contrast(page.evaluate(variable, "warn"), page.evaluate(variable, "warn-surface")) > 4.5
        assert contrast(page.evaluate(variable, "edge"), grounds[0]) > 3
    assert len(pages) == 2
    page.emulate_media(color_scheme="dark")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"  # the switch has been used
    page.emulate_media(color_scheme="light")


def test_a_phone_and_paper_hold_the_page(page):
    page.set_viewport_size({"width": 390, "height": 800})
    wait_until(page, "document.getElementById('map-chart').querySelector('canvas').clientWidth < 390")
    for _ in range(6):
        page.click("#next-row")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.click("#theme")
    assert not page.locator("#cards li").last.is_visible()
    page.emulate_media(media="print")
    wait_until(page, "document.documentElement.dataset.theme === 'light'")
    assert not page.locator("nav").is_visible()
    assert page.locator("#cards li").last.is_visible()
    page.emulate_media(media="screen")
    page.click("#theme")


def test_a_screen_reader_finds_its_way(page):
    levels = page.eval_on_selector_all("h1, h2, h3", "all => all.map((each) => Number(each.tagName[1]))")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert max(np.diff(levels)) <= 1
    assert page.locator("main, header, nav, footer").count() == 4
    unlabelled = "all => all.filter((each) => !each.labels.length && !each.ariaLabel).length"
    assert page.eval_on_selector_all("select, input", unlabelled) == 0
    for chart in page.query_selector_all(".chart"):
        assert chart.get_attribute("role") == "img"
        assert chart.get_attribute("aria-label")
    assert page.locator(".chart").count() <= page.locator("main table").count()
    assert page.get_attribute("#row-status", "aria-live") == "polite"


def test_the_features_can_be_chosen_and_the_drift_explained(page, contents):
    dependence = contents["features"]["dependences"][1]
    page.select_option("#feature", "1")
    page.locator("#dependence").evaluate("table => table.closest('details').open = true")
    adds = page.locator("#dependence tbody td").all_text_contents()
    assert adds == [number(value, sign=True) for value in dependence["means"][0]]
    curve = next(each for each in contents["features"]["curves"] if each["feature"] == dependence["feature"])
    page.locator("#curve").evaluate("table => table.closest('details').open = true")
    told = page.locator("#curve tbody td").all_text_contents()
    assert told[0] == number(curve["average"][0][0], sign=True)
    assert told[-1] == number(curve["average"][0][-1], sign=True)
    first = page.locator("#reasons tbody tr").first.locator("td").all_text_contents()
    reason = max(contents["drift"]["reasons"], key=lambda each: abs(each["contribution"][0]))
    assert first[0] == number(reason["contribution"][0], sign=True)
    assert first[2:] == [number(reason["training_mean"]), number(reason["new_mean"])]


def test_a_class_can_be_chosen_in_every_section(class_page, classes):
    contents, page = classes.to_dict(), class_page
    page.select_option("#feature-output", "2")
    assert page.input_value("#region-output") == "2"
    visible = page.locator(".region-table:visible .region-title .words").all_text_contents()
    assert visible == [region["words"][:240] for region in contents["regions"]["outputs"][2]["regions"]]
    outputs = page.eval_on_selector_all(
        "#cards li:not([hidden])", "all => all.map((each) => each.dataset.output)"
    )
    assert set(outputs) == {"2"}
    page.click("#next-row")
    for k in range(3):
        page.select_option("#row-output", str(k))
        sums = page.text_content("#row-sum")
        assert sums in [number(score) for score in contents["map"]["scores"][k]]


def test_in_the_frame_of_a_notebook_links_stay_in_the_frame(browser, classes, tmp_path):
    path, messages = tmp_path / "notebook.html", []
    path.write_text(f"<title>Notebook</title>{classes._repr_html_()}", encoding="utf-8")
    notebook = browser.new_page()
    notebook.on("console", lambda message: messages.append(message.text))
    notebook.goto(path.as_uri())
    frame = notebook.frames[1]
    assert notebook.get_attribute("iframe", "sandbox") == "allow-scripts allow-downloads"  # and no way to it
    frame.wait_for_selector("#spreads svg")
    frame.click("nav a[href='#regions']")
    wait_until(frame, "document.getElementById('regions').getBoundingClientRect().top < 120")
    with notebook.expect_download() as waiting:
        frame.click("#download")
    assert len(pd.read_csv(waiting.value.path())) == 120
    assert messages == []
    notebook.close()


def test_charts_label_numbers_below_zero_and_in_thousands(year_page, years):
    groups = years.contents["predictions"]["numbers"]["groups"]
    assert groups[0]["mean_prediction"] < 0 < 1000 < groups[-1]["mean_prediction"]
    assert years.contents["drift"]["bins"][-1] > 1000
    labels = year_page.locator("svg text").all_text_contents()
    assert number(groups[0]["mean_prediction"]) in labels
    assert number(groups[-1]["mean_prediction"]) in labels
    assert [label for label in labels if "NaN" in label or label.endswith("K")] == []


def test_years_have_no_separator_and_hours_a_bar_each(year_page, years):
    ends = year_page.locator("#spreads li", has_text="year").locator(".ends").text_content()
    assert ends == "20012067"
    columns = {
        years.contents["features"]["names"][each["feature"]]: each
        for each in years.contents["data"]["columns"]
    }
    assert columns["hour"]["edges"] == [each - 0.5 for each in range(25)]
    assert "outside 2001 to 2007" in year_page.text_content("#trust")
    assert "2,00" not in year_page.text_content("#row-panel, .panel")
    assert "dry: " in year_page.text_content("#what-matters").replace("\n", "")
    matter = next(each for each in years.contents["summary"]["matters"] if each["way"] == "levels")
    assert (matter["highest"], matter["lowest"]) == ("1", "0")


@pytest.fixture(scope="module")
def dates():
    """A report of a raw table with a date and a unit."""
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(5)
    when = pd.Timestamp("2020-01-06") + pd.to_timedelta(rng.integers(0, 700, 200), unit="D")
    table = pd.DataFrame({"sold": when.strftime("%d.%m.%Y"), "size": rng.uniform(1, 9, 200).round(1)})
    table["size"] = [f"{each} kg" for each in table["size"]]
    table["price"] = 9.0 * (np.asarray(when.day_of_week) >= 5) + 0.02 * np.asarray((when - when.min()).days)
    model = TableModel("price", n_components=4).fit(table)
    X, y, X_test, y_test = model.split(table)
    return make_report(model, X, y, X_test=X_test, y_test=y_test)


@pytest.fixture(scope="module")
def date_page(browser, dates, tmp_path_factory):
    yield from opened(browser, dates, tmp_path_factory.mktemp("dates"))


def test_dates_are_shown_as_dates_wherever_a_value_stands(date_page, dates):
    names = dates.contents["features"]["names"]
    ends = date_page.locator("#spreads li", has_text="sold (weekday)").locator(".ends").text_content()
    assert ends == "MondaySunday"
    assert "in kg" in date_page.locator("#spreads li", has_text="size").text_content()
    days = [str(names[each["feature"]]) for each in dates.contents["features"]["dependences"]]
    date_page.select_option("#feature", str(days.index("sold (days)")))
    rows = date_page.locator("#dependence tbody th").all_text_contents()
    assert all(row.startswith(("2019-", "2020-", "2021-", "2022-")) for row in rows)
    script = """(id) => {
        const [{ axisLabel }] = echarts.getInstanceByDom(document.getElementById(id)).getOption().xAxis;
        return axisLabel.formatter(18500);
    }"""
    assert date_page.evaluate(script, "dependence-chart") == "2020-08-26"
    date_page.select_option("#colour", f"column{names.index('sold (days)')}")
    assert "2020-" in date_page.text_content("#legend .ends")


def test_the_waterfall_begins_and_ends_with_a_whole_and_the_indicator_has_its_threshold(year_page):
    assert year_page.locator("#reasons-of-row .length.whole").count() == 2
    year_page.click("[data-order=typical]")
    facts = year_page.text_content("#row-facts")
    assert "alarm above" in facts or ", alarm" in facts


def test_names_take_no_more_room_than_they_need(year_page):
    script = """(id) => {
        const chart = echarts.getInstanceByDom(document.getElementById(id));
        return chart.convertToPixel({ gridIndex: 0 }, [0, 0])[0] / chart.getWidth();
    }"""
    assert 0.05 < year_page.evaluate(script, "importance-chart") < 0.25


def test_tables_fit_a_phone(year_page):
    year_page.set_viewport_size({"width": 390, "height": 800})
    wait_until(year_page, "document.documentElement.clientWidth === 390")
    assert year_page.evaluate(
        "document.querySelector('#how-good .scroll').scrollWidth"
        " === document.querySelector('#how-good .scroll').clientWidth"
    )
    assert year_page.locator(".findings td").nth(1).bounding_box()["width"] > 300
    year_page.set_viewport_size({"width": 1280, "height": 900})
