"""Every command of the guide runs, in its order, and ends as the guide says."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

GUIDE = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text()


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", GUIDE, flags=re.DOTALL)


def shape(line):
    """Return a line without its numbers, which differ a little from machine to machine."""
    return re.sub(r"[-+]?\d[\d.,]*(e-?\d+)?", "#", line).split()


def test_the_guide_can_be_followed_and_shows_what_is_printed(run, tmp_path, monkeypatch):
    pytest.importorskip("skl2onnx")
    monkeypatch.chdir(tmp_path)
    exec(blocks("python")[0], {})
    commands = "".join(blocks("sh")).splitlines()
    assert len(commands) > 12
    printed = []
    for line in commands:
        command, _, comment = line.partition("  # ends with ")
        if "|" in command:
            shell = command.replace("gbmap", f"{shlex.quote(sys.executable)} -m gbmap", 1)
            code = subprocess.run(["bash", "-c", shell], stdout=subprocess.PIPE).returncode
        else:
            ended = run(*shlex.split(command)[1:])
            printed += map(shape, ended.out.splitlines())
            code = ended.code
        assert code == int(comment or 0), line
    assert {path.name for path in tmp_path.iterdir()} >= {
        "map.parquet",
        "alarms.csv",
        "patients.html",
        "drift.json",
    }
    quoted = re.findall(r"^    (\S.*)$", GUIDE, flags=re.MULTILINE)
    assert len(quoted) > 12
    for line in quoted:
        assert line == "..." or shape(line) in printed, line


def test_the_guide_and_the_help_know_the_same_exit_codes(run):
    in_guide = re.findall(r"^\| (\d+) \|", GUIDE, flags=re.MULTILINE)
    in_help = re.findall(r"^ +(\d+)  ", run("--help").out, flags=re.MULTILINE)
    assert in_guide == in_help


def test_the_guide_names_every_command_and_only_options_that_exist(run):
    for name in re.findall(r"^  (\w+)  ", run("--help").out.split("Commands:")[1], flags=re.MULTILINE):
        assert re.search(rf"\b{name}\b", GUIDE), name
    known = " ".join(
        run(name, "--help").out for name in ("fit", "predict", "explain", "drift", "report", "export")
    )
    known += run("--help").out
    for option in set(re.findall(r"`?(--[a-z][a-z-]+)", GUIDE)):
        assert option in known, option
