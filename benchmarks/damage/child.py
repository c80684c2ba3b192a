"""The process that meets the damaged files: ``python -m benchmarks.damage.child FORMAT FOLDER FILE ...``.

It prints a line before and after each file. What became of a file that has no second line, the parent knows.
"""

from __future__ import annotations

import gc
import json
import resource
import sys
import time
import tracemalloc
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.damage.formats import FORMATS, Format, data

# Address space beyond what the process has when it begins.
MOST_BYTES = 1 << 30


def main(name: str, folder: str, *files: str) -> None:
    """Load and use each file, and say what happened."""
    form, (X, _) = FORMATS[name], data()
    warnings.simplefilter("ignore")
    expected = np.load(Path(folder, "expected.npz"))
    for kind in form.kinds:  # imports and caches come before the limits
        form.predict(form.load(sound_file(Path(folder), kind)), X)
    tracemalloc.start()
    limit = _status("VmSize") + MOST_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    for file in files:
        _say({"begins": file})
        _say({"file": file} | _outcome(form, Path(folder, file), X, expected[file.split("-")[0]]))


def sound_file(folder: Path, kind: str) -> Path:
    """The file that all damaged ones of a kind come from."""
    return next(folder.glob(f"{kind}-sound*"))


def _outcome(form: Format, path: Path, X: Any, expected: Any) -> dict[str, Any]:
    before, held = _start_measuring(), tracemalloc.get_traced_memory()[0]
    start, seconds = time.process_time(), None
    try:
        model = form.load(path)
        seconds = time.process_time() - start
        answer = np.asarray(form.predict(model, X))
        same = answer.shape == expected.shape and np.array_equal(answer, expected, equal_nan=True)
        result = {"outcome": "unchanged" if same else "different"}
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        memory = isinstance(error, MemoryError) or "bad_alloc" in text or "bad allocation" in text
        result = {"outcome": "memory" if memory else "error", "error": text[:200]}
    seconds = time.process_time() - start if seconds is None else seconds
    grown, traced = _status("VmHWM") - before, tracemalloc.get_traced_memory()[1] - held
    return result | {"bytes": max(grown, 0), "traced": traced, "seconds": seconds}


def _start_measuring() -> int:
    """Reset the peaks of the resident size and of Python's allocations, and return the former size."""
    gc.collect()
    tracemalloc.reset_peak()
    Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def _status(field: str) -> int:
    """A size of this process in bytes; Linux only."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return 1024 * int(line.split()[1])
    raise OSError(f"this system does not tell {field}")


def _say(what: dict[str, Any]) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
