"""Fuzz the reading of tables, guided by coverage: ``python -m benchmarks.fuzz_tables --seconds 60``.

Needs `pip install atheris`. Inputs are whole files. They are opened, read in frames of three rows, surveyed,
and read again by the schema that was found. Any exception but TableError, or more than so much memory or time
for an input, ends the run with a file that repeats it. The seeds are in ``tests/tables/corpus``; with
`--keep` the inputs that reached new code are added to them.
"""

from __future__ import annotations

import io
import random
import re
from collections.abc import Sequence
from pathlib import Path

from benchmarks.fuzzing import AnyBytes, fuzz

CORPUS = Path(__file__).parents[1] / "tests" / "tables" / "corpus"
CELLS = (
    b"", b"NA", b"?", b"nan", b"inf", b"-1", b"+1", b"1e999", b"1e-400", b".5", b"5.", b"1_000", b"0x1f",
    b"1,5", b"99999999999999999999", b"9007199254740993", b"true", b"FALSE", b"a", b" a ", b"\xc3\xa5",
    b"\xff", b"\0", b'"', b'""', b'"a,b"', b'"a\nb"', b"'", b"2024-02-29", b"2023-02-29", b"0000-01-01",
    b"9999-12-31", b"2024-01-01T12:00:00Z", b"2024-01-01 12:00+05:30", b"2024-01-01T25:00",
    b"2024-01-01T00:00+99:99", b"now", b"x" * 300, b"\xef\xbb\xbf", b"\xd9\xa3", b"\r", b"\x85",
    b"\xe2\x80\xa8", b"=1+1",
)  # fmt: skip
DELIMITERS = (b",", b";", b"\t", b"|")
ENDS = (b"\n", b"\r\n", b"\r", b"\n\n", b"")


def mutate(body: bytes, most: int, seed: int, any_bytes: AnyBytes) -> bytes:
    """Change one cell, row, delimiter or line end; every third time, or in Parquet, any bytes."""
    rng = random.Random(seed)
    parts = re.split(rb"([,;\t|\n])", body)
    if body.startswith((b"PAR1", b"\x1f\x8b")) or rng.random() < 1 / 3:
        return any_bytes(body, most)
    k = rng.randrange(len(parts))
    change = rng.randrange(5)
    if change == 0:
        parts[k] = rng.choice(CELLS)
    elif change == 1:
        parts[k] = rng.choice(DELIMITERS + ENDS)
    elif change == 2:
        del parts[k : k + rng.randrange(1, 5)]
    elif change == 3:
        lines = body.splitlines(keepends=True) or [b""]
        parts = lines + [rng.choice(lines)] * rng.randrange(1, 30)
    else:
        parts.insert(k, parts[rng.randrange(len(parts))])
    changed = b"".join(parts)
    return changed if len(changed) <= most else body


def use(body: bytes, folder: Path) -> None:
    """Read a file in every way; every way to fail but a clean one is an exception."""
    from gbmap.tables import TableError, open_table
    from gbmap.tables._features import gather
    from gbmap.tables._progress import silent
    from gbmap.tables._survey import survey

    try:
        table = open_table(io.BytesIO(body))
        frames = list(table.frames(3))
        assert all(list(frame.columns) == table.names for frame in frames)
        schema = survey(
            table, table.names[-1], None, columns=None, drop=set(), category=set(), progress=silent
        )
        X, y = gather(table, schema, silent)
        assert sum(map(len, frames)) == schema.n_rows == len(y) + schema.n_without_target
        assert list(X.columns) == schema.features
        assert len(X) == len(y)
    except TableError as error:
        if "\n" in str(error):
            raise ValueError("a message of several lines") from error


def main(arguments: Sequence[str] | None = None) -> None:
    """Fuzz for so many seconds."""
    fuzz(
        "fuzz_tables",
        __doc__,
        CORPUS,
        watched=["gbmap.tables"],
        use=use,
        mutate=mutate,
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
