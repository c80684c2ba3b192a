"""The reference shows what a reader can use: methods that gbmap defines, constructors that one calls."""

import inspect
from dataclasses import is_dataclass
from pathlib import Path

import gbmap

_HOME = str(Path(gbmap.__file__).parent)


def skip_foreign(app, what, name, member, skipped, options):
    """Return True for a method that is written elsewhere, None to leave the decision to autodoc."""
    if what != "class" or isinstance(member, property):
        return None
    function = inspect.unwrap(getattr(member, "__func__", member))
    return True if inspect.isroutine(function) and not _is_own(function) else None


def _is_own(function):
    code = getattr(function, "__code__", None)
    return code is not None and code.co_filename.startswith(_HOME)


def hide_constructor(app, what, name, thing, options, signature, returned):
    """Return no signature for a result: its docstring has attributes, and no parameters."""
    is_result = what == "class" and is_dataclass(thing) and "Parameters\n" not in (thing.__doc__ or "")
    return ("", None) if is_result else None


def setup(app):
    """Register both."""
    app.connect("autodoc-skip-member", skip_foreign)
    app.connect("autodoc-process-signature", hide_constructor)
    return {"parallel_read_safe": True}
