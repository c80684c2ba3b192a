"""Files that commands write: what is asked of their names before any work is done, and what is said after."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from gbmap._utils.replacing import is_place_of_file
from gbmap._utils.text import sentence
from gbmap.cli._errors import UsageError
from gbmap.cli._screen import Screen


@dataclass(frozen=True)
class Output:
    """A file that is going to be written."""

    path: Path
    replaces: bool  # whether another one is there

    @classmethod
    def at(
        cls,
        path: str | Path,
        endings: tuple[str, ...],
        *inputs: Path | None,
        no_overwrite: bool,
        option: str = "--out",
    ) -> Output:
        """Return the output at a path that an option named, or refuse it.

        The endings of its name tell the contents; devices and pipes may have any name. What is read must not
        be written.
        """
        path = Path(path)
        _refuse_input(path, inputs, option)
        if path.is_dir():
            raise UsageError(f"{option} must be a file, but {path} is a folder; name a file in it.")
        if not is_place_of_file(path):
            return cls(path, replaces=False)
        if not path.name.lower().endswith(endings):
            raise UsageError(f"{option} must end in {_listed(endings)}, got {path}.")
        if not path.absolute().parent.is_dir():
            raise UsageError(
                f"{option} must be in a folder that exists, got {path}; make {path.parent} first."
            )
        if no_overwrite and path.exists():
            raise UsageError(
                f"{option} must be a new file for --no-overwrite, but {path} is there; name another one."
            )
        return cls(path, path.exists())

    def tell(self, screen: Screen) -> None:
        """Say that a file was replaced, if one was."""
        if self.replaces:
            screen.note(f"replaced {sentence(self.path)}")


def _refuse_input(path: Path, inputs: tuple[Path | None, ...], option: str) -> None:
    for given in inputs:
        if given is not None and str(given) != "-" and path.exists() and os.path.samefile(path, given):
            raise UsageError(f"{option} must not be a file that is read, {path}; name another one.")


def _listed(endings: tuple[str, ...]) -> str:
    *most, last = endings
    return f"{', '.join(most)} or {last}" if most else last
