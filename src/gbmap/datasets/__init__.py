"""Data to try things on: tables that are at hand, and the data of the GBMAP paper.

Nothing here is needed to fit a model. `make_demand` and `make_table` draw tables with a meaning; the other
generators give the paper's synthetic data, `drift_split` cuts a data set such that one part has drifted, and
`load_paper_dataset` finds the real data sets in a folder of yours or at their public sources.
"""

from gbmap.datasets.demand import make_demand
from gbmap.datasets.drift import DriftSplit, drift_split
from gbmap.datasets.paper import load_paper_dataset
from gbmap.datasets.synthetic import make_clusters, make_synth_cos
from gbmap.datasets.tables import make_table

__all__ = [
    "DriftSplit",
    "drift_split",
    "load_paper_dataset",
    "make_clusters",
    "make_demand",
    "make_synth_cos",
    "make_table",
]
