"""Data of the GBMAP paper: synthetic generators, drift splits and the real data sets.

Nothing here is needed to fit a model. The generators give the paper's synthetic data, `drift_split` cuts a
data set such that one part has drifted, and `load_paper_dataset` finds the real data sets in a folder of
yours or at their public sources.
"""

from gbmap.datasets.drift import DriftSplit, drift_split
from gbmap.datasets.paper import load_paper_dataset
from gbmap.datasets.synthetic import make_clusters, make_synth_cos

__all__ = ["DriftSplit", "drift_split", "load_paper_dataset", "make_clusters", "make_synth_cos"]
