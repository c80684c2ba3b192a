"""A random sample of rows that go by, so that questions about many of them take bounded memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gbmap._utils.typing import Array
from gbmap.drift import ConstantColumn
from gbmap.drift.constants import joined


@dataclass
class Sample:
    """At most so many rows of a stream, each row with the same chance, in their order."""

    size: int
    n_rows: int = 0  # the rows that went by
    features: Any = None  # those that were kept
    targets: Array | None = None  # their labels, None or NaN where one is missing
    constants: tuple[ConstantColumn, ...] = ()  # of all rows: columns that had one value in the fit
    _keys: Array = field(default_factory=lambda: np.empty(0))
    _random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def add(self, features: Any, targets: Array | None, constants: tuple[ConstantColumn, ...] = ()) -> None:
        """Let rows go by; those with the smallest random numbers stay."""
        import pandas as pd

        self.constants = joined([self.constants, constants])
        if self.features is not None:
            features = pd.concat([self.features, features], ignore_index=True)
            known = self.targets is not None and targets is not None
            targets = np.concatenate([self.targets, targets]) if known else None
        n_new = len(features) - len(self._keys)
        keys = np.append(self._keys, self._random.random(n_new))
        kept = np.sort(np.argsort(keys, kind="stable")[: self.size])
        self.n_rows += n_new
        self._keys, self.features = keys[kept], features.iloc[kept].reset_index(drop=True)
        self.targets = None if targets is None else targets[kept]
