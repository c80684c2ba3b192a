"""What the pages of the report are about: one topic a page, each a group of sections."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

from benchmarks.sections import (
    clusters,
    costs,
    damage,
    dask,
    defaults,
    device,
    distances,
    drift,
    drift_cuts,
    drift_levels,
    drift_loss,
    drift_points,
    explaining,
    features,
    linearity,
    local_model,
    maps,
    memory,
    monitor,
    neighbour_scores,
    neighbours,
    out_of_core,
    passes,
    predictors,
    scaling,
    sets,
    shapley,
    small,
    sparse,
    stability,
    starts,
)


@dataclass(frozen=True)
class Topic:
    """A page: its file, its title, what was measured, and the modules that tell of it."""

    name: str
    title: str
    measured: str
    sections: tuple[ModuleType, ...]


TOPICS = (
    Topic(
        "defaults",
        "Without tuning",
        "scores of models as they come: gbmap, linear models, boosted trees",
        (defaults,),
    ),
    Topic("costs", "Scores and their costs", "score against time and size; random starts", (costs, starts)),
    Topic(
        "maps",
        "Maps",
        "two coordinates beside PCA, UMAP and ivis; how far they depend on the seed",
        (maps, stability),
    ),
    Topic("data", "Data", "rows and columns of the data sets (Table 1)", (sets,)),
    Topic(
        "predictions",
        "Regression and classification",
        "scores on held-out rows beside linear models and XGBoost (Table 4)",
        (predictors,),
    ),
    Topic(
        "coordinates",
        "Coordinates as features",
        "linear models of m coordinates beside PCA, LOL, ivis and UMAP (Table 5, Figure 1)",
        (features,),
    ),
    Topic(
        "neighbours",
        "Neighbours",
        "k-NN in the embedding, also beside columns of noise (Table 4); finding neighbours",
        (neighbour_scores, neighbours),
    ),
    Topic(
        "drift",
        "Drift",
        "which rows go wrong, told without labels, beside other indicators (Table 4, Figures 2 and 4 to 7)",
        (drift, drift_cuts, drift_points),
    ),
    Topic(
        "loss",
        "The loss without labels",
        "the mean loss of rows, estimated without their labels",
        (drift_loss,),
    ),
    Topic(
        "levels",
        "Verdicts where nothing has changed",
        "how often a change is found where there is none, and whether intervals of the loss hold",
        (drift_levels,),
    ),
    Topic(
        "monitoring",
        "Drift over time",
        "false alarms over 10,000 looks, and rows until a change is told, beside the peers",
        (monitor,),
    ),
    Topic(
        "explanations",
        "Explanations and distances",
        "explanations beside SHAP, a local model, clusters (Figures 3 and 8), the time of path distances",
        (shapley, local_model, clusters, explaining, distances),
    ),
    Topic(
        "speed",
        "Speed",
        "seconds of a fit beside the peers (Table 3), one pass, growth with n, p and m, small data",
        (scaling, small, passes, linearity),
    ),
    Topic(
        "memory",
        "Memory",
        "memory beyond X, files larger than memory, sparse rows",
        (memory, out_of_core, sparse),
    ),
    Topic("device", "On a CUDA device", "fits of arrays of PyTorch beside the recipe in JAX", (device,)),
    Topic("dask", "Rounds on Dask", "what a round costs, and what follows for clusters", (dask,)),
    Topic("files", "Damaged model files", "what readers make of them, beside the peers' formats", (damage,)),
)
