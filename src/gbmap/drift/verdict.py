"""The verdict on a batch of rows as people read it: what has changed, how much, how sure, and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gbmap._fitted.results import frame
from gbmap._utils.glossary import METRICS
from gbmap._utils.plain import plain
from gbmap._utils.shown import Result, Shown
from gbmap._utils.text import counted, number, percent, signed

DEGREES = ("none", "look", "act")
OF_LABELS = ("loss", "class")  # kinds of findings that labels alone can show
BY_CHANCE = ", which may be chance"  # of a number that is not tolerated, and was not found to be worse
_SHOWN_COLUMNS = 2  # in the summary
_ADVICE = {
    "relation": "the relation itself has changed: fit anew",
    "rows": "the rows have changed",
    "both": "the rows have changed, and so has the relation: fit anew",
    "none": "nothing is to be done",
}


@dataclass(frozen=True, repr=False)
class Finding(Result):
    """One thing that was looked at: what, how much, how sure, and what to do.

    Attributes
    ----------
    kind : str
        "prediction" (the mean has shifted), "alarms" (their share), "expected_loss" (without labels) or
        "loss" (with them); of a column "type", "unseen", "missing", "units", "constant" (it no longer is),
        "stuck" (it holds one value now) or "range"; of labels "class" (one that the model does not know).
    column : str or None
    text : str
        What and how much, in words.
    before, now : float
        The same in numbers: the mean prediction, a share of rows, or a mean loss.
    p_value : float
        The chance of as much if nothing had changed, times the number of things looked at: see the
        verdict.
    degree : {"none", "look", "act"}
    advice : str
        What to do.

    Examples
    --------
    >>> import numpy as np
    >>> from gbmap import DriftDetector, GBMAPRegressor
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> detector = DriftDetector(GBMAPRegressor(2, random_state=0), random_state=0).fit(X, X[:, 0])
    >>> finding = detector.verdict(X[:50] + [3, 0]).check("prediction")
    >>> finding.degree, finding.p_value < 1e-6
    ('act', True)
    """

    kind: str
    column: str | None
    text: str
    before: float
    now: float
    p_value: float
    degree: str
    advice: str

    def _shown(self) -> Shown:
        return Shown(f"{self.degree}: {self.text} (p {_p(self.p_value)})")


@dataclass(frozen=True, repr=False)
class DriftVerdict(Result):
    """Whether a model can still be trusted on a batch of rows, and if not, why.

    Attributes
    ----------
    degree : {"none", "look", "act"}
        "act" if predictions are worse, or cannot be relied on. "look" if something has changed that may not
        matter: in a column that counts for little, or in few rows, or although labels show no larger loss.
    summary : str
        All of it in one line.
    cause : {"none", "rows", "relation", "both"}
        Whether the rows have changed (covariate drift), or what y is given them (concept drift), which
        labels alone can tell.
    findings : tuple of Finding
        What was found at the level asked for: what asks for action first, then by p-value.
    checks : tuple of Finding
        What was asked of the model, found or not: "prediction", "alarms", "expected_loss" and, with labels,
        "loss".
    level : float
        The chance of any finding at all if nothing has changed is at most this. Half of it is for the
        checks, and half for the columns, by Bonferroni's correction: p-values are multiplied by eight, twice
        the number of checks that there may be, or by twice the number of what was tested of columns.
    n_rows, n_labelled, n_calibration : int
        Rows of the batch, those of them with labels, and of the calibration.
    share_of_alarms : float or None
        None without a threshold, if calibration rows are too few for one, or if no prediction could be made.
    expected_share_of_alarms : float or None
        That of the calibration rows.
    metrics : dict of dict of float
        "rmse" and "mae", or "accuracy" and "log_loss": each "held_out" on the calibration rows, "expected"
        with "lower" and "upper" without labels, and "known" by labels, None without.

    Examples
    --------
    >>> import numpy as np
    >>> from gbmap import DriftDetector, GBMAPRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 2))
    >>> y = X[:, 0] + 0.1 * rng.normal(size=600)
    >>> detector = DriftDetector(GBMAPRegressor(2, random_state=0), random_state=0).fit(X[:400], y[:400])
    >>> detector.verdict(X[400:], y[400:]).degree
    'none'
    >>> changed = detector.verdict(X[400:], -y[400:])
    >>> changed.degree, changed.cause
    ('act', 'relation')
    """

    degree: str
    summary: str
    cause: str
    findings: tuple[Finding, ...]
    checks: tuple[Finding, ...]
    level: float
    n_rows: int
    n_labelled: int
    n_calibration: int
    share_of_alarms: float | None
    expected_share_of_alarms: float | None
    metrics: dict[str, dict[str, float | None]]

    def _shown(self) -> Shown:
        table = {
            "degree": [each.degree for each in self.findings],
            "p": [_p(each.p_value) for each in self.findings],
            "what": [each.text for each in self.findings],
        }
        return Shown(f"{self.degree}; {self.summary}", table if self.findings else {})

    def check(self, kind: str) -> Finding | None:
        """Return the check of a kind; None if it was not made.

        Parameters
        ----------
        kind : {"prediction", "alarms", "expected_loss", "loss"}

        Returns
        -------
        check : Finding or None
        """
        return next((each for each in self.checks if each.kind == kind), None)

    def to_frame(self) -> Any:
        """Return the findings as a pandas frame, a row each.

        Returns
        -------
        frame : pandas.DataFrame
        """
        names = ("kind", "column", "degree", "p_value", "before", "now", "text", "advice")
        return frame({name: [getattr(each, name) for each in self.findings] for name in names}, None)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, texts, lists and dictionaries, as JSON has them.

        Returns
        -------
        verdict : dict
            A key per attribute.
        """
        return plain(self)


