"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a path beside another one, and at the end move what was written there to its place."""
    target = Path(os.path.realpath(path))  # a link stays one
    temporary = target.with_name(f".gbmap-{secrets.token_hex(8)}{target.suffix}")
    try:
        yield temporary
        os.replace(temporary, target)
    except OSError as error:  # about the file that the user named
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
    finally:
        temporary.unlink(missing_ok=True)
