"""The commands in one program, and how it ends."""

from __future__ import annotations

import inspect
import os
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Annotated, Any

import typer

from gbmap._utils.text import sentence
from gbmap.cli._errors import Code, fail, guarded
from gbmap.cli._screen import flush, say
from gbmap.cli.demo import demo
from gbmap.cli.difference import difference
from gbmap.cli.drift import drift
from gbmap.cli.evaluate import evaluate
from gbmap.cli.export import export
from gbmap.cli.fit import fit
from gbmap.cli.inspect import inspect as inspect_model
from gbmap.cli.report import report
from gbmap.cli.rows import explain, predict, transform

app = typer.Typer(
    name="gbmap",
    rich_markup_mode=None,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _help(command: Callable[..., Any]) -> str:
    """Return the help of a command: its docstring, with lists and examples as they are written."""
    return re.sub(r"\n\n(?=For example:|Exit codes:)", "\n\n\b\n", inspect.cleandoc(command.__doc__ or ""))


for _command in (
    demo, fit, predict, transform, explain, evaluate, drift, difference, report, inspect_model, export,
):  # fmt: skip
    app.command(help=_help(_command))(guarded(_command))


def _print_version(wanted: bool) -> None:
    if wanted:
        from gbmap import __version__

        sys.stdout.write(f"gbmap {__version__}\n")
        raise typer.Exit


def _top(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """One model of a table: predicts, maps, explains itself and warns of drift.

    Tables are CSV, TSV, JSON lines (also .gz), Excel or Parquet files, or - for
    standard input.

    Exit codes:
      0    fine
      1    drift found (gbmap drift)
      2    wrong usage, or a package is missing
      3    bad data: a table or model that cannot be read or used
      70   a fault of gbmap itself
      130  interrupted
    """


app.callback(help=_help(_top))(_top)


@cache
def _program() -> Any:
    """Return the program, with the options of all commands, which take some time to gather."""
    return typer.main.get_command(app)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code; every error is one sentence."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    is_completing = "_GBMAP_COMPLETE" in os.environ
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _note_warning
            code = _program()(args=given or ["--help"], prog_name="gbmap", standalone_mode=False)
        flush(sys.stdout)
    except BaseException as error:
        code = fail(error)
    if not given and not is_completing:
        code = Code.USAGE
    for stream in (sys.stdout, sys.stderr):
        flush(stream, whatever_happens=True)  # what is wrong with them has been told
    return int(code or 0)


def _note_warning(message: Any, *_: Any, **__: Any) -> None:
    say(f"gbmap: note: {sentence(message)}")
