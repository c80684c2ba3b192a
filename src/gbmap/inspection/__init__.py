"""What a fitted GBMAP has learned, in closed form: explanations, bounds, regions, differences.

All of it concerns h = f - f_0, what the GBMAP adds to its initial model; without ``init`` that is
the prediction itself (for classes, the log-odds).
"""

from gbmap.inspection.attribution import Attribution, attributions
from gbmap.inspection.bounds import CoefficientBounds, Monotonicity, coefficient_bounds, is_monotone
from gbmap.inspection.column_part import ColumnPart
from gbmap.inspection.counterfactual import Counterfactual, nearest_counterfactual
from gbmap.inspection.curve import ColumnCurve, column_curve
from gbmap.inspection.difference import Agreement, ModelDifference, model_difference
from gbmap.inspection.explanation import Explanation, explain
from gbmap.inspection.interaction import Interactions, interactions
from gbmap.inspection.intervals import PredictionInterval, prediction_interval_missing
from gbmap.inspection.learners import LearnerCards, learner_cards
from gbmap.inspection.lift import Lift
from gbmap.inspection.region import Regions, regions
from gbmap.inspection.subspace import ActiveSubspace, active_subspace

__all__ = [
    "ActiveSubspace",
    "Agreement",
    "Attribution",
    "CoefficientBounds",
    "ColumnCurve",
    "ColumnPart",
    "Counterfactual",
    "Explanation",
    "Interactions",
    "LearnerCards",
    "Lift",
    "ModelDifference",
    "Monotonicity",
    "PredictionInterval",
    "Regions",
    "active_subspace",
    "attributions",
    "coefficient_bounds",
    "column_curve",
    "explain",
    "interactions",
    "is_monotone",
    "learner_cards",
    "model_difference",
    "nearest_counterfactual",
    "prediction_interval_missing",
    "regions",
]
