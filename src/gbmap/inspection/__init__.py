"""What a fitted GBMAP has learned, in closed form: explanations, bounds, regions, differences.

All of it concerns h = f - f_0, what the GBMAP adds to its initial model; without ``init`` that is
the prediction itself (for classes, the log-odds).
"""

from gbmap.inspection.attribution import Attribution, attributions
from gbmap.inspection.explanation import Explanation, explain

__all__ = ["Attribution", "Explanation", "attributions", "explain"]
