"""The nearest row whose prediction lies past a value, with a proof of how near another one could be."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gbmap._drawing import BarDisplay
from gbmap._fitted.model import FittedModel
from gbmap._utils.optional import require
from gbmap._utils.shown import Result, Shown
from gbmap._utils.typing import Array
from gbmap.inspection._allowed_moves import Limits, Question, Row, Space, is_finite
from gbmap.inspection._move_problem import MoveProblem
from gbmap.inspection._smallest_move import Answer, Search

_SHRINKING_STEPS, _SHRINKING_SHARES = 6, 33


@dataclass(frozen=True, repr=False)
class Counterfactual(Result):
    """The smallest change found of a row that takes h = f - f_0 past a value.

    Attributes
    ----------
    found : bool
        Whether there is such a change; if not, `point`, `row`, `changes` and
        `standardized_changes` are None and the cost is infinite.
    proved : bool
        Whether that is certain: no change that is smaller by more than `tol` does it, or, if none
        was found, there is none within the bounds.
    start, point : arrays of shape (p,)
        The row as it is and as it would have to be, in the user's columns.
    row : array of shape (1, p) or frame of one row
        `point` in the form of x, for ``predict``.
    changes : array of shape (p,)
        In the units of the features; one for a changed category.
    standardized_changes : array of shape (p,)
        In standard deviations of the training rows; one for a changed category.
    cost : float
        The sum of the sizes of `standardized_changes`.
    lower_bound : float
        No change that costs less takes h past the value, to the tolerance of the solver.
    prediction_before, prediction_after : float
        h of the row and of the point; the latter is NaN if none was found.
    message : str
        The result as a sentence.
    feature_names : array of shape (p,)

    Examples
    --------
    >>> from gbmap import GBMAPClassifier
    >>> from gbmap.inspection import nearest_counterfactual
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = GBMAPClassifier(n_components=3, random_state=0).fit(X, y)
    >>> result = nearest_counterfactual(model, X.head(1), bounds=X)
    >>> list(result.to_frame().columns)
    ['feature', 'from', 'to', 'change', 'standard deviations']
    """

    found: bool
    proved: bool
    start: Array
    point: Array | None
    row: Any
    changes: Array | None
    standardized_changes: Array | None
    cost: float
    lower_bound: float
    prediction_before: float
    prediction_after: float
    message: str
    feature_names: Array

    def _shown(self) -> Shown:
        if not self.found:
            return Shown(self.message)
        sizes, order = self._largest()
        columns = {"feature": self.feature_names, "from": self.start, "to": np.asarray(self.point)}
        table = {name: column[order] for name, column in columns.items()}
        return Shown(self.message, table | {"standard deviations": sizes[order]})

    def to_frame(self) -> Any:
        """Return the features that change as a pandas frame, the largest change first.

        Returns
        -------
        frame : pandas.DataFrame
            With columns "feature", "from", "to", "change" and "standard deviations".
        """
        pd = require("pandas", "data")
        sizes, order = self._largest()
        return pd.DataFrame(
            {
                "feature": self.feature_names[order],
                "from": self.start[order],
                "to": np.asarray(self.point)[order],
                "change": np.asarray(self.changes)[order],
                "standard deviations": sizes[order],
            }
        ).infer_objects()

    def plot(self, *, n_features: int = 12, ax: Any = None) -> BarDisplay:
        """Draw the changes in standard deviations as bars, the largest first.

        Parameters
        ----------
        n_features : int, default=12
            The most bars.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : BarDisplay
        """
        sizes, order = self._largest()
        names = self.feature_names[order]
        label = "change in standard deviations"
        return BarDisplay.largest(sizes[order], names, n_features, value_label=label).plot(ax=ax)

    def _largest(self) -> tuple[Array, Array]:
        if self.standardized_changes is None:
            raise ValueError(f"there is no change to show: {self.message}")
        order = np.argsort(-np.abs(self.standardized_changes), kind="stable")
        return self.standardized_changes, order[: np.count_nonzero(self.standardized_changes)]


def nearest_counterfactual(
    model: Any,
    x: Any,
    value: float | None = None,
    *,
    direction: str | None = None,
    output: Any = None,
    bounds: Any = None,
    immutable: Iterable[Any] = (),
    integer: Iterable[Any] = (),
    margin: float = 0.0,
    tol: float = 0.01,
    time_limit: float = 10.0,
) -> Counterfactual:
    """Find the smallest change of a row that takes h = f - f_0 past a value, and prove that it is.

    The size of a change is the sum over features of its size in standard deviations of the training rows,
    which leads to changes of few features. Another category counts as one standard deviation; it is one of
    those of the fit. What is missing stays missing, and what is true or false becomes nothing else.

    Parameters
    ----------
    model : GBMAPRegressor, GBMAPClassifier, or a pipeline or search that ends in one
        Fitted. `explain` lists the steps that a pipeline may have.
    x : array-like of shape (p,) or (1, p), Series, or frame of one row
        The row.
    value : float, default=None
        What h is to pass: a prediction, or a score of classes (the log-odds, under the logistic loss). None
        is 0 for classes: with two of them, that is where the predicted one changes; with more, where the
        odds of `output` against the rest are even. It must be given in any other case.
    direction : {"above", "below"} or None, default=None
        The side of the value to get to; None is the one on which the row is not.
    output : default=None
        One of more than two classes, or the number of one of several targets.
    bounds : dict of feature to (low, high), or rows, default=None
        Where numeric features may go, in their units; None is an open end. Features that are not named are
        free. Rows, such as those of training, stand for the range of each column in them. A row outside
        its bounds has to move inside.
    immutable : sequence of features, default=()
        Names or positions of features that stay as they are.
    integer : sequence of features, default=()
        Names or positions of features that are to be whole numbers in the result.
    margin : float, default=0.0
        How far past the value h is to be. The result without a margin lies as near to the value as rounding
        allows, and may fall back when its numbers are rounded.
    tol : float, default=0.01
        Stop once it is proved that no change is smaller by more than this share.
    time_limit : float, default=10.0
        Seconds of search, after which the smallest change found so far is returned. Models of many
        learners may take all of it to prove that a change is the smallest.

    Returns
    -------
    counterfactual : Counterfactual
        With ``found=False`` and a message if there is no such row, or none was found.

    See Also
    --------
    explain : The local linear model of a row.

    Notes
    -----
    Learners are replaced by straight pieces on their far side in one program, a mixed-integer linear one,
    whose optimum no change can be smaller than, and by pieces on their near side in another one, whose
    solutions pass in the model itself. Pieces are made finer where the two differ. If some feature is free,
    changes of a size up to 1000 are searched.

    Where features bend, by the model's ``knots``, both programs go through the stretches between bends in
    order, exactly: what is proved is as certain as without bends, but takes longer, and `proved` is False if
    the time was too short. Such a feature ends to count far beyond the training rows and is not moved
    farther; if all do, all changes are searched without bounds too.

    With an ``init`` model the value is one of what the GBMAP adds to it. Without one, of the prediction.

    Examples
    --------
    >>> from gbmap import GBMAPClassifier
    >>> from gbmap.inspection import nearest_counterfactual
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = GBMAPClassifier(n_components=3, random_state=0).fit(X, y)
    >>> result = nearest_counterfactual(model, X[0], bounds=X)
    >>> model.predict(X[:1]), model.predict(result.row), result.proved
    (array([0]), array([1]), True)
    """
    for name, number in {"margin": margin, "tol": tol, "time_limit": time_limit}.items():
        if not is_finite(number) or number < 0:
            raise ValueError(f"{name} must be a finite number of at least 0, got {number!r}.")
    fitted = FittedModel.of(model)
    question = Question.of(fitted, Row.of(x, fitted), value, direction, output, margin)
    space = Space.of(question, Limits.of(question, bounds, immutable, integer))
    problem = space.problem()
    if problem.starts_inside and question.passes(question.row.table)[0]:
        return _changed(space, Answer(np.zeros(len(space.feature)), 0.0, settled=True))
    answer = Search(problem, tol, time.monotonic() + time_limit).run()
    move = None if answer.move is None else _shrink(space, problem, answer.move)
    if move is None:
        return _unchanged(question, answer, problem.is_bounded, time_limit)
    return _changed(space, replace(answer, move=move))


def _shrink(space: Space, problem: MoveProblem, move: Array) -> Array | None:
    """Return the first point that passes on the way to a move, or None if even the move does not.

    Categories, whole numbers and features at their bounds are where they lead to from the start. This is
    decided in the user's columns, by the model and its preprocessing, as a prediction is.
    """
    stays = (problem.step > 0) | (move == problem.low) | (move == problem.high)
    origin = np.where(stays, move, problem.base)
    low, high = 0.0, 1.0
    for _ in range(_SHRINKING_STEPS):
        shares = np.linspace(low, high, _SHRINKING_SHARES)
        on_the_way = origin + shares[:, None] * (move - origin)
        passing = np.flatnonzero(space.question.passes(space.table(on_the_way)))
        if not len(passing):
            return None
        low, high = shares[max(passing[0] - 1, 0)], shares[passing[0]]
    return np.asarray(origin + high * (move - origin))


def _changed(space: Space, answer: Answer) -> Counterfactual:
    question, move = space.question, np.asarray(answer.move)
    row = space.table(move[None])
    after = float(question.score(row)[0])
    point, changes = space.point(move)
    standardized = changes / space.scale
    cost = float(np.abs(standardized).sum())
    n = np.count_nonzero(standardized)
    if n == 0:
        message = f"The prediction is {after:.6g}, {question.goal} as it is: nothing needs to change."
    else:
        message = (
            f"A change of size {cost:.4g} in {n} feature{'s' if n > 1 else ''} takes the prediction from "
            f"{question.before:.6g} to {after:.6g}, {question.goal}; no change of a size below "
            f"{min(answer.lower, cost):.4g} does{'' if answer.settled else ', as far as was proved'}."
        )
    return Counterfactual(
        found=True,
        proved=answer.settled,
        start=_as_numbers(question.row.values),
        point=_as_numbers(point),
        row=row,
        changes=changes,
        standardized_changes=standardized,
        cost=cost,
        lower_bound=min(answer.lower, cost),
        prediction_before=question.before,
        prediction_after=after,
        message=message,
        feature_names=question.fitted.feature_names,
    )


def _unchanged(question: Question, answer: Answer, is_bounded: bool, time_limit: float) -> Counterfactual:
    settled = answer.settled and answer.move is None
    if settled and is_bounded:
        message = f"No row within the bounds has a prediction {question.goal}."
    elif settled:
        message = (
            f"No change of a size up to {answer.lower:g} takes the prediction {question.goal}; larger ones "
            "were not searched, and bounds for every feature would settle it."
        )
    else:
        message = (
            f"No row with a prediction {question.goal} was found (time_limit={time_limit:g} seconds); "
            f"no change of a size below {answer.lower:.4g} leads to one, as far as was proved."
        )
    return Counterfactual(
        found=False,
        proved=settled and is_bounded,
        start=_as_numbers(question.row.values),
        point=None,
        row=None,
        changes=None,
        standardized_changes=None,
        cost=np.inf,
        lower_bound=np.inf if settled and is_bounded else answer.lower,
        prediction_before=question.before,
        prediction_after=np.nan,
        message=message,
        feature_names=question.fitted.feature_names,
    )


def _as_numbers(values: Array) -> Array:
    """Return values as float64 if all of them are numbers, else as they are."""
    numeric = all(isinstance(value, (int, float, np.number)) for value in values)
    return values.astype(np.float64) if numeric else values
