"""Ways to damage a file: functions of its bytes and a random generator."""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Callable

import numpy as np

from benchmarks.damage.bombs import BOMBS

Mutation = Callable[[bytes, np.random.Generator], bytes]

_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_INTEGER = re.compile(rb"(?<![\w.])\d+(?![\w.])")
_PAIR = re.compile(rb'"[^"\\]*":[^,{}\[\]]+(?=[,}])')
_LINE = re.compile(rb"[^\n]+\n")
_HUGE = (b"1" + b"0" * 30, b"9223372036854775808", b"-1", b"1e308", b"1e999", b"18446744073709551615")
_HUGE_WORDS = (b"\xff" * 8, struct.pack("<q", 2**62), struct.pack("<d", 1e300), struct.pack("<i", -1) * 2)
_MANY = 2**60
_DEPTH = 100_000


def flip_bits(data: bytes, rng: np.random.Generator) -> bytes:
    """Flip one to eight bits."""
    changed = bytearray(data)
    for _ in range(rng.integers(1, 9)):
        changed[rng.integers(len(data))] ^= 1 << rng.integers(8)
    return bytes(changed)


def truncate(data: bytes, rng: np.random.Generator) -> bytes:
    """Cut the end off."""
    return data[: rng.integers(len(data))]


def zero_a_span(data: bytes, rng: np.random.Generator) -> bytes:
    """Write zeros over up to a quarter of the file."""
    length = int(rng.integers(1, max(2, len(data) // 4)))
    start = int(rng.integers(len(data) - length + 1))
    return data[:start] + bytes(length) + data[start + length :]


def swap_words(data: bytes, rng: np.random.Generator) -> bytes:
    """Swap two words of eight bytes."""
    one, other = sorted(8 * int(k) for k in rng.choice(len(data) // 8, 2, replace=False))
    return b"".join(
        [data[:one], data[other : other + 8], data[one + 8 : other], data[one : one + 8], data[other + 8 :]]
    )


def huge_word(data: bytes, rng: np.random.Generator) -> bytes:
    """Write a huge or negative number over eight bytes anywhere."""
    return _overwrite(data, _HUGE_WORDS[rng.integers(len(_HUGE_WORDS))], rng)


def many_in_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    """Write 2^60, in either byte order, over eight bytes anywhere."""
    return _overwrite(data, struct.pack("<q" if rng.random() < 0.5 else ">q", _MANY), rng)


def nest_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    """Insert 100,000 opening brackets anywhere."""
    start = int(rng.integers(len(data)))
    return data[:start] + b"[" * _DEPTH + data[start:]


def repeat_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    """Insert a copy of some bytes after themselves, as keys that occur twice do."""
    start, length = int(rng.integers(len(data))), int(rng.integers(1, 200))
    return data[: start + length] + data[start:]


def swap_numbers(data: bytes, rng: np.random.Generator) -> bytes:
    """Swap two numbers of a text."""
    found = list(_NUMBER.finditer(data))
    if len(found) < 2:
        return flip_bits(data, rng)
    one, other = (found[k] for k in sorted(rng.choice(len(found), 2, replace=False)))
    return b"".join(
        [data[: one.start()], other[0], data[one.end() : other.start()], one[0], data[other.end() :]]
    )


def huge_number(data: bytes, rng: np.random.Generator) -> bytes:
    """Replace a number of a text by a huge or negative one."""
    return _replace(data, _NUMBER, _HUGE[rng.integers(len(_HUGE))], rng)


def many_in_text(data: bytes, rng: np.random.Generator) -> bytes:
    """Replace a whole number of a text by 2^60."""
    return _replace(data, _INTEGER, str(_MANY).encode(), rng)


def nest_text(data: bytes, rng: np.random.Generator) -> bytes:
    """Replace a number of a text by 100,000 nested lists."""
    return _replace(data, _NUMBER, b"[" * _DEPTH + b"]" * _DEPTH, rng)


def duplicate_key(data: bytes, rng: np.random.Generator) -> bytes:
    """Repeat a member of an object with another value; a line, where there are no objects."""
    found = list(_PAIR.finditer(data))
    if found:
        pair = found[rng.integers(len(found))]
        key = pair[0].partition(b":")[0]
        return data[: pair.start()] + pair[0] + b"," + key + b":7" + data[pair.end() :]
    lines = list(_LINE.finditer(data))
    line = lines[rng.integers(len(lines))]
    return data[: line.end()] + line[0] + data[line.end() :]


BINARY: dict[str, Mutation] = {
    "bit flips": flip_bits,
    "truncation": truncate,
    "zeroed span": zero_a_span,
    "swapped numbers": swap_words,
    "huge number": huge_word,
    "deep nesting": nest_bytes,
    "duplicate keys": repeat_bytes,
    "2^60 elements": many_in_bytes,
}
TEXT: dict[str, Mutation] = {
    "bit flips": flip_bits,
    "truncation": truncate,
    "zeroed span": zero_a_span,
    "swapped numbers": swap_numbers,
    "huge number": huge_number,
    "deep nesting": nest_text,
    "duplicate keys": duplicate_key,
    "2^60 elements": many_in_text,
}

_PREFIX = struct.Struct("<8sIQ")


def forge(data: bytes, rng: np.random.Generator, name: str) -> bytes:
    """Damage the header or the arrays of a gbmap file, then make lengths and checksum fit again."""
    magic, version, length = _PREFIX.unpack_from(data)
    start = _PREFIX.size + length
    header, arrays = data[_PREFIX.size : start], data[start:-32]
    if rng.random() < 0.75:
        header = TEXT[name](header.rstrip(), rng)
        header += b" " * (-(_PREFIX.size + len(header)) % 64)
    else:
        arrays = BINARY[name](arrays, rng)
    body = _PREFIX.pack(magic, version, len(header)) + header + arrays
    return body + hashlib.sha256(body).digest()


def _either(name: str) -> Mutation:
    return lambda data, rng: (TEXT if rng.random() < 0.5 else BINARY)[name](data, rng)


def _forged(name: str) -> Mutation:
    return lambda data, rng: forge(data, rng, name)


def plant_bomb(data: bytes, rng: np.random.Generator) -> bytes:
    """Put in its place a file of 1 to 20 kB that is made to take long."""
    bombs = list(BOMBS.values())
    return bombs[rng.integers(len(bombs))](int(rng.integers(1_000, 20_000)))


# For files that are text and bytes in one.
MIXED: dict[str, Mutation] = {name: _either(name) for name in TEXT}
FORGED: dict[str, Mutation] = {name: _forged(name) for name in TEXT} | {"bombs": plant_bomb}


def _overwrite(data: bytes, word: bytes, rng: np.random.Generator) -> bytes:
    start = int(rng.integers(len(data)))
    return data[:start] + word + data[start + len(word) :]


def _replace(data: bytes, pattern: re.Pattern[bytes], by: bytes, rng: np.random.Generator) -> bytes:
    found = list(pattern.finditer(data))
    if not found:
        return flip_bits(data, rng)
    match = found[rng.integers(len(found))]
    return data[: match.start()] + by + data[match.end() :]
