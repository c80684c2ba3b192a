"""What tells one value from another in any process: a digest of its content, without addresses or hashes.

Data count by their bytes, functions by their code and all that it refers to, objects by their class and
what pickle would store of them. An estimator that a fit clones counts by its parameters.
"""

from __future__ import annotations

import copyreg
import functools
import hashlib
import sys
import sysconfig
import types
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator

from gbmap._core.arrays import in_memory

# What is installed here counts by its name: it does not change while a fit is interrupted.
_INSTALLED = tuple(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), slice, range, np.dtype)


class UnknownContentError(TypeError):
    """A value that cannot be told from another one in a later process."""


def digest_of(value: Any) -> bytes:
    """Return a digest of a value, the same for the same content.

    Parameters
    ----------
    value : object

    Raises
    ------
    UnknownContentError
        If the content cannot be got at, as that of an open file.
    """
    try:
        return _Digests().of(value, cloned=True)
    except RecursionError as error:
        raise UnknownContentError("it is nested too deeply") from error


class _Digests:
    """Digests of values; `cloned` where a fit would use a clone of an estimator, which is not fitted."""

    def __init__(self) -> None:
        # By id and kind; the value is kept so that its id stays taken. None while it is being worked on.
        self.known: dict[tuple[int, bool], tuple[Any, bytes | None]] = {}

    def of(self, value: Any, *, cloned: bool = False) -> bytes:
        if isinstance(value, _PLAIN):
            return _hash(type(value).__name__, repr(value).encode())
        key = id(value), cloned
        if key in self.known:
            return self.known[key][1] or _hash("what holds it")
        self.known[key] = value, None
        found = self._content(value, cloned)
        self.known[key] = value, found
        return found

    def _content(self, value: Any, cloned: bool) -> bytes:
        value = in_memory(value)
        if isinstance(value, np.ndarray | np.generic) or scipy.sparse.issparse(value):
            return self._array(value)
        if isinstance(value, list | tuple):
            return _hash(type(value).__name__, *(self.of(item, cloned=cloned) for item in value))
        if isinstance(value, dict):
            pairs = (_hash("pair", self.of(key), self.of(item, cloned=cloned)) for key, item in value.items())
            return _hash("dict", *sorted(pairs))
        if isinstance(value, set | frozenset):
            return _hash("set", *sorted(map(self.of, value)))
        if isinstance(value, type):
            return self._class(value)
        if callable(value) and not isinstance(value, BaseEstimator):
            return self._callable(value)
        if cloned and isinstance(value, BaseEstimator) and not _is_kept_by_clone(value):
            parameters = self.of(value.get_params(deep=False), cloned=True)
            return _hash("clone", self._class(type(value)), parameters)
        return self._object(value)

    def _array(self, array: Any) -> bytes:
        if scipy.sparse.issparse(array):
            csr = scipy.sparse.csr_array(array)
            parts = map(self._array, (csr.data, csr.indices, csr.indptr))
            return _hash("sparse", repr(csr.shape).encode(), *parts)
        array = np.asarray(array)
        head = f"{array.dtype.str}{array.shape}".encode()
        if array.dtype.names:  # between the fields there may be bytes that nobody has set
            return _hash("fields", head, *(self._array(array[name]) for name in array.dtype.names))
        if array.dtype.hasobject:
            return _hash("objects", head, *map(self.of, array.reshape(-1).tolist()))
        return _hash("array", head, np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)

    def _callable(self, value: Any) -> bytes:
        if isinstance(value, functools.partial):
            return _hash("partial", *map(self.of, (value.func, value.args, value.keywords)))
        if isinstance(value, types.MethodType):
            return _hash("method", self.of(value.__self__), self.of(value.__func__))
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, types.BuiltinFunctionType):
            owner = value.__self__
            return _hash("builtin", value.__qualname__.encode(), self.of(owner))
        if isinstance(value, np.ufunc):
            return _hash("ufunc", value.__name__.encode())
        return self._object(value)

    def _function(self, function: types.FunctionType) -> bytes:
        name = _hash("function", _name(function))
        if _is_installed(function):
            return name
        known = function.__globals__
        used = {each: known[each] for each in _names_in(function.__code__) if each in known}
        held = (function.__defaults__, function.__kwdefaults__, _closed_over(function), used)
        return _hash("code", name, self._code(function.__code__), *map(self.of, held))

    def _code(self, code: types.CodeType) -> bytes:
        constants = (
            self._code(each) if isinstance(each, types.CodeType) else self.of(each) for each in code.co_consts
        )
        names = repr((code.co_names, code.co_varnames, code.co_freevars, code.co_argcount)).encode()
        return _hash("bytes", code.co_code, names, *constants)

    def _class(self, cls: type) -> bytes:
        name = _hash("class", _name(cls))
        if _is_installed(cls):
            return name
        members = {
            key: each
            for key, each in vars(cls).items()
            if isinstance(each, types.FunctionType)
            or (isinstance(each, _PLAIN) and not (key.startswith("__") and key.endswith("__")))
        }
        return _hash("own class", name, self.of(members), *map(self.of, cls.__bases__))

    def _object(self, value: Any) -> bytes:
        """Return a digest of what pickle would store, without pickling it."""
        if isinstance(value, types.ModuleType):
            return _hash("module", value.__name__.encode())
        try:
            reduce = copyreg.dispatch_table.get(type(value))
            reduced = value.__reduce_ex__(4) if reduce is None else reduce(value)
        except Exception as error:
            raise UnknownContentError(str(error)) from error
        if isinstance(reduced, str):
            return _hash("global", _name(value), reduced.encode())
        parts = [list(part) if k > 2 and part is not None else part for k, part in enumerate(reduced)]
        return _hash("object", self._class(type(value)), *map(self.of, parts))


def _hash(kind: str, *parts: Any) -> bytes:
    """Return a digest of parts, each with its length, so that none can pass for two."""
    digest = hashlib.sha256(kind.encode())
    for part in parts:
        digest.update(f";{len(part)}:".encode())
        digest.update(part)
    return digest.digest()


def _name(value: Any) -> bytes:
    name = getattr(value, "__qualname__", type(value).__qualname__)
    return f"{getattr(value, '__module__', None)}.{name}".encode()


def _is_installed(value: Any) -> bool:
    """Return whether a function or a class is no code of the user's."""
    return "<locals>" not in value.__qualname__ and _is_installed_module(str(value.__module__))


@functools.cache
def _is_installed_module(name: str) -> bool:
    if name == "__main__" or name not in sys.modules:
        return False
    file = getattr(sys.modules[name], "__file__", None)
    return file is None or name.partition(".")[0] == "gbmap" or file.startswith(_INSTALLED)


def _is_kept_by_clone(estimator: BaseEstimator) -> bool:
    return type(estimator).__sklearn_clone__ is not BaseEstimator.__sklearn_clone__


def _closed_over(function: types.FunctionType) -> list[Any]:
    cells = []
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # nothing yet
            cells.append(cell.cell_contents)
    return cells


def _names_in(code: types.CodeType) -> set[str]:
    inner: Iterable[Any] = (each for each in code.co_consts if isinstance(each, types.CodeType))
    return set(code.co_names).union(*map(_names_in, inner))
