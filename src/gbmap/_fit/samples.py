"""How many rows the samples hold on which learners are found before they meet all rows."""

from __future__ import annotations

# The smallest sample holds so many rows, or so many a column if that is more; each further one is larger by
# a factor, up to half of the rows. None takes more than so many bytes, except to hold so many rows at least.
_ROWS, _ROWS_PER_COLUMN, _GROWTH = 10_000, 50, 8
_BYTES, _ROWS_AT_LEAST = 1 << 26, 2_000


def sample_sizes(n_rows: int, n_columns: int, row_bytes: float | None) -> tuple[int, ...]:
    """Return the numbers of rows of the samples, from small to large.

    Rows have so many bytes, which do not count where memory is ample: None says so.
    """
    first = most = max(_ROWS, _ROWS_PER_COLUMN * n_columns)
    largest = n_rows // 2
    if row_bytes is not None:
        most = max(int(_BYTES / max(row_bytes, 1)), _ROWS_AT_LEAST)
        largest = min(most, largest)
    sizes = [min(first, most)]
    while sizes[-1] * _GROWTH <= largest:
        sizes.append(sizes[-1] * _GROWTH)
    return tuple(sizes)
