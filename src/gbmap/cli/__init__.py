"""The command line: each command parses its arguments, calls the library and prints what comes back."""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, default=None
        What follows the name of the program; None stands for those of this process.

    Returns
    -------
    code : int
        0 fine, 1 drift found, 2 wrong usage, 3 bad data, 70 a fault of gbmap, 130 interrupted.

    Examples
    --------
    >>> from gbmap.cli import main
    >>> main(["--version"])
    gbmap ...
    0
    """
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError:
        sys.stderr.write('gbmap: the command line needs typer and rich; pip install "gbmap[cli]".\n')
        return 2
    from gbmap.cli._app import run

    return run(arguments)
