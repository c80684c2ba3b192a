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
    "synth-cos-r-10000x20-rotated": NeighbourScores(0.411, 0.748),
    "wine-red": NeighbourScores(0.292, 0.362),
    "wine-white": NeighbourScores(0.335, 0.363),
    "breast-cancer": NeighbourScores(0.947, 0.982),
    "diabetes": NeighbourScores(0.727, 0.784),
    "eeg-eye-state": NeighbourScores(0.773, 0.801),
    "german-credit": NeighbourScores(0.703, 0.713),
    "higgs-10k-h2o": NeighbourScores(0.615, 0.661),
    "higgs-10k-openml-sample": NeighbourScores(0.615, 0.661),
    "synth-cos-c-10000x20-rotated": NeighbourScores(0.593, 0.698),
}

# Rows and columns in its Table 1. Its one sample of HIGGS stands under both names here and below.
TABLE_1: dict[str, tuple[int, int]] = {
    "abalone": (4177, 8),
    "airquality": (7355, 11),
    "autompg": (392, 8),
    "california": (20640, 7),
    "concrete": (1030, 8),
    "cpu-small": (8192, 12),
    "qm9-10k": (10000, 27),
    "superconductor": (21263, 81),
    "synth-cos-r-200000x200-rotated": (200000, 200),
    "wine-red": (1599, 11),
    "wine-white": (4898, 11),
    "breast-cancer": (569, 30),
    "diabetes": (768, 8),
    "eeg-eye-state": (14980, 14),
    "german-credit": (1000, 20),
    "higgs-10k-h2o": (10000, 28),
    "synth-cos-c-200000x200-rotated": (200000, 200),
}
TABLE_1["higgs-10k-openml-sample"] = TABLE_1["higgs-10k-h2o"]


class Predictors(NamedTuple):
    """The first columns of a line of the paper's Table 4: R2 or accuracy, one split."""

    gbmap: float
    linear: float
    xgboost: float


TABLE_4_PREDICTORS: dict[str, Predictors] = {
    "abalone": Predictors(0.577, 0.526, 0.535),
    "airquality": Predictors(0.922, 0.905, 0.912),
    "autompg": Predictors(0.863, 0.784, 0.807),
    "california": Predictors(0.755, 0.602, 0.841),
    "concrete": Predictors(0.907, 0.582, 0.917),
    "cpu-small": Predictors(0.974, 0.713, 0.978),
    "qm9-10k": Predictors(0.701, 0.471, 0.707),
    "superconductor": Predictors(0.874, 0.73, 0.911),
    "synth-cos-r-200000x200-rotated": Predictors(0.452, 0.0, 0.025),
    "wine-red": Predictors(0.396, 0.358, 0.395),
    "wine-white": Predictors(0.395, 0.29, 0.432),
    "breast-cancer": Predictors(0.965, 0.953, 0.971),
    "diabetes": Predictors(0.766, 0.775, 0.758),
    "eeg-eye-state": Predictors(0.755, 0.642, 0.944),
    "german-credit": Predictors(0.73, 0.767, 0.733),
    "higgs-10k-h2o": Predictors(0.681, 0.639, 0.703),
    "synth-cos-c-200000x200-rotated": Predictors(0.583, 0.5, 0.582),
}
TABLE_4_PREDICTORS["higgs-10k-openml-sample"] = TABLE_4_PREDICTORS["higgs-10k-h2o"]


Spread = tuple[float, float] | None


class Features(NamedTuple):
    """A line of the paper's Table 5: mean and standard deviation of five splits; None where it has none."""

    gbmap: Spread
    pca: Spread
    ivis: Spread
    lol: Spread


