"""Damage model files and use them: ``python -m benchmarks.damage``; rows go to ``benchmarks/results``."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.damage.formats import FORMATS
from benchmarks.damage.trial import run_format, summary
from benchmarks.environment import version_of
from benchmarks.records import OK, RESULTS, Table
from benchmarks.runner import base_row

OURS = ("gbmap", "gbmap-forged")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run every format that is installed, and keep a row of each."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.damage", description=__doc__)
    parser.add_argument(
        "--files", type=int, default=5000, help="damaged files of gbmap (default: %(default)s)"
    )
    parser.add_argument("--peer-files", type=int, default=400, help="of each peer (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the damage (default: %(default)s)")
    parser.add_argument("--only", nargs="+", default=list(FORMATS), choices=FORMATS, metavar="FORMAT")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the CSV file")
    options = parser.parse_args(arguments)
    table = Table(options.results / "damage.csv")
    for name in options.only:
        n_files = options.files if name in OURS else options.peer_files
        row = base_row("damaged files", name, options.seed, 1) | {"n": str(n_files)}
        if version_of(FORMATS[name].package) == "none":
            row |= {"status": f"missing: pip install {FORMATS[name].package}"}
        else:
            start = time.perf_counter()
            found = summary(run_format(name, n_files, options.seed))
            seconds = f"{time.perf_counter() - start:.4g}"
            row |= {"status": OK, "seconds": seconds, "extra": json.dumps(found)}
            row["peer"] = "" if FORMATS[name].package == "gbmap" else FORMATS[name].peer
        table.put(row)
        print(name, row["status"], row.get("extra", ""), flush=True)


if __name__ == "__main__":
    main()
