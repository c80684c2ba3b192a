"""The documents tell the truth: their code runs, and what they quote is what is shipped."""

import inspect
import os
import re
from pathlib import Path

import pytest

from gbmap import losses

ROOT = Path(__file__).parents[1]


def python_blocks(name):
    return re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(), flags=re.DOTALL)


@pytest.mark.parametrize(("name", "blocks"), [("README.md", slice(None)), ("docs/add-a-loss.md", slice(1))])
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
