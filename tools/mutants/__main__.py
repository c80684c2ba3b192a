"""Change the package in a hundred places, one at a time, and see which changes no test notices."""

from __future__ import annotations

import argparse
import hashlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.mutants.changes import Change, changes_of
from tools.mutants.recording import FOLDER, Recording

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "gbmap"
# Each area gets its share of the changes.
AREAS = ["_core", "_rows", "drift", "inspection", "selection"]
TESTS = [
    *(
        "engine",
        "drift",
        "inspection",
        "dask",
        "faults",
        "plots",
        "test_selection.py",
        "test_other_arrays.py",
    ),
    *("test_fit_control.py", "test_properties.py", "test_inputs.py", "test_distances.py", "test_learning.py"),
    *("test_scikit_learn.py", "test_automatic_ridge.py", "test_spread.py"),
]
MOST_SURVIVORS = 0.05
SHARE = 0.08  # of the time that all tests take, for those of one change
MEMORY = 8 << 30  # bytes of address space
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--hypothesis-seed=0"]


def main() -> int:
    """Run the check; 1 if too many changes survive."""
    options = _options()
    chosen = [each for each in choose(options.number, options.seed) if options.only in each.place]
    recording = _recording(options.processes)
    tests = [_tests_of(change, recording) for change in chosen]
    if _verdict(None, tests[0], recording) != "SURVIVED":
        raise SystemExit("Tests fail on an unchanged copy of the package: nothing can be told from them.")
    survivors = []
    with ThreadPoolExecutor(options.processes) as pool:
        verdicts = pool.map(lambda *change: _verdict(*change, recording), chosen, tests)
        for change, n_tests, verdict in zip(chosen, map(len, tests), verdicts):
            print(f"{verdict:9}{n_tests:5} tests  {change.place}  {change.text}", flush=True)
            survivors += [change] if verdict == "SURVIVED" else []
    share = len(survivors) / len(chosen)
    print(f"\n{len(survivors)} of {len(chosen)} changes survived: {share:.0%}; {MOST_SURVIVORS:.0%} may.")
    for change in survivors:
        print(f"  {change.place}  {change.text}")
    return int(share > MOST_SURVIVORS)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    parser.add_argument("--number", type=int, default=100, help="of changes")
    parser.add_argument("--seed", type=int, default=0, help="the same seed, the same changes")
    parser.add_argument("--only", default="", help="those whose file and line hold this: race.py:104")
    parser.add_argument("--processes", type=int, default=2)
    return parser.parse_args()


