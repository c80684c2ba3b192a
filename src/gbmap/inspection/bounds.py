"""How fast h = f - f_0 can change along a feature, anywhere, and whether it is monotone in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gbmap._drawing import IntervalDisplay
from gbmap._fitted.column_values import Pieces, bent_columns, column_weights, is_coded, states
from gbmap._fitted.model import FittedModel
from gbmap._fitted.results import frame, one_row, squeeze
from gbmap._rows.threads import single_threaded_blas
from gbmap._utils.shown import Result, Shown, largest_first
from gbmap._utils.typing import Array
from gbmap.inspection._counter_examples import counter_examples


@dataclass(frozen=True, repr=False)
class CoefficientBounds(Result):
    """The range of the slopes of h, over all points that there are.

    Shapes are those of one output; with K outputs there is a last axis of length K.

    Attributes
    ----------
    lower, upper : arrays of shape (p,)
        The change of h per unit of a feature, or per standard deviation if `standardized`, lies between
        them at every point; so does zero, the slope far out, where a feature bends. For a categorical
        column: the change of h when the column goes from any category to any other (or to missing, where
        the model has a mark of that) and nothing else changes; ``lower = -upper``, since it may go back.
        Zero for a column without use.
    feature_names : array of shape (p,)
    output_names : array of shape (K,) or None
        Classes, or numbers of targets; None for one output.
    standardized : bool
        As asked for.

    Examples
    --------
    >>> from gbmap import GBMAPRegressor
    >>> from gbmap.inspection import coefficient_bounds
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> bounds = coefficient_bounds(GBMAPRegressor(n_components=2, random_state=0).fit(X, y))
    >>> bounds.lower.shape, list(bounds.to_frame().columns)
    ((10,), ['lower', 'upper'])
    """

    lower: Array
    upper: Array
    feature_names: Array
    output_names: Array | None
    standardized: bool

    def _shown(self) -> Shown:
        lower, upper = (each.reshape(len(self.feature_names), -1) for each in (self.lower, self.upper))
        unit = "standard deviation" if self.standardized else "unit"
        table = largest_first(
            np.maximum(-lower, upper).max(axis=1), feature=self.feature_names, lower=lower, upper=upper
        )
        return Shown(f"the change per {unit} of each feature, at every point", table)

    def to_frame(self) -> Any:
        """Return the bounds as a pandas frame, a row per feature (and output).

        Returns
        -------
        frame : pandas.DataFrame
        """
        ends = {"lower": self.lower.ravel(), "upper": self.upper.ravel()}
        return frame(ends, "feature", self.feature_names, self.output_names)

    def plot(self, *, output: Any = None, n_features: int = 12, ax: Any = None) -> IntervalDisplay:
        """Draw the ranges of the slopes, those that reach farthest first.

        Parameters
        ----------
        output : default=None
            The output, if there are several.
        n_features : int, default=12
            The most intervals.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : IntervalDisplay
        """
        lower, upper = (one_row(end[None], 0, output, self.output_names) for end in (self.lower, self.upper))
        unit = "standard deviation" if self.standardized else "unit"
        label = f"change of the prediction per {unit} of a feature, anywhere"
        return IntervalDisplay.largest(lower, upper, self.feature_names, n_features, label).plot(ax=ax)


def coefficient_bounds(model: Any, *, standardized: bool = False) -> CoefficientBounds:
    """Return bounds of the slopes of h = f - f_0 that hold at every point, in closed form.

    The slope of a learner's softplus lies between 0 and 1, so that the slope of h in feature k lies between
    the sum of the negative b_j w_jk and the sum of the positive ones. With ``activation="identity"``
    both ends are the sum of them all. If a feature bends, w_jk is another one between each two knots, and
    zero beyond the outermost ones by far: the bounds are the least and the largest of all these.

    Parameters
    ----------
    model : GBMAPRegressor, GBMAPClassifier, or a pipeline or search that ends in one
        Fitted. Through a pipeline the bounds are those of the columns of X as given; `explain`
        lists the steps that it may have.
    standardized : bool, default=False
        Whether slopes count per standard deviation of a feature in training, instead of per unit.

    Returns
    -------
    bounds : CoefficientBounds

    See Also
    --------
    is_monotone : Whether h rises, or falls, in a feature everywhere.
    explain : The slopes at given rows, which lie between these bounds.

    Notes
    -----
    With an ``init`` model the bounds are those of what the GBMAP adds to it. Without one, they are
    those of the prediction.

    Examples
    --------
    >>> from gbmap import GBMAPRegressor
    >>> from gbmap.inspection import coefficient_bounds, explain
    >>> from sklearn.datasets import make_friedman1
    >>> X, y = make_friedman1(random_state=0)
    >>> model = GBMAPRegressor(n_components=3, random_state=0).fit(X, y)
    >>> bounds, slopes = coefficient_bounds(model), explain(model, X).coefficients
    >>> bool((bounds.lower <= slopes).all() and (slopes <= bounds.upper).all())
    True
    """
    fitted = FittedModel.of(model)
    lower, upper = _bounds(fitted)
    if standardized:
        lower, upper = (end * fitted.column_scale[:, None] for end in (lower, upper))
    return CoefficientBounds(
        squeeze(lower), squeeze(upper), fitted.feature_names, fitted.output_names, standardized
    )


def _bounds(fitted: FittedModel) -> tuple[Array, Array]:
    """Return the bounds of each of the user's columns, of shape (p, K)."""
    ensemble, columns = fitted.ensemble, fitted.columns
    parts = (ensemble.signs[:, None] * column_weights(fitted)).T
    lower, upper = (ensemble.sum_outputs(end) for end in _ends(parts, ensemble.activation))
    for column in bent_columns(columns):
        low, high = _bounds_of_pieces(fitted, column)
        lower[column], upper[column] = low.min(axis=0), high.max(axis=0)
    for column in np.flatnonzero(columns.is_used & ~columns.is_number).tolist():
        upper[column] = _largest_change(fitted, column)
        lower[column] = -upper[column]
    return lower, upper