TABLE_5: dict[str, dict[int, Features]] = {
    "california": {
        2: Features((0.64, 0.01), (0.03, 0.01), (0.72, 0.01), None),
        8: Features((0.72, 0.01), (0.61, 0.01), (0.77, 0.01), None),
        12: Features((0.73, 0.01), None, (0.77, 0.01), None),
        16: Features((0.73, 0.01), None, (0.77, 0.01), None),
        32: Features((0.74, 0.01), None, (0.78, 0.01), None),
    },
    "concrete": {
        2: Features((0.73, 0.04), (0.11, 0.06), None, None),
        8: Features((0.85, 0.01), (0.62, 0.03), (0.76, 0.03), None),
        12: Features((0.85, 0.02), None, (0.78, 0.03), None),
        16: Features((0.86, 0.02), None, (0.78, 0.04), None),
        32: Features((0.85, 0.05), None, (0.78, 0.03), None),
    },
    "cpu-small": {
        2: Features((0.97, 0.0), (0.36, 0.02), (0.94, 0.02), None),
        8: Features((0.97, 0.0), (0.69, 0.01), (0.97, 0.0), None),
        12: Features((0.97, 0.0), (0.72, 0.01), (0.97, 0.0), None),
        16: Features((0.97, 0.01), None, (0.97, 0.0), None),
        32: Features((0.97, 0.01), None, (0.97, 0.0), None),
    },
    "superconductor": {
        2: Features((0.82, 0.0), (0.46, 0.01), (0.83, 0.01), None),
        8: Features((0.84, 0.0), (0.56, 0.0), (0.85, 0.01), None),
        12: Features((0.84, 0.01), (0.59, 0.0), (0.85, 0.01), None),
        16: Features((0.84, 0.0), (0.6, 0.0), (0.86, 0.01), None),
        32: Features((0.85, 0.0), (0.69, 0.01), (0.85, 0.01), None),
    },
    "qm9-10k": {
        2: Features((0.51, 0.01), (0.07, 0.0), (0.49, 0.09), None),
        8: Features((0.61, 0.02), (0.19, 0.01), (0.57, 0.04), None),
        12: Features((0.65, 0.02), (0.27, 0.01), (0.57, 0.03), None),
        16: Features((0.66, 0.02), (0.34, 0.01), (0.58, 0.03), None),
        32: Features((0.68, 0.02), None, (0.59, 0.03), None),
    },
    "synth-cos-r-200000x200-rotated": {
        2: Features((0.06, 0.0), (0.0, 0.0), None, None),
        8: Features((0.16, 0.0), (0.0, 0.0), None, None),
        12: Features((0.2, 0.0), (0.0, 0.0), None, None),
        16: Features((0.23, 0.0), (0.0, 0.0), (0.64, 0.01), None),
        32: Features((0.34, 0.0), (0.0, 0.0), None, None),
        64: Features((0.46, 0.0), (0.0, 0.0), (0.66, 0.01), None),
        128: Features((0.52, 0.0), (0.0, 0.0), None, None),
    },
    "higgs-10k-h2o": {
        2: Features((0.66, 0.01), (0.53, 0.01), (0.61, 0.02), (0.59, 0.01)),
        8: Features((0.68, 0.01), (0.54, 0.01), (0.67, 0.01), (0.61, 0.01)),
        12: Features((0.68, 0.01), (0.54, 0.0), (0.68, 0.01), (0.61, 0.01)),
        16: Features((0.68, 0.01), (0.55, 0.0), (0.68, 0.01), (0.61, 0.01)),
        32: Features((0.67, 0.01), None, (0.68, 0.01), None),
    },
    "eeg-eye-state": {
        2: Features((0.61, 0.01), (0.55, 0.0), (0.6, 0.01), (0.57, 0.0)),
        8: Features((0.65, 0.01), (0.57, 0.01), (0.8, 0.01), (0.58, 0.01)),
        12: Features((0.69, 0.02), (0.62, 0.01), (0.8, 0.01), (0.61, 0.01)),
        16: Features((0.71, 0.01), None, (0.81, 0.01), None),
        32: Features((0.75, 0.01), None, (0.81, 0.01), None),
    },
    "synth-cos-c-200000x200-rotated": {
        2: Features((0.56, 0.0), (0.5, 0.0), None, (0.5, 0.0)),
        8: Features((0.59, 0.0), (0.5, 0.0), None, (0.5, 0.0)),
        12: Features((0.6, 0.0), (0.5, 0.0), None, (0.5, 0.0)),
        16: Features((0.61, 0.0), (0.5, 0.0), (0.67, 0.0), (0.5, 0.0)),
        32: Features((0.62, 0.0), (0.5, 0.0), None, (0.5, 0.0)),
        64: Features((0.64, 0.0), (0.5, 0.0), (0.68, 0.0), (0.5, 0.0)),
        128: Features((0.64, 0.0), (0.5, 0.0), None, (0.5, 0.0)),
    },
}
TABLE_5["higgs-10k-openml-sample"] = TABLE_5["higgs-10k-h2o"]
