"""CuPy."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np
from cupyx.scipy.special import expit

from gbmap._rows.libraries._compat import CompatLibrary
from gbmap._utils.typing import Array


class Library(CompatLibrary):
    """One kernel where the array API takes several."""

    def softplus(self, t: Any) -> Any:
        return cupy.logaddexp(0.0, t)

    def sigmoid(self, t: Any) -> Any:
        return expit(t)

    def to_numpy(self, array: Any) -> Array:
        return np.asarray(array.get())