def _bounds_of_pieces(fitted: FittedModel, column: int) -> tuple[Array, Array]:
    """Return the bounds on each piece of a numeric column, of shape (t + 1, K)."""
    ensemble, pieces = fitted.ensemble, Pieces.of(fitted.columns, column)
    parts = ensemble.signs * (pieces.slopes @ ensemble.weights[:, pieces.inputs].T)
    lower, upper = (ensemble.sum_outputs(end) for end in _ends(parts, ensemble.activation))
    return lower, upper


def _ends(parts: Array, activation: str) -> tuple[Array, Array]:
    """Return the least and the most of each b_j w_j g', where g' lies in [0, 1], or is 1."""
    return (parts, parts) if activation == "identity" else (np.minimum(parts, 0.0), np.maximum(parts, 0.0))


def _largest_change(fitted: FittedModel, column: int) -> Array:
    """Return the most that h can gain when a column goes from one category to another, of shape (K,).

    Learner j gains b_j d_j g' on the way, d_j the difference of its z.
    """
    ensemble = fitted.ensemble
    inputs, values = states(fitted.columns, column, is_coded=is_coded(fitted, column))
    z = ensemble.signs * (values @ ensemble.weights[:, inputs].T)
    gains = [ensemble.sum_outputs(_ends(z - start, ensemble.activation)[1]).max(axis=0) for start in z]
    return np.max(gains, axis=0)


