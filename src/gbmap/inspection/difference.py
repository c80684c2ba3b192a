"""Where two models differ: half-spaces that lead from one to the other (Section 5.1 of the paper)."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from gbmap._core.arrays import in_memory
from gbmap._drawing import BarDisplay
from gbmap._drawing.axes import cut
from gbmap._fitted.model import FittedModel
from gbmap._fitted.results import frame, of_one, one_row, output_column, squeeze
from gbmap._fitted.table_reader import is_table_model
from gbmap._fitted.words import Teller
from gbmap._utils.scikit_learn import safe_indexing
from gbmap._utils.shown import Result, Shown, cell, percents
from gbmap._utils.text import counted
from gbmap._utils.typing import Array, IntArray
from gbmap.estimators import GBMAPRegressor
from gbmap.estimators.base import coordinate_names
from gbmap.inspection._model_predictions import (
    output_names,
    predictions,
    refuse_arrays,
    shared_classes,
    subtract,
)
from gbmap.inspection.lift import Lift, lifted_predictions, measure_lift, r2

_HELD_OUT = 0.25  # the share of rows for the second measure of faithfulness
_FEWEST_ROWS = 40  # below, the rows held out would be too few to tell
_LABEL_LENGTH = 44
_LABEL_LINES = 6


@dataclass(frozen=True, repr=False)
class Agreement(Result):
    """How far two models differ on the rows where no learner is active.

    Nothing makes the difference vanish there: the learners outside their half-spaces add up to a
    constant. These numbers say how small it is. With K outputs they are arrays of shape (K,).

    Attributes
    ----------
    share : float
        The share of rows where no learner is active.
    mean, largest : float
        The mean and the largest absolute difference on them; NaN if there are none.
    ratio : float
        The mean over that of all rows: near 0 the models agree there, near 1 or above they differ
        there as they do elsewhere. NaN if there are no such rows, or no difference at all.

    Examples
    --------
    >>> import numpy as np
    >>> from gbmap.inspection import model_difference
    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> agreement = model_difference(np.zeros(200), np.maximum(X[:, 0], 0), X, n_components=1).agreement
    >>> agreement.share > 0.4, agreement.ratio < 0.2
    (True, True)
    """

    share: Any
    mean: Any
    largest: Any
    ratio: Any

    def _shown(self) -> Shown:
        differ = f"the models differ by {cell(self.mean)} on average, {cell(self.largest)} at most"
        return Shown(f"on the {percents(self.share)} of rows where no learner is active, {differ}")


@dataclass(frozen=True, repr=False)
class ModelDifference(Result):
    """The difference of two models, second less first, as a sum of learners with half-spaces.

    There are M = K m learners, stage by stage, for m components and K outputs. Shapes are those of
    one output; with K outputs those named "per output" have a last axis of length K.

    Models that are the same, or differ by a constant, are no error: no learner is needed, so each
    has sign 0, coverage 0 and the half-space "nowhere", no row is ever active, and ``agreement``
    tells the constant. The same holds for a difference that is constant up to rounding.

    Attributes
    ----------
    model : GBMAPRegressor, or a pipeline that ends in one
        Fitted to the difference: ``model.predict(X)`` is the modelled difference.
    names : array of str of shape (M,)
        What the learners are called: "f1", "f2", ..., with several outputs "f1_<output>", and so on.
    half_spaces : array of str of shape (M,)
        Where each learner is active, in words, as in `LearnerCards`.
    half_space_precision, half_space_coverage : arrays of shape (M,)
        The share of the rows that these words hold for on which the learner is active; and the share of the
        rows on which it is active that they hold for. NaN without a rule.
    signs : array of shape (M,)
        +1 if second rises over first into the half-space, by this learner, -1 if it falls; 0 for a
        learner that adds nothing.
    coverage : array of shape (M,)
        The share of rows inside.
    mean_difference : array of shape (M,)
        The mean of the difference inside, of all causes; NaN if there are no rows.
    explained : array of shape (M,)
        The share of the mean squared difference explained by the learners up to this one, of its
        output, on the rows given.
    faithfulness : float, per output
        R2 of the modelled difference on the rows given, 1 if the difference is constant.
    held_out_faithfulness : float, per output
        R2 on a random quarter of the rows for a second fit to the others; NaN below 40 rows.
    never_active : boolean array of shape (n,), per output
        The rows where no learner is active.
    agreement : Agreement
        How far the models differ on those rows.
    difference : array of shape (n,), per output
        Second less first; in log-odds for classifiers.
    first_predictions : array of shape (n,), per output
    coordinates : array of shape (n, M)
        The embedding of the rows.
    outputs : integer array of shape (M,)
        The output that each learner adds to.
    output_names : array of shape (K,) or None
        Classes, or numbers of targets; None for one output.
    classes : array or None
        The classes, if the models are classifiers.
    first, second
        As given.

    Examples
    --------
    >>> import numpy as np
    >>> from gbmap.inspection import model_difference
    >>> X = np.random.default_rng(0).uniform(-1, 1, (300, 2))
    >>> difference = model_difference(np.zeros(300), np.maximum(X[:, 0] - 0.5, 0), X, n_components=1)
    >>> list(difference.to_frame().columns)[:5]
    ['half_space', 'sign', 'coverage', 'mean_difference', 'explained']
    >>> difference.signs, difference.faithfulness > 0.95
    (array([1.]), True)
    """

    model: Any
    names: Array
    half_spaces: Array
    half_space_precision: Array
    half_space_coverage: Array
    signs: Array
    coverage: Array
    mean_difference: Array
    explained: Array
    faithfulness: Any
    held_out_faithfulness: Any
    never_active: Array
    agreement: Agreement
    difference: Array
    first_predictions: Array
    coordinates: Array
    outputs: IntArray
    output_names: Array | None
    classes: Array | None
    first: Any
    second: Any

    def _shown(self) -> Shown:
        about = (
            f"{counted(len(self.names), 'learner')} for {counted(len(self.difference), 'row')}, faithfulness "
            f"{cell(self.faithfulness)}, on held-out rows {cell(self.held_out_faithfulness)}"
        )
        table = {
            "learner": self.names,
            "coverage": self.coverage,
            "mean difference": self.mean_difference,
            "explained": self.explained,
            "half-space": self.half_spaces,
        }
        return Shown(about, table)

    def to_frame(self) -> Any:
        """Return a pandas frame with a row per half-space, in the order of learning.

        Returns
        -------
        frame : pandas.DataFrame
            With the columns "half_space", "sign", "coverage", "mean_difference", "explained",
            "half_space_precision", "half_space_coverage", and first "output" if there are several.
        """
        table = {
            "half_space": self.half_spaces,
            "sign": self.signs.astype(int),
            "coverage": self.coverage,
            "mean_difference": self.mean_difference,
            "explained": self.explained,
            "half_space_precision": self.half_space_precision,
            "half_space_coverage": self.half_space_coverage,
        }
        return frame(output_column(self.outputs, self.output_names) | table, "learner", self.names)

    def plot(self, *, output: Any = None, ax: Any = None) -> BarDisplay:
        """Draw the mean difference inside each half-space, in the order of learning.

        Half-spaces without rows are left out.

        Parameters
        ----------
        output : default=None
            The output, if there are several.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : BarDisplay
        """
        of_output = squeeze(self.outputs[:, None] == np.arange(1 + self.outputs.max()))
        chosen = one_row(of_output[None], 0, output, self.output_names)
        shown = np.flatnonzero(chosen & (self.coverage > 0))
        names = [_label(self.half_spaces[j], self.coverage[j]) for j in shown]
        values = self.mean_difference[shown]
        # Half-spaces are longer than names of columns, and lose their sense when cut.
        display = BarDisplay(values, names, "mean of second - first inside", lines=_LABEL_LINES).plot(ax=ax)
        if not names:
            display.ax_.set_title("no half-space holds any rows")
        return display

    def lift(self, X: Any, y: Any = None) -> Lift:
        """Return how far the coordinates lift the first model towards the second, on any rows.

        Least squares on the first model's prediction and the first k coordinates is fitted to the
        second model's prediction on the rows that the difference was learned from, for k = 0 to m,
        and judged on the rows given here.

        Parameters
        ----------
        X : array-like of shape (n', p)
            Rows that both models can predict. Without y they need no labels, so they may come from
            any region: the second model labels them.
        y : array-like of shape (n',) or (n', K), default=None
            What to compare with; None means the second model's predictions.

        Returns
        -------
        lift : Lift
            By R2; by accuracy for classifiers with y.
        """
        refuse_arrays(self.first, self.second)
        of_first = predictions(self.first, X, "first").astype(np.float64)
        of_second = predictions(self.second, X, "second").astype(np.float64)
        base = self.first_predictions.reshape(len(self.coordinates), -1)
        target = base + self.difference.reshape(base.shape)
        fitted = FittedModel.of(self.model)
        asked = fitted.map(fitted.ensemble.embed, fitted.read(X), len(self.signs))
        lifted = lifted_predictions((base, self.coordinates), target, (of_first, asked), self.outputs)
        return measure_lift(lifted, of_first, of_second, y, self.classes, self.output_names)


def model_difference(
    first: Any,
    second: Any,
    X: Any,
    *,
    n_components: int = 10,
    beta: float = 20.0,
    l2_regularization: float = 1e-3,
    n_init: int = 5,
    preprocessing: Any = None,
    random_state: Any = 0,
) -> ModelDifference:
    """Find the half-spaces where two models differ, by boosting from one to the other.

    A GBMAP is fitted to the difference of the predictions, second less first. Each learner adds a
    half-space into which the second model rises over the first, or falls below it, the one that
    matters most first.

    Parameters
    ----------
    first, second : fitted model, callable, or array-like of shape (n,) or (n, K)
        What to compare, of the same kind or not: a regressor enters by ``predict``; a classifier by
        its log-odds, clipped to probabilities in [1e-6, 1 - 1e-6], or without probabilities by its
        decision function; a callable maps X to predictions (or log-odds); an array holds them for
        the rows of X. More than two classes, or several targets, are several outputs.
    X : array-like or sparse matrix of shape (n, p)
        The rows to compare the models on, handed to them as given. No labels are needed, so X may
        hold any rows that both can predict, such as a grid over a region that neither was trained
        on. The answer is about the region that X covers.
    n_components : int, default=10
        The number of half-spaces (per output).
    beta : float, default=20.0
        The sharpness of softplus, in standard deviations of the difference. It is higher than that of
        the estimators, so that a learner adds little outside its half-space.
    l2_regularization : float, default=1e-3
        lambda of the ridge term, as a number is in `GBMAPRegressor`.
    n_init : int, default=5
        Random starts of each learner. Few learners are to say much, so they are searched well.
    preprocessing : transformer, default=None
        What X goes through before the GBMAP, which itself takes text, categories and missing values of a
        frame; cloned and fitted. Half-spaces are told in the columns of X; `explain` lists the steps
        that it may have.
    random_state : int, default=0
        Seeds the fit and the choice of rows to hold out.

    Returns
    -------
    difference : ModelDifference

    See Also
    --------
    explain : The local linear model of a fitted GBMAP, such as ``difference.model``.

    Notes
    -----
    ``faithfulness`` tells how much of the difference the half-spaces account for: where it is low,
    they are a part of the story only.

    Examples
    --------
    >>> from gbmap.inspection import model_difference
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from sklearn.linear_model import LinearRegression
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> simple = LinearRegression().fit(X, y)
    >>> forest = RandomForestRegressor(min_samples_leaf=10, random_state=0).fit(X, y)
    >>> difference = model_difference(simple, forest, X, n_components=5)
    >>> len(difference.half_spaces), difference.faithfulness > 0.5
    (5, True)
    """
    classes = shared_classes(first, second)
    of_first, of_second = predictions(first, X, "first"), predictions(second, X, "second")
    difference = subtract(of_first, of_second)
    # With f_0 = first and y = second the squared loss is (second - first - h)^2, and the units of the fit are
    # those of y - f_0: boosting from first to second is boosting to their difference. Given as such it needs
    # no init, and a small difference is fitted as well as a large one.
    settings: dict[str, Any] = {"beta": beta, "l2_regularization": l2_regularization, "n_init": n_init}
    # Not refined: each learner is to tell most of what those before it leave. Without knots, so that it is
    # active on a half-space, which words can tell.
    settings |= {"knots": 0, "refine": False, "categorical_features": _named_categories(first, second)}
    regressor = GBMAPRegressor(n_components, random_state=random_state, **settings)
    model = regressor if preprocessing is None else make_pipeline(clone(preprocessing), regressor)
    table = next((each for each in (first, second) if is_table_model(each)), None)
    X = X if table is None else FittedModel.of(table).as_asked(X)
    fitted = _traced(model.fit(X, squeeze(difference)))
    inputs, of_outputs = fitted.read(X), output_names(classes, difference.shape[1])
    held_out = _held_out_r2(fitted, X, difference, random_state)
    return ModelDifference(
        model=model,
        names=coordinate_names(fitted.ensemble.n_stages, of_outputs),
        **_of_learners(fitted, inputs, difference),
        held_out_faithfulness=of_one(np.where(np.ptp(difference, axis=0) == 0, 1.0, held_out)),
        difference=squeeze(difference),
        first_predictions=squeeze(of_first.astype(np.float64)),
        output_names=of_outputs,
        classes=classes,
        first=first,
        second=second,
    )


def _named_categories(first: Any, second: Any) -> Any:
    """Return which columns either model has been told to hold categories, which arrays do not tell."""
    named = (getattr(model, "categorical_features", None) for model in (first, second))
    return next((each for each in named if each is not None and not isinstance(each, str)), "from_dtype")


def _of_learners(fitted: FittedModel, inputs: Any, difference: Array) -> dict[str, Any]:
    """Return where each learner is active, and what the learners say of the difference, (n, K), there."""
    ensemble, teller = fitted.ensemble, Teller(fitted, inputs)
    z = fitted.map(ensemble.project, inputs, len(ensemble))
    active, phi = z > 0, ensemble.embed_projected(z)
    never = np.logical_not(active.reshape(len(active), -1, ensemble.n_outputs).any(axis=1))
    constant = np.ptp(difference, axis=0) == 0
    told = [teller.learner(j, active[:, j]) for j in range(len(ensemble))]
    return {
        "half_spaces": np.array([each.words for each in told], dtype=object),
        "half_space_precision": np.array([each.precision for each in told]),
        "half_space_coverage": np.array([each.coverage for each in told]),
        "signs": np.where(ensemble.weights.any(axis=1), ensemble.signs, 0.0),
        "coverage": active.mean(axis=0),
        "mean_difference": _mean_where(difference[:, ensemble.outputs], active),
        "explained": _explained(difference, phi),
        "faithfulness": of_one(np.where(constant, 1.0, r2(difference, ensemble.sum_outputs(phi)))),
        "never_active": squeeze(never),
        "agreement": _agreement(np.abs(difference), never),
        "coordinates": phi,
        "outputs": ensemble.outputs,
    }


def _label(words: str, coverage: float) -> str:
    """Return a half-space with its share of the rows, in lines."""
    share = f"({coverage:.0%} of rows)".replace(" ", "\N{NO-BREAK SPACE}")
    label = f"{cut(words, 200)} {share}"
    return textwrap.fill(label, _LABEL_LENGTH, break_long_words=False, break_on_hyphens=False)


def _traced(model: Any) -> FittedModel:
    fitted = FittedModel.of(model)
    try:
        _ = fitted.columns  # followed back before anything else is computed
    except ValueError as error:
        raise ValueError(
            "preprocessing must be of steps that lead back to the columns of X, as `explain` lists them, got "
            f"{model[0]!r}; or transform X beforehand, and give first and second as arrays of predictions."
        ) from error
    return fitted


def _held_out_r2(fitted: FittedModel, X: Any, difference: Array, random_state: Any) -> Array:
    """Return R2 on rows that a second fit has not seen. The preprocessing, which knows no labels, has."""
    n, n_outputs = difference.shape
    if n < _FEWEST_ROWS:
        return np.full(n_outputs, np.nan)
    X = in_memory(X)
    rows = X if fitted.preprocessing is None else fitted.preprocessing.transform(X)
    order = np.random.default_rng(random_state).permutation(n)
    held_out, kept = np.split(order, [int(_HELD_OUT * n)])
    refitted = clone(fitted.model).fit(safe_indexing(rows, kept), squeeze(difference[kept]))
    predicted = refitted.predict(safe_indexing(rows, held_out))
    return r2(difference[held_out], predicted.reshape(-1, n_outputs))


def _mean_where(values: Array, chosen: Array) -> Array:
    """Return the mean of each column over the rows chosen for it, NaN if there are none."""
    count = chosen.sum(axis=0)
    return np.where(count > 0, (values * chosen).sum(axis=0) / np.maximum(count, 1), np.nan)


def _explained(difference: Array, phi: Array) -> Array:
    """Return 1 - mean (d - f_1 - ... - f_j)^2 / mean d^2 of each learner j and its output, of shape (M,)."""
    n, n_outputs = difference.shape
    sums = phi.reshape(n, -1, n_outputs).cumsum(axis=1)
    left = ((difference[:, None] - sums) ** 2).mean(axis=0)
    total = (difference**2).mean(axis=0)
    return np.where(total > 0, 1 - left / np.where(total > 0, total, 1.0), 1.0).reshape(-1)


def _agreement(size: Array, never: Array) -> Agreement:
    """Measure absolute differences (n, K) on the rows where no learner is active."""
    none, mean, total = ~never.any(axis=0), _mean_where(size, never), size.mean(axis=0)
    return Agreement(
        share=of_one(never.mean(axis=0)),
        mean=of_one(mean),
        largest=of_one(np.where(none, np.nan, (size * never).max(axis=0))),
        ratio=of_one(np.where(total > 0, mean / np.where(total > 0, total, 1.0), np.nan)),
    )
