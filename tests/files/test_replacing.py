"""All that writes files: whole or not at all, as private as the one before, through links and pipes."""

import errno
import itertools
import os
import stat
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

import gbmap
from gbmap import tables
from gbmap._utils import replacing as module
from gbmap._utils.replacing import replacing
from gbmap.report import make_report
from gbmap.tables.errors import TableError

HERE = Path(__file__).parent
# The stored model that is exported knows the version that it was written by.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.InconsistentVersionWarning")
X = np.linspace(-1, 1, 40).reshape(20, 2)
y = X[:, 0] ** 2


@pytest.fixture(scope="module")
def model():
    return gbmap.GBMAPRegressor(1, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def report(model):
    return make_report(model, X, y, X_test=X, y_test=y)


def write_table(path, *_):
    frame = pytest.importorskip("pandas").DataFrame({"a": [1.0, 2.0]})
    pytest.importorskip("pyarrow")
    tables.write_table(path, [frame])


def write_checkpoint(path, *_):
    """Each call goes on from what the one before has left."""
    gbmap.GBMAPRegressor(next(SIZES), refine=False, random_state=0).fit(X, y, checkpoint=path)


def export(form):
    def write(path, *_):
        pytest.importorskip("typer")
        pytest.importorskip("skl2onnx")
        from gbmap.cli import main

        model = HERE / "golden" / "format-1-table.gbmap"
        code = main(["export", str(model), "--to", form, "--out", str(path), "--quiet"])
        if code:
            raise OSError(f"exit code {code}")

    return write


SIZES = itertools.count(1)
WRITERS = {
    "model": lambda path, model, report: gbmap.save(model, path),
    "checkpoint": write_checkpoint,
    "page": lambda path, model, report: report.to_html(path),
    "twin": lambda path, model, report: report.to_json(path),
    "a.csv": write_table,
    "a.csv.gz": write_table,
    "a.parquet": write_table,
    "a.sql": export("sql"),
    "a.onnx": export("onnx"),
}


@pytest.fixture(params=WRITERS)
def written(request, tmp_path, model, report):
    """A file of some kind, and what writes it there or elsewhere."""
    path = tmp_path / request.param
    write = lambda to=path: WRITERS[request.param](to, model, report)  # noqa: E731
    write()
    return path, write


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.posix("links and permissions of POSIX")
def test_a_new_file_is_as_private_as_the_system_says(tmp_path):
    before = os.umask(0o027)
    try:
        with replacing(tmp_path / "new") as file:
            file.write(b"x")
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "new") == 0o640


@pytest.mark.posix("links and permissions of POSIX")
def test_a_private_file_stays_private_behind_its_link(written):
    path, write = written
    path.chmod(0o600)
    link = path.with_name(f"link-{path.name}")
    link.symlink_to(path.name)
    before = path.stat().st_ino
    write(link)
    assert link.is_symlink()
    assert mode_of(path) == 0o600
    assert path.stat().st_ino != before  # replaced, not written over


@pytest.mark.posix("links and permissions of POSIX")
def test_a_private_file_is_private_while_it_is_written(tmp_path):
    (tmp_path / "old").touch(0o600)
    with replacing(tmp_path / "old"):
        (beside,) = tmp_path.glob(".gbmap-*.tmp")
        assert mode_of(beside) == 0o600


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_a_fault_while_writing_leaves_the_old_file_and_no_other(written, monkeypatch, error):
    path, write = written
    before = path.read_bytes()

    def fail(*arguments):
        raise error

    monkeypatch.setattr(module.os, "fsync", fail)
    with pytest.raises((OSError, TableError, KeyboardInterrupt)):
        write()
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.posix("named pipes")
@pytest.mark.parametrize("written", [name for name in WRITERS if name != "checkpoint"], indirect=True)
def test_a_pipe_is_written_to_and_not_replaced(written):
    path, write = written
    pipe = path.with_name(f"pipe-{path.name}")
    os.mkfifo(pipe)
    with open(path.with_name("read"), "wb") as read, subprocess.Popen(["cat", pipe], stdout=read):
        write(pipe)
    assert path.with_name("read").read_bytes() == path.read_bytes()
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.posix("paths of open files")
def test_standard_output_keeps_what_is_printed_around_a_file(tmp_path):
    code = (
        "from gbmap._utils.replacing import replacing\n"
        "print('before')\n"
        "with replacing('/dev/stdout') as file: file.write(b'inside\\n')\n"
        "print('after')"
    )
    for out in (tmp_path / "out", None):
        with open(out, "wb") if out else nullcontext(subprocess.PIPE) as stdout:
            ended = subprocess.run([sys.executable, "-c", code], stdout=stdout, check=True)
        assert (out.read_bytes() if out else ended.stdout) == b"before\ninside\nafter\n"


@pytest.mark.posix("links and permissions of POSIX")
def test_an_error_of_the_system_is_about_the_file_that_was_named(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder")
    for path in (tmp_path / "link", tmp_path / "none" / "file"):
        with pytest.raises((IsADirectoryError, FileNotFoundError)) as caught, replacing(path):
            pass
        assert caught.value.filename == str(path)


def test_an_error_about_another_file_stays_one(tmp_path):
    with pytest.raises(FileNotFoundError) as caught, replacing(tmp_path / "new"):
        (tmp_path / "other").read_bytes()
    assert caught.value.filename == str(tmp_path / "other")
    assert os.listdir(tmp_path) == []


def refusing(n_times, monkeypatch):
    """Let the file be held by others for so many attempts to replace it."""
    replace, attempts = os.replace, []

    def held(*arguments):
        attempts.append(arguments)
        if len(attempts) <= n_times:
            raise PermissionError(errno.EACCES, "Access is denied")
        replace(*arguments)

    monkeypatch.setattr(module.os, "replace", held)
    return attempts


def test_a_file_that_is_held_for_a_moment_is_replaced_after_it(tmp_path, monkeypatch):
    """As Windows holds a file while somebody reads it."""
    monkeypatch.setattr(module, "_WAITS", (0.0, 0.0, 0.0))
    attempts = refusing(3, monkeypatch)
    with replacing(tmp_path / "m") as file:
        file.write(b"new")
    assert len(attempts) == 4
    assert (tmp_path / "m").read_bytes() == b"new"


def test_a_read_only_file_that_windows_does_not_replace_leaves_no_other(tmp_path, monkeypatch):
    unlink = Path.unlink

    def unlink_writable(path):
        if not mode_of(path) & stat.S_IWRITE:
            raise PermissionError(errno.EACCES, "Access is denied")
        unlink(path)

    (tmp_path / "m").write_bytes(b"old")
    (tmp_path / "m").chmod(stat.S_IREAD)
    monkeypatch.setattr(Path, "unlink", unlink_writable)
    refusing(1, monkeypatch)
    with pytest.raises(PermissionError), replacing(tmp_path / "m"):
        pass
    assert os.listdir(tmp_path) == ["m"]
