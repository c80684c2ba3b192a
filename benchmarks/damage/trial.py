"""Damage files of one format, let children use them, and count what happened."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.damage.bombs import promised_seconds
from benchmarks.damage.formats import FORMATS, Format, data, suffix

FILES_PER_CHILD = 100
SECONDS_PER_FILE = 10.0
SECONDS_TO_START = 120.0
# Resident size is rough: growth below this is not counted as memory taken.
ROUGHLY = 16 << 20

OUTCOMES = ("crash", "hang", "memory", "different", "error", "unchanged")


@dataclass(frozen=True)
class Damage:
    """What was done to a file: the kind of its model, how it was damaged, its bytes and those it gained."""

    kind: str
    mutation: str
    n_bytes: int
    gained: int


@dataclass(frozen=True)
class Report:
    """What became of one file.

    `bytes` is how far the process grew while the file was used, `traced` what Python and NumPy allocated, as
    a multiple of the file's need: what the sound file takes, and the bytes that this one has gained.
    `seconds` are those of the processor until it was loaded or refused.
    """

    mutation: str
    outcome: str
    bytes: int
    traced: float
    seconds: float


def run_format(name: str, n_files: int, seed: int) -> list[Report]:
    """Damage and use so many files."""
    form = FORMATS[name]
    with tempfile.TemporaryDirectory(prefix="gbmap-damage-") as folder:
        done = _write_files(name, form, Path(folder), n_files, seed)
        needs = {kind: _need(name, folder, f"{kind}-sound{suffix(name)}") for kind in form.kinds}
        files = list(done)
        return [
            _report(form, done[result["file"]], result, needs[done[result["file"]].kind])
            for start in range(0, n_files, FILES_PER_CHILD)
            for result in _use(name, folder, files[start : start + FILES_PER_CHILD])
        ]


def _need(name: str, folder: str, file: str) -> dict[str, Any]:
    """What a sound file takes in a process that has met it before."""
    (result,) = _use(name, folder, [file])
    return result


def _report(form: Format, damage: Damage, result: dict[str, Any], need: dict[str, Any]) -> Report:
    took, outcome = result.get("bytes", 0), result["outcome"]
    traced = result.get("traced", 0) / (need["traced"] + max(damage.gained, 0))
    too_much = took > max(2 * need["bytes"], ROUGHLY) or (form.in_python and traced > 2)
    if too_much and outcome in ("different", "error", "unchanged"):
        outcome = "memory"
    seconds = result.get("seconds", SECONDS_PER_FILE)
    # What gbmap promises is less than what counts as a hang for all. Measuring memory takes twice the time.
    if form.package == "gbmap" and seconds > 2 * promised_seconds(damage.n_bytes):
        outcome = "hang"
    return Report(damage.mutation, outcome, took, traced, seconds)


def _write_files(name: str, form: Format, folder: Path, n_files: int, seed: int) -> dict[str, Damage]:
    """Write sound and damaged files, and what the sound ones give; return the damage done to each file."""
    rng, end, answers, sound = np.random.default_rng(seed), suffix(name), {}, {}
    for kind in form.kinds:
        path = folder / f"{kind}-sound{end}"
        form.write(kind, path)
        sound[kind] = path.read_bytes()
        answers[kind] = np.asarray(form.predict(form.load(path), data()[0]))
    np.savez(folder / "expected.npz", **answers)
    done, mutations = {}, list(form.mutations)
    for number in range(n_files):
        kind, mutation = form.kinds[number % len(form.kinds)], mutations[number // 4 % len(mutations)]
        damaged = sound[kind]
        while damaged == sound[kind]:
            damaged = form.mutations[mutation](sound[kind], rng)
        path = folder / f"{kind}-{number}{end}"
        path.write_bytes(damaged)
        done[path.name] = Damage(kind, mutation, len(damaged), len(damaged) - len(sound[kind]))
    return done


def _use(name: str, folder: str, files: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield what became of each file; a child that ends is followed by one for the files that are left."""
    left = list(files)
    while left:
        for result in _child(name, folder, left):
            left.remove(result["file"])
            yield result


def _child(name: str, folder: str, files: Sequence[str]) -> Iterator[dict[str, Any]]:
    command = [sys.executable, "-m", "benchmarks.damage.child", name, folder, *files]
    quiet = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONFAULTHANDLER": ""}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=os.environ | quiet
    ) as child:
        current, met, is_silent = None, False, False
        for line in _lines(child):
            if "begins" in line:
                current, met = line["begins"], True
            elif "file" in line:
                current = None
                yield line
            else:
                is_silent = True
                child.kill()
        if current is not None:
            yield {"file": current, "outcome": "hang" if is_silent else "crash"}
        elif not met:
            raise RuntimeError(f"the child for {name} did not start")


def _lines(child: subprocess.Popen[bytes]) -> Iterator[dict[str, Any]]:
    """Yield what the child prints; an empty line when it has been silent for too long."""
    seconds, rest = SECONDS_TO_START, b""
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ)  # type: ignore[arg-type]
        while True:
            if not selector.select(seconds):
                yield {}
                return
            chunk = os.read(child.stdout.fileno(), 1 << 16)  # type: ignore[union-attr]
            if not chunk:
                return
            *lines, rest = (rest + chunk).split(b"\n")
            seconds = SECONDS_PER_FILE
            yield from (json.loads(line) for line in lines if line.startswith(b"{"))


def summary(reports: Sequence[Report]) -> dict[str, Any]:
    """Counts of the outcomes, in all and for each kind of damage, and the most memory taken."""
    counts = Counter(report.outcome for report in reports)
    return {
        "outcomes": {outcome: counts[outcome] for outcome in OUTCOMES},
        "by_mutation": {
            mutation: dict(Counter(report.outcome for report in reports if report.mutation == mutation))
            for mutation in dict.fromkeys(report.mutation for report in reports)
        },
        "most_bytes": max(report.bytes for report in reports),
        "most_traced": max(report.traced for report in reports),
        "most_seconds": max(report.seconds for report in reports),
    }
