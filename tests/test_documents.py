"""The documents tell the truth: code and commands run, links lead somewhere, no public name is missing."""

import importlib
import inspect
import os
import pkgutil
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tomllib
from functools import partial
from pathlib import Path

import distributed
import pytest

import gbmap

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
BENCHMARKS = DOCS / "benchmarks"
PAGES = sorted([*DOCS.glob("*.md"), ROOT / "README.md"])
GALLERY = sorted((DOCS / "gallery").rglob("plot_*.py"))
NO_LIBRARY = {"gbmap.cli", "gbmap.demo"}  # programs: the reference has what can be imported with profit
GUIDES = [
    ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "benchmarks/README.md")
]
TRACKED = [
    path
    for folder in ("src", "tests", "docs", "benchmarks", "tools")
    for path in (ROOT / folder).rglob("*")
    if path.is_file() and not {"generated", "__pycache__"} & set(path.parts)
] + [path for path in ROOT.iterdir() if path.is_file()]
needs_data = pytest.mark.skipif(not os.environ.get("GBMAP_DATA"), reason="GBMAP_DATA names no folder")


def blocks(page, *languages):
    """Return the fenced blocks of a page in one of some languages."""
    fence = r"^(`{3,}|:{3,})[ ]*(\S*)[^\n]*\n(.*?)^\1[ ]*$"
    found = re.findall(fence, page.read_text(), flags=re.DOTALL | re.MULTILINE)
    return [text for _, language, text in found if language in languages]


def by_name(page):
    return page.name


@pytest.fixture
def pyplot(tmp_path, monkeypatch):
    """Give pictures no screen, and files a folder of their own."""
    import matplotlib.pyplot as plt

    monkeypatch.chdir(tmp_path)
    plt.switch_backend("agg")
    yield plt
    plt.close("all")


@pytest.mark.parametrize(
    "page", [page for page in sorted(DOCS.glob("*.md")) if blocks(page, "python")], ids=by_name
)
def test_the_code_of_a_page_runs(page, pyplot, monkeypatch):
    # Workers that are processes take seconds to start, and have tests of their own.
    monkeypatch.setattr(distributed, "LocalCluster", partial(distributed.LocalCluster, processes=False))
    exec(compile("\n".join(blocks(page, "python")), page.name, "exec"), {"__name__": page.stem})


# Leaves as much of the environment as `pip install ".[cli]"` makes: gbmap, and what its dependencies need.
BARE = """
import re, sys
from importlib.metadata import PackageNotFoundError, packages_distributions, requires

def needed(name, extras=()):
    found = {name}
    try:
        lines = requires(name) or []
    except PackageNotFoundError:  # of another system
        return found
    for line in lines:
        asked = re.search(r"extra == .(\\w+)", line)
        if asked is None or asked[1] in extras:
            of, of_extras = re.match(r"([\\w.-]+)(?:\\[([\\w,]+)\\])?", line).groups()
            found |= needed(of.lower(), (of_extras or "").split(","))
    return found

kept = needed("gbmap", ["cli"])
owners = packages_distributions()

class Others:
    def find_spec(self, name, path=None, target=None):
        of = {owner.lower() for owner in owners.get(name.partition(".")[0], kept)}
        if not of & kept:
            raise ModuleNotFoundError(f"the command does not bring {name}", name=name)

sys.meta_path.insert(0, Others())
"""


def test_the_code_of_the_readme_runs_on_what_its_command_installs_and_beats_a_linear_model(tmp_path):
    text = (ROOT / "README.md").read_text()
    before, (block,) = text.split("```python\n")[0], blocks(ROOT / "README.md", "python")
    assert before.rstrip().endswith('after `pip install ".[cli]"`:')
    extra = "print('drift', (model.detector_.predict(model.features(new)) < 0).mean())\nimport polars\n"
    given = [sys.executable, "-W", "error", "-c", "\n".join([BARE, block, extra])]
    ended = subprocess.run(given, capture_output=True, text=True, cwd=tmp_path)
    assert ended.stderr.endswith("ModuleNotFoundError: the command does not bring polars\n"), ended.stderr
    scores = dict(re.findall(r"^(\w+).* (\d\.\d+)$", ended.stdout, flags=re.MULTILINE))
    for name, score in re.findall(r'print\(f"(\w+).*# (\d\.\d+)$', block, flags=re.MULTILINE):
        assert float(scores[name]) == pytest.approx(float(score), abs=0.01), name
    assert float(scores["GBMAP"]) > float(scores["linear"]) + 0.03
    assert float(scores["drift"]) > 0.8


