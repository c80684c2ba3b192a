"""What the fuzzers share: options, limits, and where failing inputs are kept. Needs `pip install atheris`."""

from __future__ import annotations

import argparse
import importlib
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

AnyBytes = Callable[[bytes, int], bytes]
Mutate = Callable[[bytes, int, int, AnyBytes], bytes]


def fuzz(
    name: str,
    description: str | None,
    corpus: Path,
    *,
    watched: Sequence[str],
    use: Callable[[bytes, Path], None],
    mutate: Mutate,
    seeds: Sequence[bytes] = (),
    arguments: Sequence[str] | None = None,
) -> None:
    """Call `use` with inputs and a folder for its files, guided by the coverage of the watched modules.

    An exception, more than so much memory or time for an input ends the run with a file that repeats it.
    """
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=description)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", action="store_true", help="add what reached new code to the corpus")
    options = parser.parse_args(arguments)
    try:
        import atheris
    except ImportError as error:
        raise SystemExit("fuzzing needs atheris: pip install atheris") from error
    warnings.simplefilter("ignore")
    with atheris.instrument_imports(include=list(watched)):
        for module in watched:
            importlib.import_module(module)
    folder = Path(tempfile.mkdtemp(prefix="gbmap-fuzz-"))
    inputs = corpus if options.keep else Path(shutil.copytree(corpus, folder / "inputs"))
    more = folder / "seeds"
    more.mkdir()
    for k, seed in enumerate(seeds):
        (more / str(k)).write_bytes(seed)
    limits = [
        f"-max_total_time={options.seconds}",
        "-timeout=10",
        "-rss_limit_mb=1000",
        "-malloc_limit_mb=300",
    ]
    flags = [*limits, f"-seed={options.seed}", "-max_len=20000", f"-artifact_prefix={folder}{os.sep}"]
    atheris.Setup(
        [sys.argv[0], str(inputs), str(more), *flags],
        lambda body: use(body, folder),
        custom_mutator=lambda body, most, seed: mutate(body, most, seed, atheris.Mutate),
    )
    print(f"inputs that failed are kept in {folder}", flush=True)
    atheris.Fuzz()
