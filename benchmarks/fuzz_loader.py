"""Fuzz the loader, guided by coverage: ``python -m benchmarks.fuzz_loader --seconds 60``.

Needs `pip install atheris`. Inputs are bodies of files, to which magic, lengths and checksum are added, so
that the fuzzer meets what lies behind them. Any exception but ModelFileError, more than so much memory, or
more time than is promised for an input ends the run with a file that repeats it. The seeds are in
``tests/files/corpus``, and the bombs of ``benchmarks.damage``; with `--keep` the inputs that reached new code
are added to the former.
"""

from __future__ import annotations

import hashlib
import json
import random
import struct
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.damage.bombs import BOMBS, promised_seconds
from benchmarks.fuzzing import AnyBytes, fuzz

CORPUS = Path(__file__).parents[1] / "tests" / "files" / "corpus"
PREFIX = struct.Struct("<8sIQ")
ATOMS = (
    None, True, 0, 1, -1, 2, 2**31, 2**60, 2**64, 0.5, 1e308, "", "x", "softplus", "<f8", [], {},
    {"float": "nan"}, {"array": 0}, {"same": 0}, {"text": 0}, {"tuple": []}, {"type": "object"},
    {"objects": [[0], []]}, {"same": 1}, {"same": 5}, {"tuple": [{"same": 0}, {"same": 0}]},
    {"set": [0, 2**61 - 1]},
    {"instance": ["GBMAPRegressor", {}]}, {"instance": ["sklearn.StandardScaler", {}]},
)  # fmt: skip
ROWS = np.linspace(-1, 1, 12).reshape(3, 4)


def file_of(body: bytes) -> bytes:
    """Return the file with a header and arrays: what comes before the first empty line, and after it."""
    header, _, arrays = body.partition(b"\n\n")
    header += b" " * (-(PREFIX.size + len(header)) % 64)
    arrays += bytes(-len(arrays) % 64)
    whole = PREFIX.pack(b"\x89GBMAP\r\n", 1, len(header)) + header + arrays
    return whole + hashlib.sha256(whole).digest()


def body_of(file: bytes) -> bytes:
    """Return the input that stands for a file."""
    start = PREFIX.size + PREFIX.unpack_from(file)[2]
    return file[PREFIX.size : start].rstrip() + b"\n\n" + file[start:-32]


def mutate(body: bytes, most: int, seed: int, any_bytes: AnyBytes) -> bytes:
    """Change one place of the header as JSON; every third time, or if it is none, any bytes."""
    rng = random.Random(seed)
    header, _, arrays = body.partition(b"\n\n")
    try:
        tree = json.loads(header)
    except (ValueError, RecursionError):
        return any_bytes(body, most)
    places = list(_places(tree))
    if not places or rng.random() < 1 / 3:
        return any_bytes(body, most)
    (holder, key), (other, other_key) = rng.choice(places), rng.choice(places)
    change = rng.randrange(4)
    if change == 0:
        del holder[key]
    else:
        copied = json.loads(json.dumps(other[other_key]))
        holder[key] = [rng.choice(ATOMS), copied, [holder[key]]][change - 1]
    changed = json.dumps(tree, separators=(",", ":")).encode() + b"\n\n" + arrays
    return changed if len(changed) <= most else body


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every place of a tree as what holds it and its key there."""
    keys = tree.keys() if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ()
    for key in keys:
        yield tree, key
        yield from _places(tree[key])


def use(body: bytes, folder: Path) -> None:
    """Load a file, and predict if that works; every way to fail but a clean one is an exception."""
    import gbmap
    from gbmap.persistence import ModelFileError

    path = folder / "model.gbmap"
    path.write_bytes(file_of(body))
    start = time.process_time()
    try:
        model = gbmap.load(path)
    except ModelFileError:
        return
    finally:
        spent, promised = time.process_time() - start, promised_seconds(path.stat().st_size)
        if spent > promised:
            raise TimeoutError(f"{spent:.1f} s for a file that promises {promised:.1f}")
    try:
        model.predict(ROWS)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError):
        return  # a forged model may be of no use, but it fails like other objects


def main(arguments: Sequence[str] | None = None) -> None:
    """Fuzz for so many seconds."""
    fuzz(
        "fuzz_loader",
        __doc__,
        CORPUS,
        watched=["gbmap._files", "gbmap.persistence", "json"],
        use=use,
        mutate=mutate,
        seeds=[body_of(bomb(2_000)) for bomb in BOMBS.values()],
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
