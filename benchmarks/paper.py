"""Figures that the paper prints, to stand beside ours."""

from __future__ import annotations

from typing import NamedTuple


class Runtime(NamedTuple):
    """One line of the paper's Table 3: seconds, mean of ten runs on two processors."""

    gbmap: float
    ivis: float
    lol: float
    pca: float


TABLE_3: dict[tuple[int, int], Runtime] = {
    (100_000, 25): Runtime(1.4, 286.4, 0.2, 0.1),
    (100_000, 100): Runtime(5.8, 276.8, 1.7, 0.9),
    (100_000, 200): Runtime(4.5, 270.1, 3.1, 1.5),
    (100_000, 400): Runtime(7.8, 331.0, 6.5, 3.1),
    (100_000, 800): Runtime(22.5, 499.5, 17.6, 8.5),
    (100_000, 1600): Runtime(79.1, 932.5, 53.9, 27.3),
    (100_000, 3200): Runtime(204.2, 1688.2, 195.8, 106.3),
    (500_000, 25): Runtime(14.3, 1719.3, 1.1, 0.5),
    (1_000_000, 25): Runtime(14.2, 4710.6, 2.3, 0.9),
    (5_000_000, 25): Runtime(174.8, 18223.8, 11.2, 4.9),
    (10_000_000, 25): Runtime(204.9, 26623.5, 22.3, 9.8),
}
