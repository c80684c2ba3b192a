"""Regions: rows for which the same learners are active, so that h = f - f_0 is nearly linear on each."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np

from gbmap._core.arrays import in_memory
from gbmap._core.ensemble import Ensemble
from gbmap._drawing import BarDisplay
from gbmap._fitted.model import FittedModel
from gbmap._fitted.patterns import active_names, patterns_of, rows_of_learner, unpack
from gbmap._fitted.results import frame
from gbmap._fitted.words import Teller
from gbmap._utils.shown import Result, Shown, percents
from gbmap._utils.text import counted
from gbmap._utils.typing import Array, IntArray
from gbmap.inspection.explanation import local_coefficients

_WORK_NUMBERS = 1 << 20  # local coefficients held at a time: 8 MB
_MOSTLY = 0.8  # of the rows, which the regions hold where their learners are chosen
_DRAWABLE = ("mean_prediction", "mean_target", "mean_loss", "bias", "share")


@dataclass(frozen=True, repr=False)
class Regions(Result):
    """The regions of one output that hold the most rows, the most populated first.

    A region is a pattern of active learners; learner j is active where w_j . x + c_j > 0. With the identity
    activation all learners are active everywhere, and there is one region.

    Attributes
    ----------
    patterns : boolean array of shape (R, m)
        Which of the m learners that tell the regions apart are active: all of the output, or those chosen.
    learner_names : array of str of shape (m,)
        What those learners are called: "f1", "f2", ..., as ``get_feature_names_out`` tells.
    n_rows, share : arrays of shape (R,)
        How many of the rows lie in a region, and their share.
    mean_prediction : array of shape (R,)
        The mean of f, with ``init`` included; for classes, of the score (log-odds).
    mean_target : array of shape (R,) or None
        The mean of y; for classes, the share of the rows that are of the second class, or of the class
        chosen. None without y, as are the next two.
    mean_loss : array of shape (R,) or None
        The mean of the model's own loss, of this output.
    bias : array of shape (R,) or None
        The mean of y - f: positive where the model predicts too little. For classes, `mean_target` less the
        mean probability of the class, or, if the loss gives no probabilities, less the share of rows that
        are predicted as it.
    coefficients : array of shape (R, p)
        The mean local linear model of the rows, that of `explain`, in the columns of X.
    descriptions : array of str of shape (R,)
        The region in words: at most three conditions on single columns that tell its rows from the others
        best, such as "age > 30 and city is Oslo". Where no such rule reaches a precision of 80 %, only the
        columns that tell the most, such as "by age, city".
    precision, coverage : arrays of shape (R,)
        The share of the rows satisfying the description, as written, that lie in the region; and the share
        of the region's rows that satisfy it. NaN without a rule.
    typical : array of str of shape (R,)
        What the region's rows hold in the columns that the description names, such as "age 31 to 58, city
        Oslo or Turku (85 %)": where the middle 80 % of them lie, or the categories, up to three, that so many
        have.
    features : list of tuple of int
        The positions of the columns that the descriptions name.
    half_spaces : array of str of shape (m,)
        Where each learner is active, in words, as in `LearnerCards`.
    labels : integer array of shape (n,)
        The position of each row's region; -1 for rows of the patterns left out.
    n_patterns : int
        The number of different patterns among the rows.
    feature_names : array of shape (p,)

    Examples
    --------
    >>> from gbmap import GBMAPRegressor
    >>> from gbmap.inspection import regions
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> table = regions(GBMAPRegressor(n_components=2, random_state=0).fit(X, y), X, y)
    >>> table.patterns.shape[1], int(table.n_rows.sum()), table.coefficients.shape[1]
    (2, 442, 10)
    """

    patterns: Array
    learner_names: Array
    n_rows: Array
    share: Array
    mean_prediction: Array
    mean_target: Array | None
    mean_loss: Array | None
    bias: Array | None
    coefficients: Array
    descriptions: Array
    precision: Array
    coverage: Array
    typical: Array
    features: list[tuple[int, ...]]
    half_spaces: Array
    labels: Array
    n_patterns: int
    feature_names: Array
    _known: _Known = field(repr=False)

    def _shown(self) -> Shown:
        known = f"{counted(len(self.n_rows), 'region')} of {counted(self.n_patterns, 'pattern')}"
        about = f"{known}, with {percents(self.share.sum())} of {counted(len(self.labels), 'row')}"
        table = {
            "region": np.arange(len(self.share)),
            "share": [percents(share) for share in self.share],
            "mean prediction": self.mean_prediction,
            "mean target": self.mean_target,
            "precision": [percents(share) for share in self.precision],
            "description": self.descriptions,
        }
        return Shown(about, {name: column for name, column in table.items() if column is not None})

    def assign(self, X: Any) -> Array:
        """Return the region of each of some new rows.

        All patterns of the rows that the regions were made of are kept for this, in bits.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, p)

        Returns
        -------
        labels : integer array of shape (n,)
            The position of the region; -1 for a pattern that was left out, -2 for one that was never seen.
        """
        known = self._known
        bits = patterns_of(known.fitted, known.learners, known.fitted.read(X))
        position = np.minimum(np.searchsorted(known.patterns, bits), len(known.patterns) - 1)
        return np.where(known.patterns[position] == bits, known.labels[position], -2)

    def to_frame(self) -> Any:
        """Return a pandas frame with a row per region; columns that need y only if it was given.

        Returns
        -------
        frame : pandas.DataFrame
        """
        table = {
            "active_learners": active_names(self.patterns, self.learner_names),
            "n_rows": self.n_rows,
            "share": self.share,
            "mean_prediction": self.mean_prediction,
            "mean_target": self.mean_target,
            "mean_loss": self.mean_loss,
            "bias": self.bias,
            "description": self.descriptions,
            "precision": self.precision,
            "coverage": self.coverage,
            "typical": self.typical,
        }
        return frame(table, "region")

    def plot(self, value: str = "mean_prediction", *, ax: Any = None) -> BarDisplay:
        """Draw a value of each region as bars, the most populated region on top.

        Parameters
        ----------
        value : {"mean_prediction", "mean_target", "mean_loss", "bias", "share"}, default="mean_prediction"
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : BarDisplay
        """
        if value not in _DRAWABLE:
            raise ValueError(f"value must be one of {list(_DRAWABLE)}, got {value!r}.")
        if getattr(self, value) is None:
            raise ValueError(f"value={value!r} needs y; pass it to regions.")
        names = [f"{r}: {words}" for r, words in enumerate(self.descriptions)]
        return BarDisplay(getattr(self, value), names, value.replace("_", " ")).plot(ax=ax)


def regions(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    output: Any = None,
    max_regions: int = 20,
    n_learners: Any = None,
) -> Regions:
    """Group rows by the learners that are active, and describe the groups.

    Parameters
    ----------
    model : GBMAPRegressor, GBMAPClassifier, or a pipeline or search that ends in one
        Fitted. Through a pipeline the answer is in the columns of X as given; `explain` lists the
        steps that it may have.
    X : array-like or sparse matrix of shape (n, p)
        The rows.
    y : array-like of shape (n,) or (n, n_targets), default=None
        Their targets or classes, for the loss and the bias.
    output : default=None
        The class, or the number of the target, if the model has several outputs.
    max_regions : int, default=20
        The most regions to describe. m learners can make many patterns; the rows of those left out are
        marked in ``labels``.
    n_learners : int or "auto", default=None
        By how many learners rows are told apart: those that add the most different amounts to them. None is
        all, whose regions are linear pieces of the model, and with many learners nearly as many as rows;
        "auto" as many as leave 80 % of the rows in the regions described.

    Returns
    -------
    regions : Regions

    See Also
    --------
    learner_cards : The learners one by one.

    Examples
    --------
    >>> from gbmap import GBMAPRegressor
    >>> from gbmap.inspection import regions
    >>> import numpy as np
    >>> X = np.linspace(-1, 1, 201)[:, None]
    >>> model = GBMAPRegressor(n_components=2, beta=50, l2_regularization=1e-3, random_state=0)
    >>> table = regions(model.fit(X, abs(X[:, 0])), X)
    >>> table.coefficients[table.assign([[-0.9], [0.9]])].round(1).ravel().tolist()
    [-1.0, 1.0]
    """
    fitted = FittedModel.of(model)
    k = fitted.output_index(output)
    if not isinstance(max_regions, Integral) or max_regions < 1:
        raise ValueError(f"max_regions must be an integer of at least 1, got {max_regions!r}.")
    X = in_memory(X)
    inputs = fitted.read(X)
    targets = None if y is None else fitted.predictor.read_targets(y, inputs.shape[0])
    chosen = _telling(fitted, k, inputs, n_learners, int(max_regions))
    learners, teller = fitted.ensemble[chosen], Teller(fitted, inputs)
    bits = patterns_of(fitted, learners, inputs)
    seen, of_row, counts = np.unique(bits, return_inverse=True, return_counts=True)
    largest = np.argsort(-counts, kind="stable")[:max_regions]
    known = _Known(fitted, learners, seen, _ranks(largest, len(seen)))
    patterns, labels, n_rows = unpack(seen[largest], len(learners)), known.labels[of_row], counts[largest]
    told = [teller.tell(labels == label) for label in range(len(patterns))]
    return Regions(
        patterns=patterns,
        learner_names=fitted.coordinate_names[chosen],
        n_rows=n_rows,
        share=n_rows / len(labels),
        **_means(fitted, fitted.full_score(X), targets, k, labels, n_rows),
        coefficients=_mean_coefficients(fitted, inputs, labels, n_rows)[..., k],
        descriptions=np.array([each.words for each in told], dtype=object),
        precision=np.array([each.precision for each in told]),
        coverage=np.array([each.coverage for each in told]),
        typical=np.array(
            [teller.typical(labels == r, each.features) for r, each in enumerate(told)], dtype=object
        ),
        features=[each.features for each in told],
        half_spaces=np.array(
            [teller.learner(int(j), rows_of_learner(bits, at)).words for at, j in enumerate(chosen)],
            dtype=object,
        ),
        labels=labels,
        n_patterns=len(seen),
        feature_names=fitted.feature_names,
        _known=known,
    )


@dataclass(frozen=True)
class _Known:
    """The patterns seen, as strings of bits in their order, and the label of each: what `assign` needs."""

    fitted: FittedModel
    learners: Ensemble
    patterns: Array
    labels: Array


def _telling(fitted: FittedModel, k: int, inputs: Any, n_learners: Any, max_regions: int) -> IntArray:
    """Return the positions of the learners of one output that tell its regions apart."""
    ensemble = fitted.ensemble
    own = np.arange(k, len(ensemble), ensemble.n_outputs)
    if n_learners is None:
        return own
    if n_learners != "auto" and (not isinstance(n_learners, Integral) or n_learners < 1):
        raise ValueError(
            f'n_learners must be an integer of at least 1, "auto", or None for all, got {n_learners!r}.'
        )
    learners = ensemble[own]
    z = fitted.map(learners.project, inputs, len(own))
    is_active = (z > 0) | (ensemble.activation == "identity")
    order = np.argsort(-learners.embed_projected(z).std(axis=0), kind="stable")
    if n_learners != "auto":
        return np.sort(own[order[:n_learners]])
    of_row, chosen = np.zeros(len(z), dtype=np.intp), 0
    for j in order:  # each parts the regions of those before it
        of_row, counts = np.unique(2 * of_row + is_active[:, j], return_inverse=True, return_counts=True)[1:]
        if np.sort(counts)[-max_regions:].sum() < _MOSTLY * len(z):
            break
        chosen += 1
    return np.sort(own[order[: max(chosen, 1)]])


def _ranks(largest: Array, n_patterns: int) -> Array:
    """Return the position of each pattern among the largest, -1 if it is not there."""
    ranks = np.full(n_patterns, -1)
    ranks[largest] = np.arange(len(largest))
    return ranks


def _means(
    fitted: FittedModel, score: Array, targets: Array | None, k: int, labels: Array, n_rows: Array
) -> dict[str, Array | None]:
    """Return the means over the rows of each region of what concerns one output."""
    kept = labels >= 0

    def mean(values: Array) -> Array:
        return np.bincount(labels[kept], values[kept], len(n_rows)) / n_rows

    if targets is None:
        return {"mean_prediction": mean(score[:, k]), "mean_target": None, "mean_loss": None, "bias": None}
    observed, expected = _observed_and_expected(fitted, targets, score, k)
    return {
        "mean_prediction": mean(score[:, k]),
        "mean_target": mean(observed),
        "mean_loss": mean(fitted.predictor.row_losses(targets, score)[:, k]),
        "bias": mean(observed - expected),
    }


def _observed_and_expected(fitted: FittedModel, targets: Array, score: Array, k: int) -> tuple[Array, Array]:
    """Return y and f of one output, or whether a row is of its class and how likely the model takes that."""
    model, predictor = fitted.model, fitted.predictor
    if not hasattr(model, "classes_"):
        return targets[:, k], score[:, k]
    label = k + (len(model.classes_) == 2)
    observed = (targets[:, k] > 0).astype(np.float64)
    if not predictor.gives_probabilities:
        return observed, (predictor.labels.decided(score) == model.classes_[label]).astype(np.float64)
    return observed, predictor.probabilities(score)[:, label]


def _mean_coefficients(fitted: FittedModel, inputs: Any, labels: Array, n_rows: Array) -> Array:
    """Return the mean of `explain` over the rows of each region, of shape (R, p, K)."""
    size = max(1, _WORK_NUMBERS // (len(fitted.columns.source) * fitted.ensemble.n_outputs))
    means = []
    for label, count in enumerate(n_rows):
        rows = np.flatnonzero(labels == label)
        sums = [
            local_coefficients(fitted, inputs[rows[start : start + size]]).sum(axis=0)
            for start in range(0, count, size)
        ]
        means.append(np.sum(sums, axis=0) / count)
    return np.array(means)