@pytest.mark.parametrize("page", PAGES, ids=by_name)
def test_no_block_of_code_hides_behind_another_name_of_its_language(page):
    assert not blocks(page, "", "py", "py3", "Python", "pycon", "ipython", "bash", "shell", "zsh")


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "sh", "console")], ids=by_name)
def test_the_commands_of_a_page_are_ones_that_there_are(page):
    for block in blocks(page, "sh"):
        subprocess.run(["bash", "-n"], input=block, text=True, check=True)
    for line in commands(page):
        check_command(shlex.split(line, comments=True))


def commands(page):
    """Return the commands of a page, one a line, without what they are piped to."""
    lines = "\n".join(blocks(page, "sh")).replace("\\\n", " ").splitlines()
    shown = "\n".join(blocks(page, "console")).replace("\\\n", " ").splitlines()
    lines += [line[2:] for line in shown if line.startswith("$ ")]
    return [part for line in lines if line.strip() for part in re.split(r"\||&&|;|>", line)]


def check_command(words):
    """Fail unless a command of gbmap, make, pip or Python has the parts that it is given."""
    match words:
        case ["gbmap", *arguments]:
            check_own_command(arguments)
        case ["make", *targets]:
            known = re.findall(r"^([a-z -]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
            assert set(targets) <= set(" ".join(known).split()), words
        case ["pip", "install", *what]:
            check_extras(what)
        case ["python", "-m", module, *_]:
            assert importlib.util.find_spec(module), words


def check_own_command(arguments):
    import typer

    from gbmap.cli._app import app

    command = typer.main.get_command(app)
    given = [word for word in arguments if word.startswith("-") and word != "-"]
    if arguments and not arguments[0].startswith("-"):
        assert arguments[0] in command.commands, arguments
        command = command.commands[arguments[0]]
    known = {
        option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)
    }
    known |= {"--help"}
    assert {option.split("=")[0] for option in given} <= known, (arguments, known)


def check_extras(what):
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    asked = [name for word in what for name in re.findall(r"\[([\w,]+)\]", word)]
    assert {name for names in asked for name in names.split(",")} <= set(extras), what


def test_every_extra_that_the_pages_and_errors_name_exists():
    for source in [*PAGES, *(ROOT / "src").rglob("*.py")]:
        check_extras(re.findall(r"gbmap\[[\w,]+\]", source.read_text()))


def test_every_page_is_in_the_table_of_contents_once():
    written = [*DOCS.glob("*.md"), *DOCS.glob("*.rst"), *BENCHMARKS.glob("*.md")]
    written = {page.relative_to(DOCS).with_suffix("").as_posix() for page in written} - {"index"}
    listed = [name for page in DOCS.glob("*.md") for name in entries(page)]
    listed += [f"benchmarks/{name}" for name in entries(BENCHMARKS / "index.md")]
    assert sorted(listed) == sorted(written | {"generated/gallery/index", "generated/gallery/plot_start"})


def entries(page):
    lines = "\n".join(blocks(page, "{toctree}")).splitlines()
    named = [line.strip() for line in lines if line.strip() and not line.startswith(":")]
    return [re.sub(r".*<(.+)>", r"\1", name) for name in named]


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=by_name)
def test_the_links_of_a_page_lead_somewhere(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    for target, _, anchor in (link.partition("#") for link in re.findall(r"\]\(([^)\s]+)\)", text)):
        if target.startswith(("http://", "https://")):
            continue
        file = source_of(target) if target else page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), f"{target}#{anchor}"
    for target in re.findall(r"(?:```\{image\}|\.\. plot::) (\S+)", page.read_text()):
        assert (DOCS / target).exists(), target


