"""A function of rows, computed on chunks of them by threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse

from gbmap._rows.threads import ThreadTeam, effective_threads
from gbmap._utils.typing import Array

_CHUNK_NUMBERS = 1 << 18  # per chunk: its temporaries stay in the cache


def map_rows(
    function: Callable[[Any], Array],
    X: Any,
    n_columns: int,
    dtype: Any,
    n_jobs: int | None,
    *,
    densifies: bool = False,
    width: int = 1,
) -> Array:
    """Return ``function(X)`` of shape (n, n_columns).

    `densifies` tells that the function makes sparse rows dense, which then have to be few; `width`, that it
    makes so many numbers of each row.
    """
    n, p = X.shape
    stays_sparse = scipy.sparse.issparse(X) and not densifies
    width = max(X.nnz // max(n, 1) if stays_sparse else max(p, width), n_columns, 1)
    chunk = max(1, _CHUNK_NUMBERS // width)
    out = np.empty((n, n_columns), dtype)

    def work(chunks: Iterator[int]) -> None:
        for c in chunks:
            rows = slice(c * chunk, (c + 1) * chunk)
            out[rows] = function(X[rows])

    with ThreadTeam(effective_threads(n_jobs, n * width)) as team:
        team.run(work, -(-n // chunk))
    return out
