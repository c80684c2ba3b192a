"""Libraries whose functions array-api-compat brings to the array API."""

from __future__ import annotations

from typing import Any

from gbmap._core.arrays import ArrayLibrary
from gbmap._utils.optional import require

_compat = require("array_api_compat", "device")


class CompatLibrary(ArrayLibrary):
    """A library by the names that array-api-compat gives to its functions."""

    def namespace(self, array: Any) -> Any:
        return _compat.array_namespace(array)
