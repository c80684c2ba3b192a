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


class DriftAUC(NamedTuple):
    """The last two columns of a line of the paper's Table 4: the AUC of its drifter and of its baseline."""

    gbmap: float
    euclid: float


# The paper has one sample of HIGGS, here called by the names of both that stand in for it.
DRIFT_AUC: dict[str, DriftAUC] = {
    "abalone": DriftAUC(0.95, 0.96),
    "airquality": DriftAUC(0.98, 0.96),
    "autompg": DriftAUC(0.94, 0.91),
    "california": DriftAUC(0.74, 0.64),
    "concrete": DriftAUC(0.73, 0.81),
    "cpu-small": DriftAUC(0.91, 0.84),
    "qm9-10k": DriftAUC(0.96, 0.87),
    "superconductor": DriftAUC(0.98, 0.97),
    "wine-red": DriftAUC(0.85, 0.77),
    "wine-white": DriftAUC(0.95, 0.89),
    "breast-cancer": DriftAUC(0.51, 0.59),
    "diabetes": DriftAUC(0.63, 0.75),
    "eeg-eye-state": DriftAUC(0.66, 0.74),
    "german-credit": DriftAUC(0.65, 0.63),
    "higgs-10k-h2o": DriftAUC(0.70, 0.67),
    "higgs-10k-openml-sample": DriftAUC(0.70, 0.67),
}


class NeighbourScores(NamedTuple):
    """The middle columns of a line of the paper's Table 4: R2 or accuracy of k-NN, by distance."""

    euclid: float
    embedding: float


TABLE_4_NEIGHBOURS: dict[str, NeighbourScores] = {
    "abalone": NeighbourScores(0.517, 0.556),
    "airquality": NeighbourScores(0.914, 0.912),
    "autompg": NeighbourScores(0.84, 0.855),
    "california": NeighbourScores(0.689, 0.767),
    "concrete": NeighbourScores(0.634, 0.871),
    "cpu-small": NeighbourScores(0.945, 0.974),
    "qm9-10k": NeighbourScores(0.574, 0.689),
    "superconductor": NeighbourScores(0.852, 0.869),
    "wine-red": NeighbourScores(0.292, 0.362),
    "wine-white": NeighbourScores(0.335, 0.363),
    "breast-cancer": NeighbourScores(0.947, 0.982),
    "diabetes": NeighbourScores(0.727, 0.784),
    "eeg-eye-state": NeighbourScores(0.773, 0.801),
    "german-credit": NeighbourScores(0.703, 0.713),
    "higgs-10k-h2o": NeighbourScores(0.615, 0.661),
    "higgs-10k-openml-sample": NeighbourScores(0.615, 0.661),
}
