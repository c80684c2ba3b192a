"""However a command ends, it ends with the right code and at most one sentence."""

import errno
import io
import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.utils import check_array

from gbmap import GBMAPRegressor
from gbmap.cli import main
from gbmap.tables._formats.text import LONGEST_ROW


def only_line(text):
    assert text.startswith("gbmap: ")
    assert text.count("\n") == 1
    assert "Traceback" not in text
    return text


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["fit"], 2, "Missing argument 'DATA'"),
        (["fit", "houses.csv"], 2, "Missing option"),
        (["predict", "nowhere.gbmap", "more.csv"], 2, "nowhere.gbmap does not exist"),
        (["predict", "price.gbmap", "nowhere.csv"], 2, "nowhere.csv does not exist"),
        (["predict", "price.gbmap", "."], 2, ". is a folder"),
        (["paint"], 2, "No such command 'paint'"),
        (["fit", "--colour"], 2, "No such option"),
        (["predict", "more.csv", "more.csv"], 3, "more.csv is no gbmap model"),
        (["inspect", "damaged.gbmap"], 3, "damaged.gbmap is damaged"),
        (["evaluate", "price.gbmap", "damaged.parquet"], 3, "damaged.parquet"),
        (["evaluate", "price.gbmap", "nothing.csv"], 3, "nothing.csv"),
        (["explain", "price.gbmap", "more.csv", "--standardized"], 2, "--standardized goes with"),
        (["drift", "price.gbmap", "more.csv", "--confidence", "1"], 2, "--confidence must be"),
        (["drift", "price.gbmap", "more.csv", "--delta", "inf"], 2, "'--delta': inf is no finite number"),
        (["report", "houses.csv", "-o", "p.html"], 2, "--target is missing: give DATA and"),
        (["report", "-t", "price", "-o", "p.html"], 2, "DATA is missing: give DATA and --target for a fit"),
        (["report", "-", "-t", "price", "--new", "-", "-o", "p.html"], 2, "cannot both be standard input"),
    ],
)
def test_wrong_usage_is_2_and_bad_data_3(run, folder, monkeypatch, arguments, code, words):
    monkeypatch.chdir(folder)
    data = bytearray((folder / "price.gbmap").read_bytes())
    data[1000] ^= 1
    (folder / "damaged.gbmap").write_bytes(data)
    (folder / "damaged.parquet").write_bytes(b"PAR1 and then nothing of the sort")
    (folder / "nothing.csv").write_bytes(b"")
    ended = run(*arguments)
    assert (ended.code, ended.out) == (code, "")
    assert words in only_line(ended.err)


def test_help_and_version_are_fine_and_no_command_is_not(run):
    assert run("--help").code == run("fit", "--help").code == 0
    assert re.fullmatch(r"gbmap \d+\.\d+\.\d+\n", run("--version").out)
    ended = run()
    assert ended.code == 2
    assert "Usage: gbmap" in ended.out


def test_an_unexpected_error_is_one_sentence_and_its_traceback_is_there_for_the_asking(
    run, folder, monkeypatch
):
    def fail(path):
        raise KeyError("\x1b[31msurprise")

    monkeypatch.setattr("gbmap.load", fail)
    ended = run("inspect", folder / "price.gbmap")
    assert ended.code == 70
    assert "KeyError" in only_line(ended.err)
    assert "GBMAP_DEBUG=1" in ended.err
    assert "\x1b" not in ended.err
    monkeypatch.setenv("GBMAP_DEBUG", "1")
    assert "Traceback" in run("inspect", folder / "price.gbmap").err


def test_a_slip_of_the_program_is_not_taken_for_bad_data(run, folder, monkeypatch):
    monkeypatch.setattr("gbmap.cli.evaluate.show_scores", lambda page, scores: page.table(None, None))
    ended = run("evaluate", folder / "price.gbmap", folder / "more.csv")
    assert ended.code == 70
    assert "TypeError" in only_line(ended.err)


@pytest.mark.parametrize(
    ("slip", "code"),
    [
        (lambda: check_array([[np.nan]]), 3),
        (lambda: GBMAPRegressor().fit([[1.0], [2.0]], [1.0]), 3),
        (lambda: pd.Index([1, 2]).union([3], sort="a"), 70),
        (lambda: int("three"), 70),
    ],
    ids=["scikit-learn", "gbmap", "pandas", "Python"],
)
def test_a_value_refused_by_gbmap_or_scikit_learn_is_bad_data(run, folder, monkeypatch, slip, code):
    monkeypatch.setattr("gbmap.cli.evaluate.show_scores", lambda page, scores: slip())
    ended = run("evaluate", folder / "price.gbmap", folder / "more.csv")
    assert ended.code == code
    assert ("ValueError" in only_line(ended.err)) == (code == 70)