@dataclass(frozen=True, repr=False)
class Monotonicity(Result):
    """Whether h is monotone in a feature: the answer, and what it rests on.

    It is true as a condition if h is proved to be monotone, and its text says the answer in a sentence.

    Attributes
    ----------
    feature : object
        The name of the column.
    output : object
        The output, None if there is one only.
    direction : 1, -1, 0 or None
        Whether h is proved to rise, to fall or to be constant along the feature everywhere; None if
        nothing is proved.
    lower, upper : float
        Bounds of the slope that hold everywhere.
    points : array of shape (r, p)
        Where nothing is proved: points with slopes of different signs, the positive one first. Two of
        them show that h is not monotone; with one or none the question is open. Columns are those of
        X, an array of objects if some hold categories.
    slopes : array of shape (r,)
        The slopes of h along the feature at these points.

    Examples
    --------
    >>> import numpy as np
    >>> from gbmap import GBMAPRegressor
    >>> from gbmap.inspection import is_monotone
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> model = GBMAPRegressor(n_components=4, random_state=0).fit(X, X[:, 0] ** 2 + X[:, 1])
    >>> answer = is_monotone(model, 0)
    >>> answer.direction, np.sign(answer.slopes)
    (None, array([ 1., -1.]))
    """

    feature: Any
    output: Any
    direction: int | None
    lower: float
    upper: float
    points: Array
    slopes: Array

    @property
    def is_proved(self) -> bool:
        """Whether h is proved to be monotone, everywhere."""
        return self.direction is not None

    def _shown(self) -> Shown:
        return Shown(str(self))

    def __bool__(self) -> bool:
        return self.is_proved

    def __str__(self) -> str:
        of_output = "" if self.output is None else f" of output {self.output}"
        bounds = f"its slope lies in [{self.lower:.3g}, {self.upper:.3g}] everywhere"
        if self.direction is not None:
            verb = {1: "rises with", -1: "falls with", 0: "does not depend on"}[self.direction]
            return f"h{of_output} {verb} {self.feature}: {bounds}."
        found = " and ".join(f"{slope:.3g} at points[{i}]" for i, slope in enumerate(self.slopes))
        if len(self.slopes) == 2:
            return f"h{of_output} is not monotone in {self.feature}: its slope is {found}."
        only = f"only one sign was found: {found}" if found else "no slope clear of zero was found"
        return f"It is open whether h{of_output} is monotone in {self.feature}: {bounds}, but {only}."


def is_monotone(model: Any, feature: Any, *, output: Any = None) -> Monotonicity:
    """Return whether h = f - f_0 rises, or falls, in a feature everywhere: a proof or counter-examples.

    If the bounds of the slope (see `coefficient_bounds`) have one sign, that is a proof. Else slopes of both
    signs are looked for: by local searches near the training data, each between two knots of the feature;
    far out along columns that do not bend, where each learner is on or off, along the ray that a
    mixed-integer program finds; then by local searches anywhere. What is found is checked by the gradient of
    the model.

    Parameters
    ----------
    model : GBMAPRegressor, GBMAPClassifier, or a pipeline or search that ends in one
        Fitted. Through a pipeline the slope is that along the column of X as given.
    feature : str or int
        The name or the position of a numeric column of X.
    output : default=None
        The class, or the number of the target, if there are several.

    Returns
    -------
    answer : Monotonicity

    See Also
    --------
    coefficient_bounds : The bounds for all features.

    Notes
    -----
    A model fitted with ``monotonic_cst`` is proved to be monotone in these features. Where a feature
    bends, h is flat far out, which goes with rising as with falling. The points that are tried have the
    first category in categorical columns, and no value missing.

    Examples
    --------
    >>> from gbmap import GBMAPRegressor
    >>> from gbmap.inspection import is_monotone
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = GBMAPRegressor(n_components=5, monotonic_cst={"bmi": 1}, random_state=0).fit(X, y)
    >>> bool(is_monotone(model, "bmi")), is_monotone(model, "bmi").direction
    (True, 1)
    """
    fitted = FittedModel.of(model)
    column, k = fitted.feature_index(feature), fitted.output_index(output)
    name = fitted.feature_names[column]
    kinds = set(fitted.columns.kind[fitted.columns.inputs_of(column)])
    if "category" in kinds or kinds == {"missing"}:
        raise ValueError(
            f"feature must be a numeric column, got {name!r}, which the model sees as categories; "
            "coefficient_bounds tells how much a change of category can matter."
        )
    lower, upper = (float(end[column, k]) for end in _bounds(fitted))
    direction = 0 if lower == upper == 0 else 1 if lower >= 0 else -1 if upper <= 0 else None
    points, slopes = np.empty((0, len(fitted.feature_names))), np.empty(0)
    if direction is None:
        with single_threaded_blas():  # its threads cost more than they bring to small matrices
            points, slopes = counter_examples(fitted, column, k)
    return Monotonicity(name, output, direction, lower, upper, points, slopes)
