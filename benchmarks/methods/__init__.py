"""One adapter per method; here are the line-ups of the experiments."""

from __future__ import annotations

from benchmarks.methods.base import Embedding, Method, Predictor, Sized
from benchmarks.methods.chosen import ChosenPredictor, RefinedFeatures
from benchmarks.methods.gbmap import (
    GBMAP,
    TABLE_3,
    GBMAPFeatures,
    GBMAPMap,
    GBMAPPredictor,
    GBMAPSized,
)
from benchmarks.methods.graphs import GraphMethod, IvisSized
from benchmarks.methods.linear import Linear
from benchmarks.methods.lol import LOL
from benchmarks.methods.mlp import MLP
from benchmarks.methods.pca import PCA
from benchmarks.methods.recipe import Recipe
from benchmarks.methods.starts import Starts
from benchmarks.methods.xgboost import XGBoost, XGBoostPredictor, XGBoostSized

SCALING: tuple[Method, ...] = (
    GBMAP(m=2, params=TABLE_3),
    Recipe("precompiled"),
    Recipe("user"),
    LOL(),
    PCA("pca-full", "full"),
    PCA("pca-default", "auto"),
)
# Run only when asked for by name: each costs more than all others together at the small sizes.
SCALING_ON_REQUEST: tuple[Method, ...] = (Recipe("plain"), GraphMethod("ivis"))
FEATURES: tuple[Embedding, ...] = (
    GBMAPFeatures(),
    GBMAPFeatures(name="gbmap-70"),
    GBMAPFeatures(name="gbmap-starts", n_init=5),
    RefinedFeatures(),
    PCA("pca", "full"),
    LOL(),
    GraphMethod("ivis"),
    GraphMethod("umap"),
)
FEATURES_ON_REQUEST: tuple[Embedding, ...] = (RefinedFeatures(name="gbmap-refined-70"),)
MAPS: tuple[Embedding, ...] = (PCA("pca", "full"), GraphMethod("umap"), GraphMethod("ivis"), GBMAPMap())
COSTS: tuple[Sized, ...] = (
    GBMAPSized(),
    GBMAPSized(name="gbmap-refined", sizes=(2, 8, 32), refine=True),
    XGBoostSized(),
    MLP(),
    IvisSized(),
)
STARTS: tuple[Starts, ...] = tuple(map(Starts, (1, 2, 3, 5)))
SMALL: tuple[Method, ...] = (GBMAP(m=20), XGBoost())


def predictors(*, synthetic: bool) -> tuple[Predictor, ...]:
    """Those of the paper's Table 4; gbmap also with a loose tolerance and, on real data, its own choice.

    Synthetic data come as they are.
    """
    loose = GBMAPPredictor(synthetic=synthetic, name="gbmap-loose", tol=1e-3)
    chosen = () if synthetic else (ChosenPredictor(), ChosenPredictor(name="gbmap-refined", refine=True))
    return (Linear(), GBMAPPredictor(synthetic=synthetic), loose, *chosen, XGBoostPredictor())
