"""Models as files: one file of plain data that runs no code when it is loaded."""

from gbmap._files.codec import NotStorableError
from gbmap._files.container import ModelFileError
from gbmap.persistence.model_files import load, save

__all__ = ["ModelFileError", "NotStorableError", "load", "save"]
