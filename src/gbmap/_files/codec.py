"""Objects as plain data and back: values of known kinds, and instances of the classes of a registry.

JSON's own values stand for themselves, floats that are finite included. Everything else is an object with one
member, whose name says what it is: see `_Encoder` and `_Decoder`, which mirror each other.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

import numpy as np
import scipy.sparse

from gbmap._files.structure import check_structure, entry
from gbmap._utils.typing import Array

# What reading data that nobody vouches for may raise.
FAULTS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)

_NUMPY_TYPES = (
    np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.float16,
    np.float32, np.float64, np.str_, np.object_, np.number, np.integer, np.signedinteger, np.unsignedinteger,
    np.inexact, np.floating,
)  # fmt: skip
_TYPES: dict[str, type] = {
    **{cls.__name__: cls for cls in (bool, int, float, str, object)},
    **{f"numpy.{cls.__name__}": cls for cls in _NUMPY_TYPES},
}
_DTYPE = re.compile(r"[<>|](b1|[iu][1248]|f[248]|O|U\d{1,6})")
_NUMBERS = "biuf"
_LAST_CHARACTER = 0x10FFFF


class NotStorableError(TypeError):
    """An object that has no place in a model file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import gbmap
    >>> model = gbmap.GBMAPRegressor(init=abs)
    >>> try:
    ...     gbmap.save(model, pathlib.Path(tempfile.gettempdir()) / "never-written.gbmap")
    ... except gbmap.persistence.NotStorableError as error:
    ...     "skops" in str(error)
    True
    """


class UnknownSettingError(ValueError):
    """A setting that a class does not have, as in the file of a later version."""


def by_skops(value: Any) -> str:
    """Return the way out for an object that cannot be stored."""
    return "store the model with skops.io.dump instead."


@dataclass(frozen=True)
class Registry:
    """The classes whose instances may be stored, by the name that stands for them in files."""

    # Dataclasses are stored by their fields, others by their state as for pickling.
    classes: Mapping[str, type]
    # Called with each instance that is written or was read; raises ValueError if it is impossible.
    check: Callable[[Any], None]
    # Gives the end of the message about an object that cannot be stored.
    way_out: Callable[[Any], str] = by_skops
    left_out: frozenset[str] = frozenset()  # members that are not stored
    # By the names of classes: members that files from before them do not have, and what they are then.
    added: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    # By the names of classes: members of earlier files that are not read.
    dropped: Mapping[str, frozenset[str]] = field(default_factory=dict)
    # By the names of classes: names of members in files, and what they are called now.
    renamed: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    # By the names of classes: turns the members of an instance that is read into what they are now.
    rearranged: Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]] = field(default_factory=dict)
    # Called with a class and the members of an instance, when it is written and before one is made of them;
    # raises ValueError if that cannot be.
    admit: Callable[[type, Mapping[str, Any]], None] = lambda cls, members: None
    listed: frozenset[str] = frozenset()  # members in whose lists instances may stand

    def name_of(self, cls: type) -> str | None:
        """Return the name of a class, None if it is not known."""
        return _name_in(self.classes, cls)


def encode(value: Any, registry: Registry) -> tuple[Any, list[Array]]:
    """Return plain content and the arrays that it refers to."""
    encoder = _Encoder(registry)
    try:
        content = encoder.value(value)
    except UnknownSettingError as error:
        raise NotStorableError(
            f"a gbmap file cannot hold {error}, which is none of its parameters; delete that attribute, or "
            "let its name end in an underscore."
        ) from error
    except RecursionError as error:
        raise NotStorableError(
            f"{encoder.owner} holds itself, or is nested too deeply for a gbmap file; {by_skops(value)}"
        ) from error
    try:
        check_structure(content, encoder.arrays, registry.listed)
    except ValueError as error:
        raise NotStorableError(f"a gbmap file cannot hold {error}; {by_skops(value)}") from error
    return content, encoder.arrays


def decode(content: Any, arrays: list[Array], registry: Registry) -> Any:
    """Return what was encoded; ValueError if it cannot have been."""
    try:
        check_structure(content, arrays, registry.listed)
        return _Decoder(registry, arrays).value(content)
    except UnknownSettingError:
        raise
    except FAULTS as error:
        raise ValueError(describe(error)) from error


def describe(error: Exception) -> str:
    """Return a short text about what went wrong, which may quote data that nobody vouches for."""
    text = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
    return text if len(text) <= 200 else f"{text[:200]}..."


class _Encoder:
    def __init__(self, registry: Registry):
        self.registry = registry
        self.arrays: list[Array] = []
        self.seen: dict[int, tuple[int, Any]] = {}  # by id; the object is kept so that its id stays taken
        self.owner = "model"  # what holds the value at hand, for messages

    def value(self, value: Any) -> Any:
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if type(value) is list:
            return [self.value(item) for item in value]
        return dict([self._tagged(value)])

    def _tagged(self, value: Any) -> tuple[str, Any]:
        if isinstance(value, np.generic):
            return "scalar", self.value(np.asarray(value))
        if type(value) in (tuple, set, frozenset):
            items = value if type(value) is tuple else sorted(value, key=repr)
            return type(value).__name__, [self.value(item) for item in items]
        if type(value) is dict:
            return "dict", [[self.value(key), self.value(item)] for key, item in value.items()]
        if type(value) is slice:
            return "slice", [self.value(part) for part in (value.start, value.stop, value.step)]
        if isinstance(value, np.dtype) and _DTYPE.fullmatch(value.str):
            return "dtype", value.str
        if isinstance(value, type) and value in _TYPES.values():
            return "type", _name_in(_TYPES, value)
        if id(value) in self.seen:
            return "same", self.seen[id(value)][0]
        encoded = self._object(value)
        self.seen[id(value)] = (len(self.seen), value)
        return encoded

    def _object(self, value: Any) -> tuple[str, Any]:
        if type(value) is np.ndarray:
            return self._array(value)
        if scipy.sparse.issparse(value):
            csr = scipy.sparse.csr_array(value)
            parts = (csr.data, csr.indices, csr.indptr)
            return "csr", [list(csr.shape), *(self.value(part) for part in parts)]
        return "instance", self._instance(value)

    def _array(self, array: Array) -> tuple[str, Any]:
        if array.dtype.kind == "O":
            return "objects", [list(array.shape), [self.value(item) for item in array.reshape(-1)]]
        if array.dtype.kind == "U":
            return "text", self._store(_characters(array))
        if array.dtype.kind in _NUMBERS and array.dtype.itemsize <= 8:
            return "array", self._store(array)
        raise self._refusal(array, f"an array of type {array.dtype}")

    def _store(self, array: Array) -> int:
        self.arrays.append(array)
        return len(self.arrays) - 1

    def _instance(self, value: Any) -> Any:
        name = self.registry.name_of(type(value))
        if name is None:
            raise self._refusal(value, f"a {type(value).__module__}.{type(value).__qualname__}")
        if is_dataclass(value):
            state = {field.name: getattr(value, field.name) for field in fields(value)}
        else:
            state = value.__getstate__() or {}
        owner, members = self.owner, {}
        in_file = {now: before for before, now in self.registry.renamed.get(name, {}).items()}
        for key in (key for key in state if key not in self.registry.left_out):
            self.owner = f"{type(value).__name__}.{key}"
            members[in_file.get(key, key)] = self.value(state[key])
        self.owner = owner
        self.registry.admit(type(value), state)
        self.registry.check(value)
        return [name, members]

    def _refusal(self, value: Any, what: str) -> NotStorableError:
        way_out = self.registry.way_out(value)
        return NotStorableError(f"{self.owner} holds {what}, which has no place in a gbmap file; {way_out}")


class _Decoder:
    def __init__(self, registry: Registry, arrays: list[Array]):
        self.registry = registry
        self.arrays = arrays
        self.seen: list[Any] = []

    def value(self, content: Any) -> Any:
        if isinstance(content, list):
            return [self.value(item) for item in content]
        if not isinstance(content, dict):
            return content
        ((kind, inner),) = content.items()
        return getattr(self, f"_read_{kind}")(inner)

    def _read_scalar(self, content: Any) -> Any:
        array = self.value(content)
        if array.shape != ():
            raise ValueError("a scalar that is none")
        return array[()]

    def _read_float(self, content: str) -> float:
        # Each NaN is one of its own, as it was: a dict may have several as keys.
        return float({"nan": "nan", "inf": "inf", "-inf": "-inf"}[content])

    def _read_tuple(self, content: Any) -> tuple[Any, ...]:
        return tuple(self._items(content))

    def _read_set(self, content: Any) -> set[Any]:
        return set(self._items(content))

    def _read_frozenset(self, content: Any) -> frozenset[Any]:
        return frozenset(self._items(content))

    def _read_dict(self, content: list[Any]) -> dict[Any, Any]:
        members = {self.value(key): self.value(item) for key, item in content}
        if len(members) != len(content):
            raise ValueError("a key that occurs twice")
        return members

    def _read_slice(self, content: Any) -> slice:
        start, stop, step = self._items(content)
        return slice(start, stop, step)

    def _read_dtype(self, content: str) -> np.dtype[Any]:
        if not _DTYPE.fullmatch(content):
            raise ValueError(f"the type {content!r}")
        return np.dtype(content)

    def _read_type(self, content: str) -> type:
        return _TYPES[content]

    def _read_same(self, content: Any) -> Any:
        return entry(self.seen, content)

    def _read_array(self, content: Any) -> Any:
        return self._remember(entry(self.arrays, content))

    def _read_text(self, content: Any) -> Any:
        return self._remember(_text(entry(self.arrays, content)))

    def _read_objects(self, content: Any) -> Any:
        shape, items = content
        items = self._items(items)
        array = np.empty(len(items), dtype=object)
        for k, item in enumerate(items):  # at once, NumPy would take lists among them for further dimensions
            array[k] = item
        return self._remember(array.reshape(_shape(shape)))

    def _read_csr(self, content: Any) -> Any:
        shape, *parts = content
        data, indices, indptr = self._items(parts)
        if data.dtype.kind not in _NUMBERS or indices.dtype.kind != "i" or indptr.dtype.kind != "i":
            raise ValueError("a sparse matrix of parts that are no numbers")
        matrix = scipy.sparse.csr_array((data, indices, indptr), shape=_shape(shape))
        matrix.check_format(full_check=True)
        return self._remember(matrix)

    def _read_instance(self, content: Any) -> Any:
        name, state = content
        cls = self.registry.classes.get(name)
        if cls is None:
            raise ValueError(f"an instance of the unknown class {name!r}")
        now, dropped = self.registry.renamed.get(name, {}), self.registry.dropped.get(name, frozenset())
        members = {now.get(key, key): self.value(item) for key, item in state.items()}  # all: some are shared
        members = {key: value for key, value in members.items() if key not in dropped}
        members |= {
            key: value for key, value in self.registry.added.get(name, {}).items() if key not in members
        }
        if name in self.registry.rearranged:
            members = self.registry.rearranged[name](members)
        self.registry.admit(cls, members)
        instance = cls(**members) if is_dataclass(cls) else _with_state(cls, members)
        self.registry.check(instance)
        return self._remember(instance)

    def _items(self, content: Any) -> list[Any]:
        return [self.value(item) for item in content]

    def _remember(self, value: Any) -> Any:
        self.seen.append(value)
        return value


def _name_in(classes: Mapping[str, type], cls: type) -> str | None:
    return next((name for name, known in classes.items() if known is cls), None)


def _shape(content: Any) -> tuple[int, ...]:
    if not isinstance(content, list) or any(type(n) is not int or n < 0 for n in content):
        raise ValueError(f"the shape {content!r}")
    return tuple(content)


def _characters(text: Array) -> Array:
    """Return text as numbers of its characters, with one more dimension."""
    width = max(text.dtype.itemsize // 4, 1)
    flat = text.reshape(-1).astype(f"<U{width}")
    return flat.view(np.uint32).reshape(*text.shape, width)


def _text(characters: Array) -> Array:
    if characters.dtype != np.uint32 or 0 in characters.shape[-1:] or characters.ndim == 0:
        raise ValueError("text that is none")
    if characters.max(initial=0) > _LAST_CHARACTER:
        raise ValueError("a character that does not exist")
    return characters.view(f"<U{characters.shape[-1]}").reshape(characters.shape[:-1])


def _with_state(cls: type, members: dict[str, Any]) -> Any:
    for name in members:
        if callable(getattr(cls, name, None)):
            raise ValueError(f"a member {name!r} that would hide a method of {cls.__name__}")
    instance: Any = object.__new__(cls)
    if hasattr(instance, "__setstate__"):
        instance.__setstate__(members)
    else:
        instance.__dict__.update(members)
    return instance