def source_of(target):
    """Return the file that a link leads to: for a page of the gallery, its script."""
    if target.startswith("generated/gallery/"):
        name = target.removeprefix("generated/gallery/").removesuffix(".rst")
        return DOCS / "gallery" / ("README.txt" if name == "index" else f"{name}.py")
    return DOCS / target


def anchors(page):
    """Return the anchors of the headings of a page, and of what it includes."""
    texts = [page.read_text()]
    texts += [(DOCS / name).read_text() for name in re.findall(r"```\{include\} (\S+)", texts[0])]
    headings = [title for text in texts for title in re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)]
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in headings}


def test_the_reference_lists_every_public_name():
    listed = {id(thing) for thing in documented().values()}
    missing = [name for name, thing in public_names().items() if id(thing) not in listed]
    assert not missing


def test_every_name_of_the_reference_has_an_example():
    lacking = [name for name, thing in documented().items() if ">>>" not in inspect.getdoc(thing)]
    assert not lacking


def test_numpydoc_finds_every_parameter_described():
    from numpydoc import docscrape

    lacking = [
        f"{name}: {parameter}"
        for name, thing in {**documented(), **own_methods()}.items()
        for parameter in parameters(thing) - described(docscrape.get_doc_object(thing))
    ]
    assert not lacking


def own_methods():
    """Return the methods of the listed classes, less those that fill in an abstract one."""
    return {
        f"{name}.{member}": getattr(cls, member)
        for name, cls in documented().items()
        if inspect.isclass(cls)
        for member, method in vars(cls).items()
        if member[0] != "_" and inspect.isfunction(getattr(method, "__func__", method))
        if not any(member in vars(base) for base in cls.__mro__[1:])
    }


def parameters(thing):
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return set()
    return {name for name in inspect.signature(thing).parameters if name[0] != "_"} - {"self"}


def described(document):
    entries = [entry.name for section in ("Parameters", "Attributes") for entry in document[section]]
    return {name.strip(" *") for names in entries for name in names.split(",")}


def documented():
    """Return the things that the reference lists, by their full names."""
    things, module, in_list = {}, "", False
    for line in (DOCS / "api.rst").read_text().splitlines():
        if found := re.match(r"\.\. currentmodule:: (\S+)", line):
            module = found[1]
        in_list = line == ".. autosummary::" or (in_list and line[:1] in ("", " "))
        if in_list and re.match(r"   \w+$", line):
            things[f"{module}.{line.strip()}"] = getattr(importlib.import_module(module), line.strip())
    return things


def public_names():
    """Return what the public modules offer: what they say they do, else what they define."""
    modules = [gbmap.__name__]
    modules += [f"gbmap.{each.name}" for each in pkgutil.iter_modules(gbmap.__path__) if each.name[0] != "_"]
    return {
        f"{name}.{member}": getattr(module, member)
        for name, module in (
            (name, importlib.import_module(name)) for name in modules if name not in NO_LIBRARY
        )
        for member in getattr(module, "__all__", None) or defined_in(module)
    }


def defined_in(module):
    return [
        name
        for name, thing in vars(module).items()
        if name[0] != "_" and getattr(thing, "__module__", None) == module.__name__ and callable(thing)
    ]


def test_the_times_on_the_page_about_large_data_are_the_measured_ones():
    measured = {row["n x p"]: row for row in table_below(BENCHMARKS / "speed.md", "## Runtime (Table 3)")}
    for size, *times in rows_below(DOCS / "scaling.md", "## What to expect"):
        expected = [measured[size][name] for name in ("gbmap", "PCA, full SVD", "recipe, precompiled")]
        assert figures(times) == pytest.approx(figures(expected), rel=0.3), size


