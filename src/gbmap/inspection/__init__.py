"""What a fitted GBMAP has learned, in closed form: explanations, bounds, regions, differences.

All of it concerns h = f - f_0, what the GBMAP adds to its initial model; without ``init`` that is
the prediction itself (for classes, the log-odds).
"""

from gbmap.inspection._lift import Lift
from gbmap.inspection.attribution import Attribution, attributions
from gbmap.inspection.difference import Agreement, ModelDifference, model_difference
from gbmap.inspection.explanation import Explanation, explain
from gbmap.inspection.interaction import Interactions, interactions
from gbmap.inspection.learners import LearnerCards, learner_cards
from gbmap.inspection.region import Regions, regions
from gbmap.inspection.subspace import ActiveSubspace, active_subspace

__all__ = [
    "ActiveSubspace",
    "Agreement",
    "Attribution",
    "Explanation",
    "Interactions",
    "LearnerCards",
    "Lift",
    "ModelDifference",
    "Regions",
    "active_subspace",
    "attributions",
    "explain",
    "interactions",
    "learner_cards",
    "model_difference",
    "regions",
]