def summary_of(verdict: DriftVerdict, *, is_reassured: bool = False) -> str:
    """Return the verdict in one line, given whether labels show that predictions are as good as before."""
    of_loss = verdict.check("loss") or verdict.check("expected_loss")
    parts = [_metrics_in_words(verdict) + _by_chance(of_loss)]
    if verdict.share_of_alarms is not None:
        raised = f"{percent(verdict.share_of_alarms)} of rows raise the alarm"
        parts.append(raised + _by_chance(verdict.check("alarms")))
    prediction = verdict.check("prediction")
    if prediction is not None and prediction.degree != "none":
        parts.append(f"the mean prediction moved by {signed(prediction.now - prediction.before)}")
    parts += [each.text for each in verdict.findings if each.kind == "class"]
    columns = [each for each in verdict.findings if each.column is not None]
    parts += [each.text for each in columns[:_SHOWN_COLUMNS]]
    if len(columns) > _SHOWN_COLUMNS:
        parts.append(f"{len(columns) - _SHOWN_COLUMNS} more about columns")
    if verdict.cause == "relation":
        parts.append(f"the columns look as before, so {_ADVICE['relation']}")
    else:
        parts.append(_advice(verdict, is_reassured=is_reassured))
    return "; ".join(part for part in parts if part)


def _by_chance(check: Finding | None) -> str:
    return BY_CHANCE if check is not None and check.text.endswith(BY_CHANCE) else ""


def _advice(verdict: DriftVerdict, *, is_reassured: bool) -> str:
    if verdict.degree == "none":
        return _ADVICE["none"]
    if verdict.cause == "both":
        return _ADVICE["both"]
    if verdict.degree == "look":
        return _ADVICE["rows"] + (
            ", but predictions are as good as before" if is_reassured else ": look at it"
        )
    has_lost = any(each.kind == "loss" for each in verdict.findings)
    explains = ", which explains the loss" if has_lost else ""
    mending = [each for each in verdict.findings if each.column is not None and each.degree == "act"]
    return f"{_ADVICE['rows']}{explains}: {(mending or verdict.findings)[0].advice}"


def _metrics_in_words(verdict: DriftVerdict) -> str:
    """Return how good predictions are by labels, or how good to expect, beside the held-out rows."""
    found = []
    for name, each in verdict.metrics.items():
        before, known = number(each["held_out"]), each["known"]
        if known is not None:
            found.append(f"{METRICS[name].name} {before} -> {number(known)}")
        else:
            found.append(f"{METRICS[name].name} {before} before, {number(each['expected'])} expected")
    if not found:  # nothing can be predicted, or the detector is of an earlier version
        return counted(verdict.n_rows, "row") + ("" if verdict.checks else " that cannot be predicted")
    is_known = next(iter(verdict.metrics.values()))["known"] is not None
    rows = counted(verdict.n_rows, "row")
    if is_known:
        rows = counted(verdict.n_labelled, "labelled row")
        rows += f" of {verdict.n_rows:,}" if verdict.n_labelled < verdict.n_rows else ""
    of_loss = verdict.check("loss")
    tells_size = of_loss is not None and of_loss.text.startswith(METRICS["mae"].name)
    shown = found[:1] if next(iter(verdict.metrics)) == "rmse" and not tells_size else found
    return f"{', '.join(shown)} on {rows}"


def _p(value: float) -> str:
    return f"{value:.2g}"
