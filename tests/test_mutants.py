"""The check of the tests in `tools/mutants`: what counts as a change, and that it is applied."""

import sys
from pathlib import Path

import pytest

# The tools are run from the root of the repository and not installed.
sys.path.insert(0, str(Path(__file__).parents[1]))

from tools.mutants.__main__ import _exclusions
from tools.mutants.changes import changes_of

TEXT = '''
"""A module."""
LIMIT = 3


def mean(values: "a + b", weight=None) -> "1 < 2":
    """Return 1 + 1."""
    if len(values) < LIMIT:
        raise ValueError(f"too few: {len(values) + 1}")
    return sum(values * weight)
'''


def test_behaviour_changes_and_words_do_not():
    texts = {change.text for change in changes_of("module.py", TEXT)}
    assert texts == {
        "3  ->  4",
        "len(values) < LIMIT  ->  not len(values) < LIMIT",
        "len(values) < LIMIT  ->  len(values) <= LIMIT",
        "raise ValueError(f'too few: {len(values) + 1}')  ->  pass",
        "values * weight  ->  values / weight",
        "values * weight  ->  values",
        "values * weight  ->  weight",
    }


def test_each_change_stands_alone_in_the_module_and_is_run_by_its_lines():
    first, *_, last = changes_of("module.py", TEXT)
    assert (first.place, first.lines) == ("module.py:3", None)  # by an import
    assert (last.place, last.lines) == ("module.py:10", (10, 10))
    for change, limit, product in [(first, 4, "values * weight"), (last, 3, "weight")]:
        lines = change.source().splitlines()
        assert lines[1] == f"LIMIT = {limit}"
        assert lines[-1].strip() == f"return sum({product})"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("max(a, b)", "min(a, b)"),
        ("f(a, b)", "f(b, a)"),
        ("f(a, axis=0)", "f(a)"),
        ("-a", "a"),
        ("a if b else c", "c"),
        ("a and b", "a"),
        ("a is None", "a is not None"),
        ("True", "False"),
    ],
)
def test_kinds_of_changes(before, after):
    assert f"{before}  ->  {after}" in {change.text for change in changes_of("module.py", f"x = {before}")}


@pytest.mark.parametrize("dropped", ["f(a)", "a.b = c", "a[b] = c", "a += b", "a = f(a)"])
def test_statements_can_be_dropped(dropped):
    assert f"{dropped}  ->  pass" in {change.text for change in changes_of("module.py", dropped)}


def test_what_may_change_unnoticed_is_there():
    assert _exclusions()  # which refuses a line that its module does not have