def choose(number: int, seed: int) -> list[Change]:
    """Return changes, at most one a line. What is chosen depends on no other line of the package."""
    excluded, chosen = _exclusions(), []
    for area in AREAS:
        best: dict[str, tuple[str, Change]] = {}
        for path in (path for name in area.split() for path in _modules(PACKAGE / name)):
            short, text = path.relative_to(PACKAGE).as_posix(), path.read_text()
            lines = text.splitlines()
            for change in changes_of(short, text):
                line = lines[change.line - 1]
                if not _is_excluded(change, line, excluded[short]):
                    key = f"{seed} {short} {line.strip()} {change.text}"
                    ranked = hashlib.sha256(key.encode()).hexdigest(), change
                    best[change.place] = min(best.get(change.place, ranked), ranked, key=lambda each: each[0])
        ranking = sorted(best.values(), key=lambda each: each[0])
        chosen += [change for _, change in ranking[: -(-number // len(AREAS))]]
    return chosen


def _modules(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(path.rglob("*.py"))


def _exclusions() -> dict[str, list[dict[str, str]]]:
    """Return what may change unnoticed, by module, and refuse what names no line any more."""
    excluded = defaultdict(list)
    for rule in tomllib.loads(Path(__file__).with_name("excluded.toml").read_text())["excluded"]:
        for name in rule["file"].split():
            if rule.get("line", "") not in (PACKAGE / name).read_text():
                raise SystemExit(f"excluded.toml names a line that {name} does not have: {rule['line']}")
            excluded[name].append(rule)
    return excluded


def _is_excluded(change: Change, line: str, rules: list[dict[str, str]]) -> bool:
    return any(each.get("line", "") in line and each.get("change", "") in change.text for each in rules)


def _recording(processes: int) -> Recording:
    """Return which tests run which lines, recorded anew if the package or the tests have changed."""
    digest = hashlib.sha256()
    for path in sorted([*PACKAGE.rglob("*.py"), *(ROOT / "tests").rglob("*.py")]):
        digest.update(path.read_bytes())
    folder = ROOT / "build" / "mutants" / digest.hexdigest()[:16]
    if not (folder / "seconds.json").exists():
        shutil.rmtree(folder.parent, ignore_errors=True)
        folder.mkdir(parents=True)
        plugin = ["-p", "tools.mutants.recording", "-n", str(processes), "--dist", "loadfile"]
        _run([*PYTEST, *plugin, *(f"tests/{name}" for name in TESTS)], PACKAGE.parent, {FOLDER: str(folder)})
    return Recording(folder)


def _tests_of(change: Change, recording: Recording) -> list[str]:
    """Return the tests that run the changed line, then others of their files, which may share a fitted model.

    Files stay together: first those named like the module, then those with quick tests.
    """
    seconds, by_file = recording.seconds, defaultdict(list)
    touching = recording.tests_of(PACKAGE / change.path, change.lines)
    for test in touching:
        by_file[_file(test)].append(seconds[test])
    area = next(area for area in AREAS if change.path.startswith(tuple(area.split())))
    words = {
        part.strip("_") for name in (*area.split(), change.path) for part in Path(name).with_suffix("").parts
    }
    rank = {
        file: (-sum(word in file for word in words), sum(each) / len(each)) for file, each in by_file.items()
    }
    near = [test for test in seconds if _file(test) in rank]
    near.sort(key=lambda test: (test not in touching, rank[_file(test)], seconds[test]))
    # No file takes all of the time: after a quarter of it the others have their turn.
    budget = SHARE * sum(seconds.values())
    rounds, spent = {}, defaultdict(float)
    for test in near:
        spent[_file(test)] += seconds[test]
        rounds[test] = spent[_file(test)] // (budget / 4)
    chosen = []
    for test in sorted(near, key=rounds.__getitem__):
        if seconds[test] <= budget:
            chosen.append(test)
            budget -= seconds[test]
    return chosen


def _file(test: str) -> str:
    return test.split("::")[0]


def _verdict(change: Change | None, tests: list[str], recording: Recording) -> str:
    """Tell whether a test fails with a change."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "src")
        shutil.copytree(PACKAGE.parent, source)
        if change is not None:
            (source / "gbmap" / change.path).write_text(change.source())
        limit = 60 + 3 * sum(recording.seconds[test] for test in tests)
        storage = {"HYPOTHESIS_STORAGE_DIRECTORY": folder}
        code = _run([*PYTEST, "-x", "-n0", *tests], source, storage, limit) if tests else 0
    return {0: "SURVIVED", None: "timed out"}.get(code, "killed")


def _run(command: list[str], source: Path, extra: dict[str, str], limit: float | None = None) -> int | None:
    """Return the exit code of a command that imports the package from a folder; None beyond the limit."""
    output = None if limit is None else subprocess.DEVNULL
    environment = os.environ | {"PYTHONPATH": str(source)} | extra
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=output, stderr=output, start_new_session=True
    )
    if limit is not None and hasattr(resource, "prlimit"):  # a change may well ask for all there is
        resource.prlimit(process.pid, resource.RLIMIT_AS, (MEMORY, MEMORY))
    try:
        return process.wait(limit)
    except subprocess.TimeoutExpired:
        return None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


if __name__ == "__main__":
    sys.exit(main())
