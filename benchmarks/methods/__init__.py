"""One adapter per method; here are the line-ups of the experiments."""

from __future__ import annotations

from benchmarks.methods.base import Method
from benchmarks.methods.gbmap import GBMAP, TABLE_3
from benchmarks.methods.lol import LOL
from benchmarks.methods.pca import PCA
from benchmarks.methods.recipe import Recipe
from benchmarks.methods.xgboost import XGBoost

SCALING: tuple[Method, ...] = (
    GBMAP(m=2, params=TABLE_3),
    Recipe("precompiled"),
    Recipe("user"),
    LOL(),
    PCA("pca-full", "full"),
    PCA("pca-default", "auto"),
)
# Run only when asked for by name: it costs more than all others together at the small sizes.
SCALING_ON_REQUEST: tuple[Method, ...] = (Recipe("plain"),)
SMALL: tuple[Method, ...] = (GBMAP(m=20), XGBoost())
