"""Files that commands write: told by their endings, never replaced without a word, or not at all."""

import json
import os
import threading

import pytest

TABLES = ".csv, .csv.gz, .tsv, .tsv.gz, .parquet, .pq, .xlsx, .jsonl, .jsonl.gz, .ndjson or .ndjson.gz"
# What to run, but for the output; what the name of that must end in, as it is told; and a name that will do.
QUICK = ["houses.csv", "-t", "price", "-m", "2", "--l2", "1", "--beta", "5"]
COMMANDS = {
    "predict": (["predict", "price.gbmap", "more.csv", "--out"], TABLES, "out.csv"),
    "transform": (["transform", "price.gbmap", "more.csv", "--out"], TABLES, "out.parquet"),
    "explain": (["explain", "price.gbmap", "more.csv", "--out"], TABLES, "out.TSV"),
    "drift": (["drift", "price.gbmap", "more.csv", "--out"], TABLES, "out.csv.gz"),
    "fit": (["fit", *QUICK, "--out"], ".gbmap", "out.gbmap"),
    "report": (["report", *QUICK, "--max-rows", "20", "--out"], ".html or .htm", "out.html"),
    "numbers": (["report", *QUICK, "--max-rows", "20", "-o", os.devnull, "--json-out"], ".json", "out.json"),
    "sql": (["export", "price.gbmap", "--to", "sql", "--out"], ".sql", "out.sql"),
    "onnx": (["export", "price.gbmap", "--to", "onnx", "--out"], ".onnx", "out.onnx"),
}


@pytest.fixture(params=COMMANDS)
def command(request, folder, tmp_path, monkeypatch):
    """A command that lacks the name of its output only, what that must end in, and a name."""
    pytest.importorskip("jinja2")
    pytest.importorskip("skl2onnx")
    given, endings, name = COMMANDS[request.param]
    monkeypatch.chdir(tmp_path)
    return [folder / word if (folder / word).exists() else word for word in given], endings, name


@pytest.fixture
def idle(monkeypatch):
    """Let every command fail that starts to work."""

    def fail(*_, **__):
        raise AssertionError("this is work")

    for work in ("gbmap.load", "gbmap.tables.TableModel.fit", "gbmap.tables.open_table"):
        monkeypatch.setattr(work, fail)


@pytest.mark.parametrize("name", ["out.xls", "out", "out.csv.zip", "out.docx"])
def test_an_ending_that_is_not_known_is_refused_before_any_work(run, command, idle, tmp_path, name):
    given, endings, _ = command
    ended = run(*given, name)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == f"gbmap: {given[-1]} must end in {endings}, got {name}.\n"
    assert not list(tmp_path.iterdir())


def test_a_new_file_goes_without_saying_and_one_that_is_replaced_is_named(
    run, command, tmp_path, monkeypatch
):
    given, _, name = command
    for clock in ("cli._reporting", "report.contents.contenders"):  # seconds are on the page
        monkeypatch.setattr(f"gbmap.{clock}.perf_counter", lambda: 0.0)
    assert run(*given, name, "--no-overwrite").err == ""
    first = (tmp_path / name).read_bytes()
    (tmp_path / name).write_text("old")
    ended = run(*given, name)
    assert (ended.code, ended.err) == (0, f"replaced {name}\n")
    assert (tmp_path / name).read_bytes() == first


def test_quiet_leaves_out_that_a_file_was_replaced(run, folder, tmp_path):
    (tmp_path / "out.csv").write_text("old")
    given = ["predict", folder / "price.gbmap", folder / "more.csv", "-o", tmp_path / "out.csv", "--quiet"]
    assert run(*given).err == ""
    assert (tmp_path / "out.csv").read_text() != "old"


def test_a_file_is_kept_if_asked_to_before_any_work(run, command, idle, tmp_path):
    given, _, name = command
    (tmp_path / name).write_text("old")
    ended = run(*given, name, "--no-overwrite")
    assert (ended.code, ended.out) == (2, "")
    assert f"{given[-1]} must be a new file for --no-overwrite, but {name} is there" in ended.err
    assert ended.err.count("\n") == 1
    assert (tmp_path / name).read_text() == "old"


@pytest.mark.posix("named pipes")
def test_a_pipe_has_no_ending_and_is_not_replaced(run, folder, tmp_path):
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    given = ["predict", folder / "price.gbmap", folder / "more.csv"]
    ended = run(*given, "-o", pipe, "--no-overwrite")
    reader.join()
    assert (ended.code, ended.err) == (0, "")
    assert read == [run(*given).out]


def test_a_verdict_and_its_rows_do_not_share_standard_output(run, folder, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    ended = run("drift", folder / "price.gbmap", folder / "more.csv", "-o", "-", "--json")
    assert (ended.code, ended.out) == (2, "")
    assert "--out must end in .csv" in ended.err
    assert json.loads(run("drift", folder / "price.gbmap", folder / "more.csv", "--json").out)
