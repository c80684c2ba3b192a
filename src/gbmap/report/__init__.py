"""A report of a fitted GBMAP: one HTML page that works offline, and its JSON twin with the same numbers."""

from gbmap.report.report import Report, make_report
from gbmap.report.stored import make_drift_report

__all__ = ["Report", "make_drift_report", "make_report"]