def test_a_message_shows_hostile_names_as_text(run, folder, tmp_path):
    name = "\x1b]0;owned\x07[red]size[/red]\u202e"
    pd.DataFrame({name: ["1", "2"] * 20, "y": range(40)}).to_csv(tmp_path / "t.csv", index=False)
    ended = run("fit", tmp_path / "t.csv", "-t", "nothing", "-o", tmp_path / "m.gbmap")
    assert ended.code == 3
    assert "[red]size[/red]" in ended.err
    assert not set("\x1b\x07\u202e") & set(ended.err)
    frame = pd.DataFrame({name: [f"{i % 7}" for i in range(60)], "y": [i % 7 + 0.1 for i in range(60)]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert (
        run(
            "fit", tmp_path / "t.csv", "-t", "y", "-o", tmp_path / "m.gbmap", "-m", 2, "--category", name
        ).code
        == 0
    )
    for command in (["inspect"], ["evaluate"], ["drift"]):
        given = [tmp_path / "m.gbmap", *([] if command == ["inspect"] else [tmp_path / "t.csv"])]
        out = run(*command, *given).out
        assert out
        assert not set("\x1b\x07\u202e") & set(out)


def test_a_warning_is_one_line_on_standard_error(run, folder, monkeypatch):
    import warnings

    from gbmap.tables import TableModel

    evaluate = TableModel.evaluate

    def warn(model, data):
        warnings.warn("this is\nodd", UserWarning, stacklevel=2)
        return evaluate(model, data)

    monkeypatch.setattr(TableModel, "evaluate", warn)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        ended = run("evaluate", folder / "price.gbmap", folder / "more.csv")
    assert ended.code == 0
    assert ended.err == "gbmap: note: this is odd\n"


def test_without_its_packages_the_program_says_how_to_get_them(folder):
    script = (
        "import sys\n"
        "class Missing:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] == sys.argv[1]: raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Missing())\n"
        "from gbmap.cli import main\n"
        "sys.exit(main(sys.argv[2:]))\n"
    )
    for missing, *given in (
        ["typer", "--help"],
        ["pyarrow", "evaluate", folder / "price.gbmap", folder / "more.csv"],
    ):
        command = [sys.executable, "-c", script, missing, *given]
        ended = subprocess.run(command, capture_output=True, text=True)
        assert ended.returncode == 2
        assert 'pip install "gbmap[cli]"' in only_line(ended.stderr)


def test_an_export_without_its_packages_names_their_extra(run, folder, tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.startswith(("onnx", "gbmap.onnx"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "onnx", None)
    ended = run("export", folder / "price.gbmap", "--to", "onnx", "-o", tmp_path / "m.onnx")
    assert ended.code == 2
    assert 'pip install "gbmap[onnx]"' in only_line(ended.err)


@pytest.mark.nightly
def test_a_closed_pipe_ends_quietly(start, folder, tmp_path):
    frame = pd.concat([pd.read_csv(folder / "more.csv")] * 30)
    frame.to_csv(tmp_path / "many.csv", index=False)
    process = start("transform", folder / "price.gbmap", tmp_path / "many.csv", "--keep", "id", "--quiet")
    assert process.stdout.readline().startswith("id,f1")
    process.stdout.close()
    assert process.wait(60) == 0
    assert process.stderr.read() == ""
    process.stderr.close()


@pytest.mark.parametrize("is_windows", [False, True])
def test_windows_calls_a_closed_pipe_invalid(run, folder, monkeypatch, is_windows):
    class Closed(io.StringIO):
        def write(self, text):
            raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr("gbmap.cli._screen._IS_WINDOWS", is_windows)
    monkeypatch.setattr(sys, "stdout", Closed())
    ended = run("predict", folder / "price.gbmap", folder / "more.csv", "--quiet")
    assert (ended.code, ended.err) == ((0, "") if is_windows else (3, "gbmap: invalid argument.\n"))


@pytest.mark.posix("signals to a process")
def test_ctrl_c_ends_with_130_and_leaves_no_file(start, folder, tmp_path):
    header, *rows = (folder / "more.csv").read_text().splitlines(keepends=True)
    given = ["predict", folder / "price.gbmap", "-", "-o", tmp_path / "never.csv"]
    process = start(*given, stdin=subprocess.PIPE)
    enough = -(-3 * LONGEST_ROW // len("".join(rows)))  # text is read in blocks that hold the longest row
    process.stdin.write(header + "".join(rows) * enough)  # and more to come: the program waits for it
    process.stdin.flush()
    for _ in range(600):
        if list(tmp_path.iterdir()):  # it has begun to write
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert err.endswith("gbmap: interrupted; no file was written.\n")
    assert "Traceback" not in err
    assert not list(tmp_path.iterdir())


@pytest.mark.nightly
def test_a_full_disk_is_told(start, folder):
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full")
    long = ["transform", folder / "price.gbmap", folder / "more.csv", "--quiet"]
    for command in (long, ["--version"]):
        with open("/dev/full", "w") as full:
            process = start(*command, stdout=full)
            assert "no space left" in only_line(process.communicate()[1])
        assert process.returncode == 3


def test_the_module_runs_as_the_program_does():
    ended = subprocess.run([sys.executable, "-m", "gbmap", "--version"], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout[:6]) == (main(["--version"]), "gbmap ")


@pytest.mark.nightly
def test_a_terminal_sees_bars_and_standard_output_does_not(start, folder, tmp_path):
    pty = pytest.importorskip("pty")
    terminal, end = pty.openpty()
    given = ["fit", folder / "houses.csv", "-t", "price", "-o", tmp_path / "m.gbmap", "-m", 3, "--json"]
    given += ["--beta", 5, "--l2", 0.001]
    process = start(*given, stderr=end, env={"TERM": "xterm", "COLUMNS": "80"})
    os.close(end)
    seen = b""
    while True:
        try:
            seen += os.read(terminal, 1 << 16)
        except OSError:  # the other end is closed
            break
    os.close(terminal)
    assert json.loads(process.communicate()[0])["rows"] == 600
    assert b" learners" in seen
    assert b"\x1b[" in seen