def test_the_times_on_the_page_about_drift_are_the_measured_ones():
    table = table_below(BENCHMARKS / "neighbours.md", "## Neighbours in the embedding")
    measured = {(row["problem"], row["method"]): row for row in table}
    for directions, size, *times, recall, build in rows_below(DOCS / "drift.md", "## Large data"):
        problem = f"{directions} directions, {10 ** int(size.removeprefix('10^'))} reference rows"
        searches = [measured[problem, method] for method in ("kd_tree", "brute", "pynndescent")]
        expected = [*(search["query, s"] for search in searches), searches[-1]["build, s"]]
        assert figures([*times, build]) == pytest.approx(figures(expected), rel=0.3), problem
        assert float(recall) == pytest.approx(float(searches[-1]["recall"]), abs=0.01), problem


def rows_below(page, heading):
    """Return the rows of the first table below a heading."""
    return [list(row.values()) for row in table_below(page, heading)]


def table_below(page, heading):
    """Return the rows of the first table below a heading, by the titles of its columns."""
    table = page.read_text().split(f"{heading}\n")[1].split("\n\n|")[1].split("\n\n")[0]
    titles, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    return [dict(zip(titles, row)) for row in rows]


def figures(cells):
    """Return the numbers that cells begin with: 0.845 ± 0.017 is 0.845."""
    return [float(cell.split()[0]) for cell in cells]


@pytest.mark.parametrize("page", sorted({*PAGES, *GUIDES}), ids=by_name)
def test_the_files_that_a_page_names_are_there(page):
    named = re.findall(r"`([\w./-]+/|[\w./-]+\.(?:py|toml|md|txt|cff))`", page.read_text(encoding="utf-8"))
    known = [f"/{path.relative_to(ROOT).as_posix()}" for path in TRACKED]
    known += [f"{each.rpartition('/')[0]}/" for each in known]
    elsewhere = ("build/", "results/", ".github/")  # made by commands, or left out of a source distribution
    missing = [name for name in named if not any(each.endswith(f"/{name}") for each in known)]
    assert not [name for name in missing if not name.startswith(elsewhere)]


def test_the_readme_is_short():
    assert (ROOT / "README.md").read_text(encoding="utf-8").count("\n") < 120


LINKED = [
    *GUIDES,
    *PAGES,
    *sorted(BENCHMARKS.glob("*.md")),
    *sorted(ROOT.glob("[A-Z]*.md")),
]


@pytest.mark.parametrize("page", sorted(set(LINKED)), ids=by_name)
def test_the_links_and_pictures_of_a_page_lead_somewhere(page):
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)", text):
        is_made = target.startswith(("https://", "generated/"))
        assert is_made or (page.parent / target).exists(), target


def test_the_demonstration_prints_scores_and_draws_the_map(tmp_path, monkeypatch, capsys):
    from gbmap import demo

    monkeypatch.chdir(tmp_path)
    assert demo.main() == 0
    told = capsys.readouterr().out
    errors = {name: float(error) for name, error in re.findall(r"  (.+?) +(\d+\.\d+) MW\n", told)}
    assert errors["GBMAP"] < 1.2 * 1.2 < errors["a linear model"] / 3  # near the noise
    quiet, loud = (
        (int(share), degree, float(expected), float(true))
        for share, degree, expected, true in re.findall(
            r"(\d+)% .*verdict: (\w+), +error to expect (\S+) MW \(in truth (\S+)\)", told
        )
    )
    assert quiet[0] < 10 < 30 < loud[0]
    assert (quiet[1], loud[1]) == ("none", "act")
    assert quiet[2:] == pytest.approx((quiet[3], quiet[3]), rel=0.2)
    assert loud[2] == pytest.approx(loud[3], rel=0.4)
    assert loud[3] > 3 * quiet[3]
    alarmed, others = map(
        float, re.search(r"are off by (\S+) MW on average, others by (\S+)\.\n", told).groups()
    )
    assert alarmed > 2.5 * others
    assert os.path.getsize(demo.PICTURE) > 50_000
    assert os.path.getsize(demo.PAGE) > 1_000_000


