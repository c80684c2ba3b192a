"""Parameters chosen by cross-validation along the path of learners: one fit holds every smaller one."""

from gbmap.selection.search import GBMAPClassifierCV, GBMAPRegressorCV

__all__ = ["GBMAPClassifierCV", "GBMAPRegressorCV"]
