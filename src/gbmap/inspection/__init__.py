"""What a fitted GBMAP has learned, in closed form: explanations, bounds, regions, differences.

All of it concerns h = f - f_0, what the GBMAP adds to its initial model; without ``init`` that is
the prediction itself (for classes, the log-odds).
"""

from gbmap.inspection.attribution import Attribution, attributions
from gbmap.inspection.explanation import Explanation, explain
from gbmap.inspection.interaction import Interactions, interactions
from gbmap.inspection.subspace import ActiveSubspace, active_subspace

__all__ = [
    "ActiveSubspace",
    "Attribution",
    "Explanation",
    "Interactions",
    "active_subspace",
    "attributions",
    "explain",
    "interactions",
]
