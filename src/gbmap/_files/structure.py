"""What plain content may look like, checked before an object is made of it: nothing that takes long to read.

A reference to an object that holds two references to another one, and so on, doubles at every step what a
walk over the objects meets; keys with the same hash make a set quadratic; an array that is looked at for each
of many references to it is looked at too often. So there are bounds, which hold for what is written too.
"""

from __future__ import annotations

from typing import Any

from gbmap._utils.typing import Array

MOST_LEVELS = 100
# The hash of a text cannot be foreseen; that of another key can, so that a file could be made for it.
MOST_KEYS = 1000
# Of a whole number; a seed has 128.
MOST_BITS = 300
# What a walk over the objects meets where it follows references, as a multiple of what is stored. A detector
# of a pipeline has 3.
_MOST_FOLLOWED, _FEW = 20, 10_000
# Bytes of an array that count as one value.
_BYTES_PER_VALUE = 64


def check_structure(content: Any, arrays: list[Array], listed: frozenset[str]) -> None:
    """Refuse content that gbmap would not write, or that may take long to read.

    Parameters
    ----------
    content, arrays
        What `gbmap._files.codec.encode` gives.
    listed : set of str
        The members in which instances may stand in lists. Elsewhere an instance is a member of its own.
    """
    _Walk(arrays, listed).value(content, MOST_LEVELS, may_be_instance=True)


class _Walk:
    """One visit to every value; each gives what a walk that follows references would meet there."""

    def __init__(self, arrays: list[Array], listed: frozenset[str]):
        self.arrays = [1 + array.nbytes // _BYTES_PER_VALUE for array in arrays]
        self.listed = listed
        self.is_listed = False  # whether the member at hand is one of these
        self.used: set[int] = set()
        self.objects: list[tuple[int, bool]] = []  # what each one gives, and whether it is an instance
        self.stored, self.followed = sum(self.arrays), 0

    def value(self, content: Any, levels: int, *, may_be_instance: bool = False) -> int:
        """Visit a value that may have so many levels."""
        self.stored += 1
        if levels == 0:
            raise ValueError(f"content of more than {MOST_LEVELS} levels")
        if isinstance(content, list):
            return self._items(content, levels)
        if isinstance(content, str):
            return 1 + len(content) // _BYTES_PER_VALUE
        if isinstance(content, int) and content.bit_length() > MOST_BITS:
            raise ValueError(f"a whole number of more than {MOST_BITS} bits")
        if not isinstance(content, dict):
            return 1
        ((kind, inner),) = content.items()
        if kind in ("instance", "same"):
            visit = self._instance if kind == "instance" else self._same
            return visit(inner, levels, may_be_instance or self.is_listed)
        if kind in ("array", "text"):
            return self._object(self._array(inner))
        if kind == "objects":
            _, items = inner
            return self._object(self._items(items, levels))
        if kind == "csr":
            _, data, indices, indptr = inner
            return self._object(self._items([data, indices, indptr], levels))
        return self._plain(kind, inner, levels)

    def _plain(self, kind: str, inner: Any, levels: int) -> int:
        """Visit what no reference can name."""
        if kind == "tuple":
            return self._items(inner, levels)
        if kind in ("set", "frozenset", "slice"):
            self._check_keys(inner)
            return self._items(inner, levels)
        if kind == "dict":
            self._check_keys([key for key, _ in _list(inner)])
            return self._items([each for pair in inner for each in pair], levels)
        if kind == "scalar":
            ((of, position),) = inner.items()
            if of not in ("array", "text"):  # of another one there would be a copy for each reference
                raise ValueError("a scalar that is none")
            return self._object(self._array(position))
        if kind in ("float", "type", "dtype"):
            return 1
        raise ValueError(f"a value of unknown kind {kind!r}")

    def _items(self, content: Any, levels: int) -> int:
        return 1 + sum(self.value(item, levels - 1) for item in _list(content))

    def _check_keys(self, keys: Any) -> None:
        if not all(map(_is_key, keys)):
            raise ValueError("a key that is neither a text, a number, a type nor nothing")
        if sum(not _is_text(key) for key in keys) > MOST_KEYS:
            raise ValueError(f"more than {MOST_KEYS} keys that are no texts")

    def _array(self, position: Any) -> int:
        size: int = entry(self.arrays, position)
        if position in self.used:
            raise ValueError(f"the array {position} twice")
        self.used.add(position)
        return size

    def _object(self, size: int, *, is_instance: bool = False) -> int:
        self.objects.append((size, is_instance))
        return size

    def _same(self, position: Any, levels: int, may_be_instance: bool) -> int:
        size: int
        size, is_instance = entry(self.objects, position)
        if is_instance and not may_be_instance:
            raise ValueError("an instance within a list, where none belongs")
        self.followed += size
        if self.followed > _FEW + _MOST_FOLLOWED * self.stored:
            raise ValueError(f"references to more than {_MOST_FOLLOWED} times what is stored")
        return size

    def _instance(self, content: Any, levels: int, may_be_instance: bool) -> int:
        if not may_be_instance:
            raise ValueError("an instance within a list, where none belongs")
        _, members = content
        size, is_listed = 1, self.is_listed
        for key, item in members.items():
            self.is_listed = key in self.listed
            size += self.value(item, levels - 1, may_be_instance=True)
        self.is_listed = is_listed
        return self._object(size, is_instance=True)


def entry(entries: list[Any], position: Any) -> Any:
    """Return one of several entries; ValueError if there is no such position."""
    if type(position) is not int or not 0 <= position < len(entries):
        raise ValueError(f"a reference to number {position!r} of {len(entries)}")
    return entries[position]


def _list(content: Any) -> list[Any]:
    if not isinstance(content, list):
        raise ValueError("items that are no list")
    return content


def _is_key(content: Any) -> bool:
    if isinstance(content, dict):
        return set(content) <= {"float", "scalar", "type"}
    return not isinstance(content, list)


def _is_text(content: Any) -> bool:
    return isinstance(content, str) or (isinstance(content, dict) and "text" in (content.get("scalar") or ()))
