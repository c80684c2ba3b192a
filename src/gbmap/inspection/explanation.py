"""The local linear model of each row, exact: the gradient of h = f - f_0 (Section 5.2 of the paper)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gbmap._core.activation import sigmoid
from gbmap._drawing import BarDisplay
from gbmap._fitted.model import FittedModel, dense
from gbmap._fitted.results import one_row, rows_frame, squeeze
from gbmap._utils.shown import Result, Shown, by_feature, extent
from gbmap._utils.typing import Array


@dataclass(frozen=True, repr=False)
class Explanation(Result):
    """Local linear models, one a row: h(x) = intercept + sum_k coefficient_k * input_k.

    Shapes are those of one output; with K outputs there is a last axis of length K.

    Attributes
    ----------
    coefficients : array of shape (n, p)
        The change of h per unit of a feature, or per standard deviation if `standardized`. For a
        categorical column: what the row's category adds, on the local linear model, over the
        average of the training rows.
    intercepts : array of shape (n,)
        What the local linear model gives where all inputs are zero.
    contributions : array of shape (n, p)
        What each column adds over its training mean: coefficient times (input - mean), and the
        share of its marks of missing values. They add up to h less the local linear model's value
        at the training means.
    inputs : array of shape (n, p)
        What the coefficients multiply: the value of a feature, filled in where it was missing, in
        standard deviations from the mean if `standardized`; one for a category, zero for a column that
        the pipeline drops.
    feature_names : array of shape (p,)
    output_names : array of shape (K,) or None
        Classes, or numbers of targets; None for one output.
    standardized, probability : bool
        As asked for.

    Examples
    --------
    >>> from gbmap import GBMAPRegressor
    >>> from gbmap.inspection import explain
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> explanation = explain(GBMAPRegressor(n_components=2, random_state=0).fit(X, y), X)
    >>> explanation.coefficients.shape, list(explanation.to_frame().columns[:3])
    ((442, 10), ['age', 'sex', 'bmi'])
    """

    coefficients: Array
    intercepts: Array
    contributions: Array
    inputs: Array
    feature_names: Array
    output_names: Array | None
    standardized: bool
    probability: bool

    def _shown(self) -> Shown:
        unit = "standard deviation" if self.standardized else "unit"
        of = " of the probability" if self.probability else ""
        about = f"{extent(self.coefficients, self.output_names)}, the change{of} per {unit} of a feature"
        return Shown(about, by_feature(self.coefficients, self.feature_names, "coefficient"))

    def to_frame(self) -> Any:
        """Return the coefficients as a pandas frame, a row per row (and output), with a column "intercept".

        Returns
        -------
        frame : pandas.DataFrame
        """
        return rows_frame(
            self.coefficients, self.feature_names, self.output_names, {"intercept": self.intercepts}
        )

    def plot(
        self,
        row: int = 0,
        *,
        output: Any = None,
        contributions: bool = False,
        n_features: int = 12,
        ax: Any = None,
    ) -> BarDisplay:
        """Draw the coefficients, or the contributions, of one row as bars, the largest first.

        Parameters
        ----------
        row : int, default=0
            The position of the row.
        output : default=None
            The output, if there are several.
        contributions : bool, default=False
            Whether to draw contributions instead.
        n_features : int, default=12
            The most bars.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : BarDisplay
        """
        values = one_row(
            self.contributions if contributions else self.coefficients, row, output, self.output_names
        )
        unit = "standard deviation" if self.standardized else "unit"
        what = "probability" if self.probability else "prediction"
        label = (
            f"contribution to the {what}"
            if contributions
            else f"change of the {what} per {unit} of a feature"
        )
        return BarDisplay.largest(values, self.feature_names, n_features, value_label=label).plot(ax=ax)


def explain(model: Any, X: Any, *, standardized: bool = False, probability: bool = False) -> Explanation:
    """Return the local linear model of each row: the gradient of h = f - f_0, in closed form.

    Parameters
    ----------
    model : GBMAPRegressor, GBMAPClassifier, or a pipeline or search that ends in one
        Fitted. Through a pipeline the answer is in the columns of X as given: scaling undone,
        one-hot and indicator columns grouped back. It may hold ColumnTransformer, FeatureUnion,
        StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler, SimpleImputer, MissingIndicator,
        OneHotEncoder and feature selectors.
    X : array-like or sparse matrix of shape (n, p)
        The rows to explain. The result is dense.
    standardized : bool, default=False
        Whether coefficients count per standard deviation of a feature in training, instead of per
        unit. The intercept is then the local linear model's value at the training means.
    probability : bool, default=False
        Whether to explain the probability of the second class, or of each of more than two,
        instead of the log-odds. With an ``init`` model, f_0 is held fixed.

    Returns
    -------
    explanation : Explanation

    See Also
    --------
    attributions : What each feature adds over a baseline, on the model itself.

    Notes
    -----
    With an ``init`` model the explanation is that of what the GBMAP adds to it. Without one, it is
    that of the prediction.

    Examples
    --------
    >>> import numpy as np
    >>> from gbmap import GBMAPRegressor
    >>> from gbmap.inspection import explain
    >>> from sklearn.datasets import make_friedman1
    >>> X, y = make_friedman1(random_state=0)
    >>> model = GBMAPRegressor(n_components=3, random_state=0).fit(X, y)
    >>> local = explain(model, X)
    >>> np.allclose(model.predict(X), local.intercepts + (local.coefficients * X).sum(axis=1))
    True
    """
    fitted = FittedModel.of(model)
    local = _LocalModels.of(fitted, fitted.read_given(X))
    if probability:
        local = local.of_probabilities(fitted, fitted.full_score(X))
    coefficients, given = local.coefficients, local.given
    if standardized:
        coefficients *= fitted.column_scale[:, None]
        given -= fitted.column_mean
        given /= fitted.column_scale
    return Explanation(
        coefficients=squeeze(coefficients),
        intercepts=squeeze(local.values - np.einsum("npk,np->nk", coefficients, given)),
        contributions=squeeze(local.contributions),
        inputs=given,
        feature_names=fitted.feature_names,
        output_names=fitted.output_names,
        standardized=standardized,
        probability=probability,
    )


@dataclass(frozen=True)
class _LocalModels:
    """The local linear models of rows, in the user's columns: parts of one array, made block by block.

    There may be ten inputs to a column that bends, so that those of all rows would be most of the memory.
    """

    coefficients: Array  # (n, p, K)
    contributions: Array  # (n, p, K)
    values: Array  # (n, K), of h, or of the probabilities
    given: Array  # (n, p)

    @classmethod
    def of(cls, fitted: FittedModel, rows: Any) -> _LocalModels:
        """Return those of h, of rows as the GBMAP is given them."""
        ensemble, p = fitted.ensemble, len(fitted.feature_names)
        n_outputs, q = ensemble.n_outputs, ensemble.weights.shape[1]

        def of_block(block: Array) -> Array:
            inputs = dense(fitted.inputs.of(block))
            z = ensemble.project(inputs)
            gradient = ensemble.pull_back(ensemble.slopes_projected(z))
            contributions = fitted.columns.collect((inputs - fitted.input_mean)[:, :, None] * gradient)
            parts = (
                _per_unit(fitted, inputs, gradient).reshape(len(block), -1),
                contributions.reshape(len(block), -1),
                ensemble.sum_outputs(ensemble.embed_projected(z)),
                fitted.numbers(block),
            )
            return np.hstack(parts)

        ends = np.cumsum([p * n_outputs, p * n_outputs, n_outputs])
        found = fitted.map(of_block, rows, int(ends[-1]) + p, width=2 * q * n_outputs)
        coefficients, contributions, values, given = np.split(found, ends, axis=1)
        shape = (len(found), p, n_outputs)
        return cls(coefficients.reshape(shape), contributions.reshape(shape), values, given)

    def of_probabilities(self, fitted: FittedModel, score: Array) -> _LocalModels:
        """Return those of the probabilities at scores, (n, K).

        p_k is sigmoid_k / sum_l sigmoid_l for K > 2 classes, so that d log p_k = t_k df_k - sum_l p_l t_l
        df_l with t_k = 1 - sigmoid_k (times the log-odds per score); sigmoid itself for two.
        """
        model, predictor = fitted.model, fitted.predictor
        if not predictor.gives_probabilities:
            raise ValueError(
                "probability=True is for classifiers with a loss that gives probabilities; "
                f"got {type(model).__name__} with loss={model.loss!r}."
            )
        per_score = predictor.log_odds_per_score
        log_odds = per_score * score
        rest = per_score * sigmoid(-log_odds)
        is_alone = score.shape[1] == 1
        p = sigmoid(log_odds) if is_alone else predictor.probabilities(score)
        for derivatives in (self.coefficients, self.contributions):
            derivatives *= rest[:, None, :]
            if not is_alone:
                derivatives -= np.einsum("npk,nk->np", derivatives, p)[:, :, None]
            derivatives *= p[:, None, :]
        return replace(self, values=p)


def local_coefficients(fitted: FittedModel, inputs: Any) -> Array:
    """Return the coefficients of the local linear models, in the user's columns, of shape (n, p, K)."""
    return _per_unit(fitted, dense(inputs), fitted.map_inputs(fitted.ensemble.gradient, inputs))


def _per_unit(fitted: FittedModel, inputs: Array, gradient: Array) -> Array:
    """Return gradients in the user's columns, per unit of a number and per step to a category."""
    if fitted.columns.is_plain:
        return gradient
    return fitted.columns.collect(fitted.moves(inputs)[:, :, None] * gradient)
