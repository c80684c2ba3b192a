"""A plugin of pytest-xdist: which tests run which lines of the package, and how long they take."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

from coverage import Coverage, CoverageData

FOLDER = "GBMAP_MUTANTS_RECORDING"


def pytest_configure(config: Any) -> None:
    """Record lines in a worker; times in the process that leads them, which hears of all tests."""
    folder, worker = Path(os.environ[FOLDER]), getattr(config, "workerinput", None)
    config.pluginmanager.register(_Clock(folder) if worker is None else _Lines(folder, worker["workerid"]))


class _Lines:
    def __init__(self, folder: Path, worker: str):
        source = [os.environ["PYTHONPATH"]]
        self._coverage = Coverage(str(folder / f"lines.{worker}"), source=source, config_file=False)
        self._coverage.start()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._coverage.switch_context(nodeid)

    def pytest_sessionfinish(self) -> None:
        self._coverage.stop()
        self._coverage.save()


class _Clock:
    def __init__(self, folder: Path):
        self._path = folder / "seconds.json"
        self._seconds: dict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: Any) -> None:
        # A test that fails or is skipped without any change tells nothing of one.
        self._seconds[report.nodeid] += report.duration if report.passed else float("inf")

    def pytest_sessionfinish(self) -> None:
        self._path.write_text(json.dumps(self._seconds))


class Recording:
    """What the plugin wrote into a folder."""

    def __init__(self, folder: Path):
        seconds = json.loads((folder / "seconds.json").read_text())
        self.seconds = {test: each for test, each in seconds.items() if each < float("inf")}
        self._data = CoverageData(no_disk=True)
        for path in folder.glob("lines.*"):
            part = CoverageData(str(path))
            part.read()
            self._data.update(part)
        self._by_line = cache(lambda path: self._data.contexts_by_lineno(str(path)))

    def tests_of(self, path: Path, lines: tuple[int, int] | None) -> set[str]:
        """Return the tests that run any of these lines of a file, from first to last; or any at all."""
        by_line = self._by_line(path)
        wanted = by_line if lines is None else range(lines[0], lines[1] + 1)
        return {test for line in wanted for test in by_line.get(line, ()) if test in self.seconds}
