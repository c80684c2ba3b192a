"""A report of a fitted GBMAP: one HTML page that works offline, and its JSON twin with the same numbers.

``gbmap.report(model, X_new)`` is `make_drift_report`, short enough for a notebook.
"""

import sys
from types import ModuleType
from typing import Any

from gbmap.report.report import Report, make_report
from gbmap.report.stored import make_drift_report

__all__ = ["Report", "make_drift_report", "make_report"]


class _Package(ModuleType):
    """A package that may be called, since its name is the call that people try first."""

    def __call__(self, model: Any, X_new: Any = None, y_new: Any = None, **how: Any) -> Report:
        """Look at new rows with a fitted model: `make_drift_report`."""
        if X_new is None or not hasattr(model, "predict"):
            raise TypeError(
                "gbmap.report(model, X_new) takes a fitted model and new rows; for a page of the rows of its "
                "fit write gbmap.report.make_report(model, X, y)."
            )
        return make_drift_report(model, X_new, y_new, **how)


sys.modules[__name__].__class__ = _Package
