"""Objects as plain data and back: values of known kinds, and instances of the classes of a registry.

JSON's own values stand for themselves, floats that are finite included. Everything else is an object with one
member, whose name says what it is: see `_Encoder` and `_Decoder`, which mirror each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

Array = NDArray[Any]


class NotStorableError(TypeError):
    """An object that has no place in a model file."""


@dataclass(frozen=True)
class Registry:
    """The classes whose instances may be stored, by the name that stands for them in files.

    Attributes
    ----------
    classes : dict of str to type
        Dataclasses are stored by their fields, others by their state as for pickling.
    check : callable
        Called with each instance that was read; raises ValueError if it is impossible.
    """

    classes: Mapping[str, type]
    check: Callable[[Any], None]

    def name_of(self, cls: type) -> str | None:
        """Return the name of a class, None if it is not known."""
        return next((name for name, known in self.classes.items() if known is cls), None)


def encode(value: Any, registry: Registry) -> tuple[Any, list[Array]]:
    """Return plain content and the arrays that it refers to."""
    encoder = _Encoder(registry)
    return encoder.value(value), encoder.arrays


def decode(content: Any, arrays: list[Array], registry: Registry) -> Any:
    """Return what was encoded."""
    return _Decoder(registry, arrays).value(content)


class _Encoder:
    def __init__(self, registry: Registry):
        self.registry = registry
        self.arrays: list[Array] = []
        self.seen: dict[int, tuple[int, Any]] = {}  # by id; the object is kept so that its id stays taken

    def value(self, value: Any) -> Any:
        if value is None or isinstance(value, bool | str):
            return value
        if isinstance(value, np.generic):
            return {"scalar": self.value(np.asarray(value))}
        if isinstance(value, int):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"float": repr(value)}
        if type(value) is list:
            return [self.value(item) for item in value]
        return dict([self._tagged(value)])

    def _tagged(self, value: Any) -> tuple[str, Any]:
        if isinstance(value, tuple):
            return "tuple", [self.value(item) for item in value]
        if type(value) is dict:
            return "dict", [[self.value(key), self.value(item)] for key, item in value.items()]
        if isinstance(value, set | frozenset):
            return type(value).__name__, [self.value(item) for item in sorted(value, key=repr)]
        if isinstance(value, slice):
            return "slice", [self.value(part) for part in (value.start, value.stop, value.step)]
        if isinstance(value, np.dtype):
            return "dtype", value.str
        if isinstance(value, type) and issubclass(value, np.generic | bool | int | float | str):
            return "type", np.dtype(value).str if issubclass(value, np.generic) else value.__name__
        if id(value) in self.seen:
            return "same", self.seen[id(value)][0]
        self.seen[id(value)] = (len(self.seen), value)
        if isinstance(value, np.ndarray):
            return self._array(value)
        if scipy.sparse.issparse(value):
            csr = scipy.sparse.csr_array(value)
            return "csr", [
                list(csr.shape),
                *(self.value(part) for part in (csr.data, csr.indices, csr.indptr)),
            ]
        return "instance", self._instance(value)

    def _array(self, array: Array) -> tuple[str, Any]:
        if array.dtype.kind in "biuf" and array.dtype.itemsize <= 8:
            self.arrays.append(array)
            return "array", len(self.arrays) - 1
        if array.dtype.kind in "OU":
            items = [self.value(item) for item in array.reshape(-1).tolist()]
            return "objects", [array.dtype.str, list(array.shape), items]
        raise NotStorableError(f"an array of type {array.dtype} cannot be stored in a gbmap file.")

    def _instance(self, value: Any) -> Any:
        name = self.registry.name_of(type(value))
        if name is None:
            raise NotStorableError(
                f"{type(value).__module__}.{type(value).__qualname__} cannot be stored in a gbmap file: it "
                "holds GBMAPs, drift detectors and common preprocessing; store the model with skops.io.dump."
            )
        if is_dataclass(value):
            state = {field.name: getattr(value, field.name) for field in fields(value)}
        else:
            state = value.__getstate__()
        return [name, {key: self.value(item) for key, item in (state or {}).items()}]


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
        read = getattr(self, f"_read_{kind}", None)
        if read is None:
            raise ValueError(f"a value of unknown kind {kind!r}")
        return read(inner)

    def _read_scalar(self, content: Any) -> Any:
        return self.value(content)[()]

    def _read_float(self, content: str) -> float:
        return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[content]

    def _read_tuple(self, content: list[Any]) -> tuple[Any, ...]:
        return tuple(self.value(item) for item in content)

    def _read_dict(self, content: list[Any]) -> dict[Any, Any]:
        return {self.value(key): self.value(item) for key, item in content}

    def _read_set(self, content: list[Any]) -> set[Any]:
        return {self.value(item) for item in content}

    def _read_frozenset(self, content: list[Any]) -> frozenset[Any]:
        return frozenset(self.value(item) for item in content)

    def _read_slice(self, content: list[Any]) -> slice:
        return slice(*(self.value(part) for part in content))

    def _read_dtype(self, content: str) -> np.dtype[Any]:
        return np.dtype(_known_type(content))

    def _read_type(self, content: str) -> type:
        builtin = {"bool": bool, "int": int, "float": float, "str": str}.get(content)
        return np.dtype(_known_type(content)).type if builtin is None else builtin

    def _read_same(self, content: int) -> Any:
        return self.seen[content]

    def _read_array(self, content: int) -> Any:
        return self._remember(self._place(), self.arrays[content])

    def _read_objects(self, content: Any) -> Any:
        kind, shape, items = content
        place = self._place()
        array = np.empty(len(items), dtype=_known_type(kind))
        array[:] = [self.value(item) for item in items]
        return self._remember(place, array.reshape(shape))

    def _read_csr(self, content: Any) -> Any:
        shape, *parts = content
        place = self._place()
        data, indices, indptr = (self.value(part) for part in parts)
        matrix = scipy.sparse.csr_array((data, indices, indptr), shape=tuple(shape))
        matrix.check_format(full_check=True)
        return self._remember(place, matrix)

    def _read_instance(self, content: Any) -> Any:
        name, state = content
        if name not in self.registry.classes:
            raise ValueError(f"an instance of the unknown class {name!r}")
        cls, place = self.registry.classes[name], self._place()
        members = {key: self.value(item) for key, item in state.items()}
        if is_dataclass(cls):
            instance = cls(**members)
        else:
            instance = object.__new__(cls)
            if hasattr(instance, "__setstate__"):
                instance.__setstate__(members)
            else:
                instance.__dict__.update(members)
        self.registry.check(instance)
        return self._remember(place, instance)

    def _place(self) -> int:
        """Take the next number for an object before those inside it, as the encoder does."""
        self.seen.append(None)
        return len(self.seen) - 1

    def _remember(self, place: int, value: Any) -> Any:
        self.seen[place] = value
        return value


def _known_type(text: str) -> str:
    """Return the name of a type of numbers, text or objects; the rest, such as records, is refused."""
    if not isinstance(text, str) or np.dtype(text).kind not in "biufOU" or np.dtype(text).names:
        raise ValueError(f"the type {text!r}")
    return text
