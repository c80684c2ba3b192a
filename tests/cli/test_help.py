"""The help reads well at 80 columns, comes at once, and the shell can complete what is typed."""

import re
import subprocess
import sys

import pytest

COMMANDS = [
    "demo", "fit", "predict", "transform", "explain", "evaluate", "drift", "difference", "report", "inspect",
    "export",
]  # fmt: skip


def test_all_commands_are_listed_with_a_whole_sentence(run):
    listed = run("--help").out.split("Commands:\n")[1]
    found = dict(re.findall(r"^  (\w+) +(.+)$", listed, flags=re.MULTILINE))
    assert list(found) == COMMANDS
    assert all(text.endswith(".") and not text.endswith("...") for text in found.values())


def test_the_exit_codes_are_in_the_help(run):
    codes = re.findall(r"^ +(\d+)  ", run("--help").out, flags=re.MULTILINE)
    assert codes == ["0", "1", "2", "3", "70", "130"]


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)])
def test_help_fits_80_columns_with_its_examples_on_lines_of_their_own(run, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "80")
    text = run(*command, "--help").out
    assert max(map(len, text.splitlines())) <= 80
    if command:
        examples = text.split("For example:\n")[1].split("\n\n")[0].splitlines()
        assert examples
        for line in examples:
            assert f"gbmap {command[0]}" in line


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_says_what_it_is(run, command):
    for option in re.findall(r"\n  (-.*?)(?=\n  -|\n*$)", run(command, "--help").out, flags=re.DOTALL):
        assert re.search(r"\s{2,}\S.*", option), option
        assert not re.search(r"<\w", option), option  # a type in place of a name


def test_the_help_imports_nothing_heavy():
    script = (
        "import sys, gbmap\n"
        "before = set(sys.modules)\n"
        "from gbmap.cli import main\n"
        "main(['fit', '--help'])\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "sys.stderr.write(' '.join(sorted(new)))\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "Usage: gbmap fit" in ended.stdout
    heavy = {"sklearn", "scipy", "numpy", "pandas", "pyarrow", "matplotlib", "jinja2", "onnx"}
    assert not heavy & set(ended.stderr.split())


@pytest.fixture
def complete(run, monkeypatch):
    """Return a function that gives what bash would offer for words, of which one is being typed."""

    def complete(words, position):
        monkeypatch.setenv("_GBMAP_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(position))
        ended = run()
        assert ended.code == 0
        return ended.out.split()

    return complete


def test_bash_completes_commands_options_and_choices(complete):
    assert complete("gbmap tr", 1) == ["transform"]
    assert {"--target", "--test-size", "--task"} <= set(complete("gbmap fit --t", 2))
    assert complete("gbmap fit --task ", 3) == ["regression", "classification"]
    assert complete("gbmap export m.gbmap --to s", 4) == ["sql"]


def test_the_completion_script_is_handed_out(run, monkeypatch):
    monkeypatch.setenv("_GBMAP_COMPLETE", "source_bash")
    ended = run()
    assert ended.code == 0
    assert "_GBMAP_COMPLETE=complete_bash" in ended.out
    checked = subprocess.run(["bash", "-n"], input=ended.out, text=True, capture_output=True)
    assert checked.returncode == 0
