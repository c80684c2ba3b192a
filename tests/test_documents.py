"""The documents tell the truth: their code runs, and what they quote is what is shipped."""

import inspect
import os
import re
import runpy
from pathlib import Path

import pytest

from gbmap import losses

ROOT = Path(__file__).parents[1]
needs_data = pytest.mark.skipif(not os.environ.get("GBMAP_DATA"), reason="GBMAP_DATA names no folder")


def python_blocks(name):
    return re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(), flags=re.DOTALL)


@pytest.mark.parametrize(
    ("name", "blocks"),
    [
        ("README.md", slice(None)),
        ("docs/add-a-loss.md", slice(1)),
        ("docs/drift.md", slice(None)),
        ("docs/explaining.md", slice(None)),
    ],
)
def test_the_code_of_a_document_runs(name, blocks):
    exec("\n".join(python_blocks(name)[blocks]), {"__name__": name})


def test_the_loss_that_the_guide_quotes_is_the_shipped_one():
    assert python_blocks("docs/add-a-loss.md")[1] == inspect.getsource(losses.Huber)


def test_the_readme_is_short_and_its_links_lead_somewhere():
    text = (ROOT / "README.md").read_text()
    assert text.count("\n") < 120
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (ROOT / target).exists(), target


def test_the_demonstration_prints_scores_and_draws_the_map(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    from gbmap import demo

    monkeypatch.chdir(tmp_path)
    assert demo.main() == 0
    scores = dict(re.findall(r"  (.+?) +(0\.\d+)\n", capsys.readouterr().out))
    assert float(scores["GBMAP itself"]) > float(scores["logistic regression on 64 pixels"]) + 0.04
    assert os.path.getsize(demo.PICTURE) > 50_000


def run_gallery(name):
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    results = runpy.run_path(str(ROOT / "docs" / "gallery" / name))
    plt.close("all")
    return results


@needs_data
def test_figure_3_of_the_paper_is_repeated():
    results = run_gallery("plot_local_explanation.py")
    assert results["share_of_benzene"] > 0.6
    assert results["humidity"] < results["benzene"] / 4


@needs_data
def test_the_differences_between_two_pairs_of_models_are_found():
    results = run_gallery("plot_model_difference.py")
    assert results["change"].faithfulness > 0.8
    assert results["outside"]["compared on dry and wet mixes"].scores[-1] > 0.8
