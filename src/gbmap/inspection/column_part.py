"""What single columns add to a learner: the curves whose sum is w . x + c."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gbmap._drawing.effects import EffectDisplay
from gbmap._fitted.model import FittedModel, dense
from gbmap._fitted.results import frame
from gbmap._utils.sampling import sample_rows
from gbmap._utils.shown import Result, Shown, cell, largest_first, percents
from gbmap._utils.text import counted
from gbmap._utils.typing import Array
from gbmap.inspection._column_steps import ColumnSteps

_MOST_ROWS = 2_000  # below the curves, and for their means
_POINTS = 30  # of a curve, beside its knots


@dataclass(frozen=True, repr=False)
class ColumnPart(Result):
    """What one column adds to w . x + c of a learner, over its values.

    A learner is a + b softplus(w . x + c), and w . x + c is a sum of such curves, one for each column, and
    a constant. They are in the units of y (or log-odds): where the learner is active, the prediction moves by
    as much, up or down by its sign.

    Attributes
    ----------
    feature : object
        The name of the column.
    values : array of shape (g,)
        Numbers from the least to the most of the rows, with the knots between; or the names of categories,
        with "other" and "missing", if there are such.
    part : array of shape (g,)
        What the column adds at each value, less its mean over the rows.
    missing : float or None
        The same where the number is missing; None if the model has no mark of that.
    knots : array of shape (t,)
        The values at which the curve may bend.
    observed : array of shape (n',)
        The numbers that rows have; none for categories.
    share : array of shape (g,) or None
        The share of the rows that have each category; None for numbers.

    Examples
    --------
    >>> from gbmap import GBMAPRegressor
    >>> from gbmap.inspection import learner_cards
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> cards = learner_cards(GBMAPRegressor(n_components=2, random_state=0).fit(X, y), X, y)
    >>> parts = cards.parts("f1")
    >>> len(parts), parts[0].feature == cards.main_features[0].split(", ")[0]
    (3, True)
    """

    feature: Any
    values: Array
    part: Array
    missing: float | None
    knots: Array
    observed: Array
    share: Array | None

    def _shown(self) -> Shown:
        reach = f"from {cell(float(self.part.min()))} to {cell(float(self.part.max()))}"
        if self.share is not None:
            table = largest_first(self.share, value=self.values, part=self.part)
            shares = [percents(each) for each in np.sort(self.share)[::-1]]
            about = f"{self.feature}, {reach}, {counted(len(self.values), 'level')}"
            return Shown(about, table | {"share": shares})
        some = np.unique(np.linspace(0, len(self.values) - 1, 5).astype(int))
        return Shown(f"{self.feature}, {reach}", {"value": self.values[some], "part": self.part[some]})

    def to_frame(self) -> Any:
        """Return a pandas frame with a row per value: "value", "part", and for categories "share".

        Returns
        -------
        frame : pandas.DataFrame
        """
        return frame({"value": self.values, "part": self.part, "share": self.share}, None)

    def plot(self, ax: Any = None) -> EffectDisplay:
        """Draw the curve, or bars for categories, with the spread of the values below.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : EffectDisplay
        """
        return EffectDisplay(
            values=self.values,
            average=self.part,
            knots=self.knots,
            observed=self.observed,
            share=self.share,
            missing=self.missing,
            x_label=str(self.feature),
            y_label="adds to w . x + c",
        ).plot(ax)


@dataclass(frozen=True)
class LearnerParts:
    """What the columns add to each learner on some rows; the values of a column are found once."""

    fitted: FittedModel
    given: Any  # rows as the GBMAP is given them
    known: dict[int, tuple[ColumnSteps, Array]]

    @classmethod
    def of(cls, fitted: FittedModel, given: Any) -> LearnerParts:
        """Return those of a sample of rows."""
        return cls(fitted, given[sample_rows(given.shape[0], _MOST_ROWS, 0)], {})

    def of_learner(self, learner: int, columns: Sequence[int]) -> list[ColumnPart]:
        """Return what some columns add to a learner."""
        return [self._of_column(learner, column) for column in columns]

    def _of_column(self, learner: int, column: int) -> ColumnPart:
        if column not in self.known:
            inputs = dense(self.fitted.inputs.of(self.given))
            steps = ColumnSteps.of(self.fitted, column, self.given, inputs, _POINTS)
            self.known[column] = steps, inputs[:, steps.moving].mean(axis=0)
        steps, mean = self.known[column]
        part = (steps.states - mean) @ self.fitted.ensemble.weights[learner, steps.moving]
        n_values = len(steps.values)
        return ColumnPart(
            feature=self.fitted.feature_names[column],
            values=steps.values,
            part=part[:n_values],
            missing=float(part[n_values]) if len(part) > n_values else None,
            knots=steps.knots,
            observed=steps.observed,
            share=steps.share,
        )
