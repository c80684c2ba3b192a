"""Explanations beside SHAP."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from statistics import mean, median
from typing import Any

from benchmarks.experiments.shapley import ATTRIBUTIONS, PERMUTATIONS, TREES, TREES_BESIDE
from benchmarks.markdown import NOTHING, number, ratio, table
from benchmarks.pictures import LOOKS, Glance, titled
from benchmarks.records import OK, Row, matches, median_of

TITLES = {
    ATTRIBUTIONS: "gbmap, `attributions`",
    PERMUTATIONS: "gbmap, SHAP's permutations",
    TREES: "XGBoost, SHAP's trees",
    TREES_BESIDE: "XGBoost, SHAP's trees beside rows",
}
EXACT = 1e-6  # a gap that nobody could see in a picture, in standard deviations

INTRODUCTION = """\
What each column adds to the prediction of a row of california (8 columns, held-out rows), and the processor
time of that on one thread. *gbmap, attributions* are integrated gradients in closed form, averaged over 100
background rows; SHAP's permutation explainer is asked the same of the same model. SHAP's explainer of trees
has an XGBoost to explain, as it comes, by the rows that its trees have counted or beside the same 100 rows.
*Gap* is the largest distance, over the rows, between the sum of shares and base and the prediction, in
standard deviations of the predictions; trees predict in float32. *Correlation*: of SHAP's shares with
gbmap's, over all rows and columns. Integrated gradients and Shapley values divide what columns do together by
different rules, so it need not be one."""


def section(rows: Sequence[Row]) -> str:
    """Time, gap and agreement of every method."""
    lines = [
        [
            title,
            number(_milliseconds(rows, method)),
            number(ratio(_milliseconds(rows, method), _milliseconds(rows, ATTRIBUTIONS))),
            _power(_gap(rows, method)),
            number(_extra(rows, method, "correlation"), 2),
        ]
        for method, title in TITLES.items()
    ]
    return "\n\n".join(
        [
            "## Explanations beside SHAP",
            f"![{headline(rows)}](figures/shapley.png)",
            INTRODUCTION,
            table(["method", "ms a row", "times as long", "gap", "correlation"], lines),
        ]
    )


def finding(rows: Sequence[Row]) -> str:
    """How long SHAP takes for the same model."""
    return f"{headline(rows)}."


def headline(rows: Sequence[Row]) -> str:
    """The same, of the picture."""
    longer = ratio(_milliseconds(rows, PERMUTATIONS), _milliseconds(rows, ATTRIBUTIONS))
    gaps = [_gap(rows, method) for method in (ATTRIBUTIONS, PERMUTATIONS)]
    exact = all(gap is not None and gap < EXACT for gap in gaps)
    sums = (
        "Shares add up to the prediction as exactly as SHAP's" if exact else "Shares add up to the prediction"
    )
    return f"{sums}; for the same model SHAP takes {number(longer, 2)} times as long"


def glance(rows: Sequence[Row]) -> Glance:
    """What the first page says: sums and times."""
    beside = ratio(_milliseconds(rows, TREES), _milliseconds(rows, ATTRIBUTIONS))
    return Glance(
        "Explanations",
        headline(rows),
        "shapley",
        "What each column adds to a prediction, for held-out rows of one table: the processor time of a "
        "row, and how far the sums are off. *Weak spots*: SHAP has a shortcut for trees, which takes "
        f"{number(beside, 2)} times as long as `attributions`; and the shares are integrated gradients, "
        "which divide interactions by another rule than Shapley values: the two correlate by "
        f"{number(_extra(rows, PERMUTATIONS, 'correlation'), 2)}.",
    )


def figures(rows: Sequence[Row]) -> dict[str, Any]:
    """Milliseconds a row, with the gap beside each bar."""
    import matplotlib.pyplot as plt

    known = {name: ms for name in reversed(TITLES) if (ms := _milliseconds(rows, name)) is not None}
    if not known:
        return {}
    figure, ax = plt.subplots(figsize=(9, 1.5 + 0.55 * len(known)), layout="constrained")
    colors = [LOOKS["gbmap"][0] if name == ATTRIBUTIONS else "0.65" for name in known]
    bars = ax.barh([TITLES[name].replace("`", "") for name in known], list(known.values()), color=colors)
    told = [f"{number(ms)} ms, gap {_power(_gap(rows, name))}" for name, ms in known.items()]
    ax.bar_label(bars, told, padding=4)
    ax.set(xscale="log", xlabel="milliseconds to explain a row")
    ax.set_xlim(min(known.values()) / 3, max(known.values()) * 30)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    titled(figure, headline(rows))
    return {"shapley": figure}


def _milliseconds(rows: Sequence[Row], method: str) -> float | None:
    seconds = median_of(rows, "seconds", method=method)
    return None if seconds is None else 1000 * seconds


def _gap(rows: Sequence[Row], method: str) -> float | None:
    found = [json.loads(row["extra"])["gap"] for row in rows if matches(row, method=method, status=OK)]
    return median(found) if found else None


def _extra(rows: Sequence[Row], method: str, field: str) -> float | None:
    found = [json.loads(row["extra"]) for row in rows if matches(row, method=method, status=OK)]
    values = [extra[field] for extra in found if field in extra]
    return mean(values) if values else None


def _power(value: float | None) -> str:
    """A number as the power of ten just above it, which is all that a rounding error means."""
    if value is None:
        return NOTHING
    if value == 0:
        return "0"
    return f"< 1e{math.floor(math.log10(value)) + 1}"
