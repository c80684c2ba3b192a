"""The tree stays what ARCHITECTURE.md says: rooms, one seam, functions that fit a screen."""

import ast
from pathlib import Path

import pytest

import gbmap

ROOT = Path(gbmap.__file__).parent
# Where a fit runs, functions are short; a kernel for a device is one by nature, and scikit-learn wants
# all parameters of an estimator in one.
SHORT = ("estimators", "_fit", "_rows")
LONG_BY_NATURE = {"_pointwise", "__init__"}
MOST_LINES, MOST_PARAMETERS = 40, 7
# What asks where data lives.
QUESTIONS = {"is_foreign", "is_collection", "recognises"}


def functions():
    for folder in SHORT:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.FunctionDef) and node.name not in LONG_BY_NATURE:
                    yield pytest.param(node, id=f"{path.relative_to(ROOT).as_posix()}:{node.name}")


def n_lines(function):
    """Count the lines of a function without its docstring."""
    first = function.body[0]
    is_doc = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    doc = first.end_lineno - first.lineno + 1 if is_doc else 0
    return function.end_lineno - function.lineno + 1 - doc


def test_no_private_module_is_at_the_root():
    assert [path.name for path in ROOT.glob("_*.py") if not path.name.startswith("__")] == []


def test_functions_of_a_fit_are_short_and_take_few_parameters():
    for each in functions():
        (function,) = each.values
        named = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
        parameters = [argument for argument in named if argument.arg not in ("self", "cls")]
        assert n_lines(function) <= MOST_LINES, each.id
        assert len(parameters) <= MOST_PARAMETERS, each.id


def test_few_places_ask_where_data_lives():
    sources = {path: path.read_text(encoding="utf-8") for path in ROOT.rglob("*.py")}
    asked = [
        path
        for path, text in sources.items()
        if any(question in text for question in QUESTIONS)  # or it need not be parsed
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", getattr(node.func, "attr", None)) in QUESTIONS
    ]
    assert len(asked) < 10, sorted(path.relative_to(ROOT).as_posix() for path in asked)
