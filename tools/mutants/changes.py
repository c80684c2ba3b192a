"""The small changes that a module can suffer, one at a time, found in its syntax tree."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any


def _both_ways(pairs: str) -> dict[str, str]:
    words = [pair.split("-") for pair in pairs.split()]
    return dict(words) | {b: a for a, b in words}


_OPERATORS = {"Pow": "Mult", "FloorDiv": "Mult", "Mod": "Mult"} | _both_ways(
    "Lt-LtE Gt-GtE Eq-NotEq Is-IsNot In-NotIn Add-Sub Mult-Div BitAnd-BitOr And-Or"
)
_FUNCTIONS = _both_ways("min-max minimum-maximum argmin-argmax any-all zeros-ones floor-ceil")
# What holds no behaviour: the words of errors and warnings, types, and how objects show themselves.
_SILENT_FIELDS = {"annotation", "returns", "decorator_list", "bases", "exc", "cause"}
_SILENT_CALLS = {"warn", "isinstance", "issubclass", "TypeVar", "info", "debug", "cast"}
_SILENT_KEYWORDS = {"strict"}  # of zip: a claim about the code, which no input breaks
_ORDERED = {"getattr", "hasattr", "zip"}  # whose arguments would not run in another order, or mean the same


@dataclass(frozen=True)
class Change:
    """One change: where it is, the lines that lead to it, None for those of an import, and its text."""

    path: str
    line: int
    lines: tuple[int, int] | None
    text: str
    source: Callable[[], str]  # of the whole module

    @property
    def place(self) -> str:
        """File and line."""
        return f"{self.path}:{self.line}"


def changes_of(path: str, text: str) -> Iterator[Change]:
    """Yield all changes to a module."""
    tree = ast.parse(text)

    def source(put: Callable[[Any], None], old: ast.AST, new: ast.AST) -> str:
        put(new)
        result = ast.unparse(tree)
        put(old)
        return result

    for node, put, is_condition, is_called, statement in _sites(tree, False, tree):
        for new in _variants(node, is_condition):
            lines = (statement.lineno, node.end_lineno) if is_called else None
            words = f"{ast.unparse(node)}  ->  {ast.unparse(new)}"
            yield Change(path, node.lineno, lines, words, partial(source, put, node, new))


def _sites(node: ast.AST, is_called: bool, statement: ast.AST) -> Iterator[tuple[Any, ...]]:
    """Yield what may change below a node, with a function that puts something else in its place."""
    for name, value in ast.iter_fields(node):
        if name in _SILENT_FIELDS:
            continue
        for place, child in enumerate(value) if isinstance(value, list) else [(name, value)]:
            if not isinstance(child, ast.AST) or _is_silent(child):
                continue
            put = partial(value.__setitem__ if isinstance(value, list) else partial(setattr, node), place)
            own = child if isinstance(child, ast.stmt) else statement
            yield child, put, name in ("test", "ifs"), is_called, own
            if isinstance(child, ast.FunctionDef):  # whose head runs where it is defined
                yield from _sites(child.args, is_called, own)
                yield from _sites(ast.Module(child.body, []), True, own)
            else:
                yield from _sites(child, is_called, own)


def _is_silent(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return _name(node.func) in _SILENT_CALLS
    if isinstance(node, ast.keyword):
        return node.arg in _SILENT_KEYWORDS
    if isinstance(node, ast.FunctionDef):
        return node.name in ("__repr__", "__str__", "_shown")
    return isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom)


def _variants(node: ast.AST, is_condition: bool) -> Iterator[ast.AST]:
    """Yield what may stand in a node's place."""
    if is_condition and not isinstance(node, ast.UnaryOp):
        yield ast.UnaryOp(ast.Not(), node)
    match node:
        case ast.Compare(ops=ops):
            for i, op in enumerate(ops):
                yield _with(node, ops=[*ops[:i], _other(op), *ops[i + 1 :]])
        case ast.BinOp(op=op) | ast.AugAssign(op=op) | ast.BoolOp(op=op) if type(op).__name__ in _OPERATORS:
            yield _with(node, op=_other(op))
            if isinstance(node, ast.BinOp):
                yield from (node.left, node.right) if isinstance(op, ast.Add | ast.Mult) else (node.left,)
            yield from getattr(node, "values", [])
        case ast.UnaryOp(operand=operand):
            yield operand
        case ast.IfExp(body=body, orelse=orelse):
            yield from (body, orelse)
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value + 1)
        case ast.Constant(value=float(value)):
            yield ast.Constant(2 * value or 1.0)
        case ast.Call():
            yield from _calls(node)
    if _can_be_dropped(node):
        yield ast.Pass()


def _calls(node: ast.Call) -> Iterator[ast.AST]:
    name, args, keywords = _name(node.func), node.args, node.keywords
    if name in _FUNCTIONS:
        field = "id" if isinstance(node.func, ast.Name) else "attr"
        yield _with(node, func=_with(node.func, **{field: _FUNCTIONS[name]}))
        yield from args if len(args) == 2 else []
    elif len(args) >= 2 and name not in _ORDERED and type(args[-2]) is type(args[-1]) is not ast.Starred:
        yield _with(node, args=[*args[:-2], args[-1], args[-2]])  # unlike arguments would not even run
    for i in range(len(keywords)):
        if keywords[i].arg not in _SILENT_KEYWORDS:
            yield _with(node, keywords=keywords[:i] + keywords[i + 1 :])


def _can_be_dropped(node: ast.AST) -> bool:
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(value))
        case ast.Expr(value=ast.Call()) | ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            return True
    return isinstance(node, ast.AugAssign | ast.Raise | ast.Continue | ast.Break)


def _other(op: ast.AST) -> ast.AST:
    other: ast.AST = getattr(ast, _OPERATORS[type(op).__name__])()
    return other


def _with(node: ast.AST, **fields: Any) -> ast.AST:
    new = copy.copy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


def _name(func: ast.AST) -> str:
    return func.id if isinstance(func, ast.Name) else getattr(func, "attr", "")