def test_every_formula_becomes_mathml():
    from docutils.utils.math.latex2mathml import tex2mathml

    text = (DOCS / "method.md").read_text()
    formulas = re.findall(r"\$\$(.+?)\$\$|\$([^$]+)\$", text, flags=re.DOTALL)
    assert len(formulas) > 100
    for block, inline in formulas:
        assert tex2mathml(block or inline, as_block=bool(block)).startswith("<math")


# What the texts of the examples say, as far as it depends on the data.
CLAIMS = {
    "plot_churn": "share > 1.8 * usual and 'calls' in reasons and verdict.degree == 'act'",
    "plot_columns": "curve.missing < -20 and curve.average[-1] > curve.average[0] + 20",
    "plot_credit": "auc > 0.7 and change.found and change.prediction_after < -1 and verdict.degree == 'act'",
    "plot_demand": "0.85 < inside < 0.97 and error < 2 and 'temperature' in verdict.summary",
    "plot_drift_alarm": "alarms < 0.1 and alarms_new > 0.5 and 0.5 < expected / true < 2",
    "plot_explained_row": "abs(shares.base_values[0] + shares.values.sum() - model.predict(X)[row]) < 1e-6",
    "plot_local_explanation": "share_of_benzene > 0.6 and humidity < benzene / 4",
    "plot_map_beside_pca": "scores.pop('20 GBMAP coordinates') > max(scores.values()) + 0.03",
    "plot_model_difference": "change.faithfulness > 0.8 and wide.lift(wet_to_judge).scores[-1] > 0.8",
    "plot_neighbours": "by_euclid < 0.9 and by_map > 0.96",
    "plot_no_knobs": "scores[0] > scores[2] + 0.1 and 0.85 < inside.mean() < 0.97",
    "plot_number_of_learners": "2 <= best < 10",
    "plot_path": "(change <= path + 1e-9).all() and (path <= embedding + 1e-9).all() and change.max() > 10",
    "plot_regions": "len(table.n_rows) == 4 and table.precision.min() >= 0.8",
    "plot_sensors": "len(monitor.alarms_) == 1 and 'temperature' in {one.column for one in verdict.findings}",
    "plot_start": "alarms > 0.5 and to_blame == 'bmi' and abs(total - model.predict(X_test)[4]) < 1e-6",
    "plot_two_models": "lift.scores[-1] > lift.scores[0] + 0.1",
}


@pytest.mark.sampled(3)  # `make docs` runs all of them
@pytest.mark.parametrize(
    "script",
    [
        pytest.param(script, marks=[needs_data] * (script.parent.name == "paper"), id=script.stem)
        for script in GALLERY
    ],
)
def test_an_example_of_the_gallery_draws_and_what_it_says_holds(script, pyplot):
    results = runpy.run_path(str(script))
    assert pyplot.get_fignums()
    assert eval(CLAIMS[script.stem], results)


@pytest.mark.nightly
def test_an_example_runs_as_the_notebook_that_readers_download(tmp_path):
    import nbclient
    import nbformat
    from sphinx_gallery.notebook import python_to_jupyter_cli

    script = shutil.copy(DOCS / "gallery" / "plot_start.py", tmp_path)
    python_to_jupyter_cli([str(script)])
    notebook = nbformat.read(Path(script).with_suffix(".ipynb"), as_version=4)
    nbclient.NotebookClient(notebook, timeout=60).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert sum("image/png" in output.get("data", {}) for output in outputs) == 2
    assert any("the same alarms: True" in output.get("text", "") for output in outputs)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("script", sorted((DOCS / "images").glob("*.py")), ids=by_name)
def test_the_script_of_a_picture_draws(script, pyplot):
    results = runpy.run_path(str(script))
    if "draw" in results:
        results["draw"]()
    assert len(pyplot.gcf().axes) >= 2


def test_the_picture_of_the_map_is_small():
    assert 20_000 < (DOCS / "images" / "map.png").stat().st_size < 200_000
