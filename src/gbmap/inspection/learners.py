"""The learners one by one: where each is active, what it looks at, what it adds and explains."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gbmap._drawing import BarDisplay, CurveDisplay
from gbmap._fitted.loss_curve import LossCurve
from gbmap._fitted.model import FittedModel, coordinate_index, dense
from gbmap._fitted.results import frame, output_column
from gbmap._fitted.words import Teller, Told
from gbmap._utils.shown import Result, Shown, percents
from gbmap._utils.text import counted
from gbmap._utils.typing import Array, IntArray
from gbmap.inspection.column_part import ColumnPart, LearnerParts

_NUMBERS_AT_A_TIME = 1 << 20


@dataclass(frozen=True, repr=False)
class LearnerCards(Result):
    """What is to be said of each learner, in the order of the columns of ``transform``.

    There are M = K m learners for K outputs and m stages; with several outputs, the K learners of the
    first stage, then those of the second, and so on.

    Attributes
    ----------
    names : array of str of shape (M,)
        What the learners are called, and the coordinates that they give: "f1", "f2", ..., as
        ``get_feature_names_out`` tells.
    signs : array of shape (M,)
        -1 for a learner that lowers the prediction where it is active, +1 for one that raises it.
    outputs : integer array of shape (M,)
        The position of the output that a learner adds to.
    active_share : array of shape (M,)
        The share of rows on which the learner is active, w . x + c > 0; all of them with the identity
        activation, where the same holds for `half_spaces`.
    weights : array of shape (M, p)
        The direction that a learner looks in: the change of w . x + c per standard deviation of a column in
        training, in the units of y (or log-odds); where the column bends, by its mean slope over the rows.
        For a categorical column, the difference between its highest and its lowest category.
    main_features : array of str of shape (M,)
        The names of the three columns whose parts of w . x + c spread the most over the rows, or fewer if
        the other weights are zero.
    half_spaces : array of str of shape (M,)
        Where a learner is active, in words: at most three conditions on single columns, such as "age > 30
        or city is Oslo", rounded, and measured as written. Where no such rule reaches a precision of 80 %,
        only the columns that matter most, such as "by age, city".
    half_space_precision, half_space_coverage : arrays of shape (M,)
        The share of the rows that these words hold for on which the learner is active; and the share of the
        rows on which it is active that they hold for. NaN without a rule.
    contribution_spread : array of shape (M,)
        The standard deviation over the rows of what a learner adds, in the units of y (or log-odds).
    loss_curve : array of shape (m + 1,) or None
        The mean loss on the rows after 0, 1, ..., m stages, averaged over outputs; the first is that of f_0.
        On the training rows, without weights, it is ``loss_curve_`` of the model. None without y.
    explained_loss : array of shape (m + 1,) or None
        The share of the loss that the first 0, 1, ..., m stages explain: 1 - loss / L, where L is the mean
        loss of f_0 plus the constant that is best on these rows. It starts at zero. For the squared error
        of one target, without ``init``, it is R2. On rows that the model has not seen it may fall. NaN if
        L is zero, None without y.
    feature_names : array of shape (p,)
    output_names : array of shape (K,) or None
        Classes, or numbers of targets; None for one output.

    Examples
    --------
    >>> from gbmap import GBMAPRegressor
    >>> from gbmap.inspection import learner_cards
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> cards = learner_cards(GBMAPRegressor(n_components=2, random_state=0).fit(X, y), X, y)
    >>> cards.weights.shape, cards.explained_loss.shape
    ((2, 10), (3,))
    >>> list(cards.to_frame().columns[:3])
    ['sign', 'active_share', 'contribution_spread']
    """

    names: Array
    signs: Array
    outputs: IntArray
    active_share: Array
    weights: Array
    main_features: Array
    half_spaces: Array
    half_space_precision: Array
    half_space_coverage: Array
    contribution_spread: Array
    loss_curve: Array | None
    explained_loss: Array | None
    feature_names: Array
    output_names: Array | None
    _known: _Known = field(repr=False)

    def _shown(self) -> Shown:
        about = counted(len(self.names), "learner")
        if self.explained_loss is not None:
            about += f", which explain {percents(self.explained_loss[-1])} of the loss"
        table = {
            "learner": self.names,
            "sign": ["+" if sign > 0 else "-" for sign in self.signs],
            "active": [percents(share) for share in self.active_share],
            "spread": self.contribution_spread,
            "precision": [percents(share) for share in self.half_space_precision],
            "active where": self.half_spaces,
        }
        return Shown(about, table)

    def to_frame(self) -> Any:
        """Return a pandas frame with a row per learner.

        With y there is a column "explained_loss", that up to and with the learner's stage.

        Returns
        -------
        frame : pandas.DataFrame
        """
        curve, n_outputs = self.explained_loss, 1 + int(self.outputs.max())
        table = {
            "sign": self.signs.astype(int),
            "active_share": self.active_share,
            "contribution_spread": self.contribution_spread,
            "main_features": self.main_features,
            "half_space": self.half_spaces,
            "half_space_precision": self.half_space_precision,
            "half_space_coverage": self.half_space_coverage,
            "explained_loss": None if curve is None else np.repeat(curve[1:], n_outputs),
        }
        return frame(output_column(self.outputs, self.output_names) | table, "learner", self.names)

    def plot(self, ax: Any = None) -> CurveDisplay:
        """Draw the share of the loss that is explained after each stage.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : CurveDisplay
        """
        if self.explained_loss is None:
            raise ValueError("the explained loss needs y; pass it to learner_cards.")
        stages = np.arange(len(self.explained_loss))
        label = "learners" if self.output_names is None else "learners per output"
        return CurveDisplay(
            stages, {"explained": self.explained_loss}, label, "share of loss explained"
        ).plot(ax=ax)

    def plot_card(self, learner: Any, *, n_features: int = 12, ax: Any = None) -> BarDisplay:
        """Draw the weights of one learner as bars, the largest first.

        Parameters
        ----------
        learner : str or int
            The name of the learner, such as "f1", or its position, from 0.
        n_features : int, default=12
            The most bars.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : BarDisplay
        """
        return BarDisplay.largest(
            self.weights[coordinate_index(learner, self.names, "learner")],
            self.feature_names,
            n_features,
            value_label="weight per standard deviation of a feature",
        ).plot(ax=ax)

    def parts(self, learner: Any, *, n_features: int = 3) -> list[ColumnPart]:
        """Return what the columns that matter most add to w . x + c of one learner, curve by curve.

        Parameters
        ----------
        learner : str or int
            The name of the learner, such as "f1", or its position, from 0.
        n_features : int, default=3
            The most columns.

        Returns
        -------
        parts : list of ColumnPart
            The column that matters most first.
        """
        known, position = self._known, coordinate_index(learner, self.names, "learner")
        return known.parts.of_learner(position, _largest(known.spreads[position], n_features))


def learner_cards(model: Any, X: Any, y: Any = None) -> LearnerCards:
    """Describe each learner: where it is active, what it looks at, what it adds and explains.

    Parameters
    ----------
    model : GBMAPRegressor, GBMAPClassifier, or a pipeline or search that ends in one
        Fitted. Through a pipeline the answer is in the columns of X as given; `explain` lists the
        steps that it may have.
    X : array-like or sparse matrix of shape (n, p)
        The rows to look at: those of the training, or new ones.
    y : array-like of shape (n,) or (n, n_targets), default=None
        Their targets or classes, for the loss that is explained.

    Returns
    -------
    cards : LearnerCards

    See Also
    --------
    regions : Where the same learners are active.

    Examples
    --------
    >>> import numpy as np
    >>> from gbmap import GBMAPRegressor
    >>> from gbmap.inspection import learner_cards
    >>> from sklearn.datasets import make_friedman1
    >>> X, y = make_friedman1(random_state=0)
    >>> model = GBMAPRegressor(n_components=3, random_state=0).fit(X, y)
    >>> cards = learner_cards(model, X, y)
    >>> bool(np.isclose(cards.explained_loss[-1], model.score(X, y)))
    True
    """
    fitted = FittedModel.of(model)
    given, ensemble = fitted.read_given(X), fitted.ensemble
    inputs = fitted.inputs.of(given)
    loss_curve = explained_loss = None
    if y is not None:
        curve = LossCurve.of(fitted, X, y)
        loss_curve, explained_loss = curve.stages.mean(axis=1), curve.explained()
    teller = Teller(fitted, inputs)
    told, active_share, spread = _activity(teller)
    names = fitted.feature_names
    return LearnerCards(
        names=fitted.coordinate_names,
        signs=ensemble.signs,
        outputs=ensemble.outputs,
        active_share=active_share,
        weights=_column_weights(fitted, inputs),
        main_features=np.array(
            [", ".join(str(names[k]) for k in _largest(row, 3)) or "none" for row in teller.spreads],
            dtype=object,
        ),
        half_spaces=np.array([each.words for each in told], dtype=object),
        half_space_precision=np.array([each.precision for each in told]),
        half_space_coverage=np.array([each.coverage for each in told]),
        contribution_spread=spread,
        loss_curve=loss_curve,
        explained_loss=explained_loss,
        feature_names=names,
        output_names=fitted.output_names,
        _known=_Known(LearnerParts.of(fitted, given), teller.spreads),
    )


@dataclass(frozen=True)
class _Known:
    """What the curves of learners are drawn from: rows, and the spreads of columns in learners, (M, p)."""

    parts: LearnerParts
    spreads: Array


def _activity(teller: Teller) -> tuple[list[Told], Array, Array]:
    """Return where learners are active, on which share of the rows, and the spread of what they add."""
    fitted, ensemble = teller.fitted, teller.fitted.ensemble
    told, found = [], []
    for j in range(len(ensemble)):
        learner = ensemble[j : j + 1]
        z = fitted.map(learner.project, teller.inputs, 1)
        is_active = (z[:, 0] > 0) | (ensemble.activation == "identity")
        told.append(teller.learner(j, is_active))
        found.append((is_active.mean(), learner.embed_projected(z).std()))
    share, spread = np.array(found).T
    return told, share, spread


def _column_weights(fitted: FittedModel, inputs: Any) -> Array:
    """Return weights per standard deviation of a number, or range over categories, of shape (M, p)."""
    weights, columns = fitted.ensemble.weights, fitted.columns
    is_number = np.isin(columns.kind, ("number", "bend"))
    out = columns.collect(weights * _mean_moves(fitted, inputs) * is_number) * fitted.column_scale
    for column in np.flatnonzero(columns.is_used & ~columns.is_number):
        own = columns.inputs_of(int(column))
        levels = weights[:, own] * columns.slope[own]
        if columns.has_rest[column] or (columns.kind[own] == "missing").any():
            levels = np.column_stack([levels, np.zeros(len(levels))])
        out[:, column] = levels.max(axis=1) - levels.min(axis=1)
    return out


def _mean_moves(fitted: FittedModel, inputs: Any) -> Array:
    """Return how far numbers move per unit of their columns, on average over rows, of shape (q,)."""
    columns = fitted.columns
    if not columns.has_limits.any():
        return columns.slope
    n, q = inputs.shape
    size = max(1, _NUMBERS_AT_A_TIME // q)
    sums = (fitted.moves(dense(inputs[i : i + size])).sum(axis=0) for i in range(0, n, size))
    return np.where(columns.has_limits, sum(sums) / n, columns.slope)


def _largest(spreads: Array, most: int) -> list[int]:
    """Return the columns of the largest spreads that are not zero."""
    order = np.argsort(-spreads, kind="stable")[:most]
    found: list[int] = order[spreads[order] > 0].tolist()
    return found
