"""What a model computes, as nodes of a graph.

On rows X it is

    T = beta ((U - mean) W' + c),   G = log(1 + exp(T)),   phi = G * (b / beta) + a,   f = sum_j phi_j,

with U the inputs that learners make of X, and beta folded into the constants. The mean is taken off first,
since a column with a large one would lose its digits in the product. f is a product of G too, so that large
intercepts are added once and last.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from gbmap._core.posterior import Posterior
from gbmap._fitted.model import FittedModel
from gbmap._utils.optional import require
from gbmap._utils.typing import Array
from gbmap.onnx._graph import Graph
from gbmap.onnx._learner_inputs import CenteredInputs, centered_inputs, inside_limits

onnx = require("onnx", "onnx")


class Formulas:
    """Names of tensors; the nodes of one are added when it is first asked for.

    Parameters
    ----------
    graph : Graph
        Where nodes are added.
    fitted : FittedModel
        The model.
    given : str
        The tensor of what the GBMAP is given, of shape (n, p), in the graph's type.

    Notes
    -----
    Properties that are named as the outputs of `to_onnx` have the shapes told there.
    """

    def __init__(self, graph: Graph, fitted: FittedModel, given: str):
        self.graph, self.fitted, self.given = graph, fitted, given
        self.model: Any = fitted.model
        self.ensemble = fitted.ensemble
        self.is_bent = self.ensemble.activation == "softplus"
        self.sharpness = self.ensemble.beta if self.is_bent else np.ones(len(self.ensemble))

    @cached_property
    def inputs(self) -> CenteredInputs:
        """U - mean."""
        return centered_inputs(self.graph, self.fitted, self.given)

    @cached_property
    def projected(self) -> str:
        """T, of shape (n, M)."""
        ensemble, constant = self.ensemble, self.graph.constant
        weights = self.sharpness[:, None] * ensemble.weights
        offsets = self.sharpness * (ensemble.offsets + ensemble.weights @ self.inputs.center)
        return self.graph.add("Gemm", self.inputs.tensor, constant(weights.T), constant(offsets))

    @cached_property
    def activated(self) -> str:
        """G, of shape (n, M)."""
        return self.graph.softplus(self.projected) if self.is_bent else self.projected

    @cached_property
    def embedding(self) -> str:
        """phi."""
        constant = self.graph.constant
        value = self.graph.add("Mul", self.activated, constant(self.ensemble.signs / self.sharpness))
        return self.graph.add("Add", value, constant(self.ensemble.intercepts))

    @cached_property
    def scores(self) -> str:
        """f, of shape (n, K)."""
        ensemble, constant = self.ensemble, self.graph.constant
        is_of = ensemble.outputs[:, None] == np.arange(ensemble.n_outputs)
        sums = is_of * (ensemble.signs / self.sharpness)[:, None]
        return self.graph.add("Gemm", self.activated, constant(sums), constant(ensemble.intercepts @ is_of))

    @property
    def prediction(self) -> str:
        """f as a regressor shapes it."""
        return self.scores if self.model.predictor_.gives_columns else self.graph.drop_axis(self.scores, 1)

    @property
    def score(self) -> str:
        """f as a classifier shapes it."""
        return self.scores if self.ensemble.n_outputs > 1 else self.graph.drop_axis(self.scores, 1)

    @property
    def label(self) -> str:
        """The class with the highest score."""
        graph = self.graph
        if self.ensemble.n_outputs > 1:
            winner = graph.add("ArgMax", self.scores, axis=1, keepdims=0)
        else:
            winner = graph.cast(graph.add("Greater", self.score, graph.constant(0.0)), np.int64)
        return graph.add("Gather", graph.tensor(labels_of(self.model)), winner)

    @property
    def probability(self) -> str:
        """Those of each class against the rest, normalised in log space, since all of them may be tiny."""
        graph = self.graph
        against = graph.constant(-self.model.predictor_.log_odds_per_score)
        log_p = graph.add("Neg", graph.softplus(graph.add("Mul", self.class_scores, against)))
        return graph.add("Softmax", log_p, axis=1)

    @property
    def class_scores(self) -> str:
        """The score of each class, of shape (n, n_classes), also of two."""
        if self.ensemble.n_outputs > 1:
            return self.scores
        return self.graph.add("Concat", self.graph.add("Neg", self.scores), self.scores, axis=1)

    @property
    def coefficients(self) -> str:
        """The gradient of f - f_0 in the user's columns."""
        graph, ensemble = self.graph, self.ensemble
        by_output = (ensemble.n_stages, ensemble.n_outputs)
        weights = (ensemble.signs[:, None] * ensemble.weights).reshape(*by_output, -1)
        slopes = graph.add("Reshape", self._slopes, graph.tensor(np.array([0, *by_output])))
        gradient = graph.add("Einsum", slopes, graph.constant(weights), equation="nmk,mkq->nqk")
        if not self.fitted.columns.is_plain:
            gradient = self._in_columns(gradient)
        return gradient if ensemble.n_outputs > 1 else graph.drop_axis(gradient, 2)

    @property
    def spread(self) -> str:
        """The standard deviation of f."""
        return self._root(self._variance)

    @property
    def std(self) -> str:
        """That of a new y around f, as `predict` tells it."""
        noise = self.graph.constant((self._posterior.noise * self._posterior.target_scale) ** 2)
        return self._root(self.graph.add("Add", self._variance, noise))

    @property
    def _posterior(self) -> Posterior:
        return self.fitted.predictor.known_posterior

    def _root(self, variance: str) -> str:
        root = self.graph.add("Sqrt", variance)
        return root if has_columns(self.fitted) else self.graph.drop_axis(root, 1)

    @cached_property
    def _variance(self) -> str:
        """That of f, of shape (n, K); see `gbmap._core.posterior`."""
        graph, ensemble, posterior = self.graph, self.ensemble, self._posterior
        n_learners, n_directions, size = posterior.directions.shape
        scale, shift = graph.constant(posterior.inverse_scale), self.inputs.center - posterior.center
        rows = graph.add("Mul", graph.add("Add", self.inputs.tensor, graph.constant(shift)), scale)
        flat = posterior.directions.reshape(-1, size).astype(np.float64)
        along = graph.add("Gemm", rows, graph.constant(flat[:, :-1].T), graph.constant(flat[:, -1]))
        shape = graph.tensor(np.array([0, n_learners, n_directions]))
        squares = graph.add("Reshape", graph.add("Mul", along, along), shape)
        beyond = graph.constant(posterior.variances - posterior.rest[:, None])
        inside = graph.add("Einsum", squares, beyond, equation="nmk,mk->nm")
        length = graph.add("Einsum", rows, rows, equation="nq,nq->n")
        length = graph.add(
            "Unsqueeze", graph.add("Add", length, graph.constant(1.0)), graph.tensor(np.array([1]))
        )
        whole = graph.add("Add", inside, graph.add("Mul", length, graph.constant(posterior.rest[None])))
        whole = graph.add("Max", whole, graph.constant(0.0))
        each = graph.add("Mul", whole, graph.add("Mul", self._slopes, self._slopes))
        is_of = ensemble.outputs[:, None] == np.arange(ensemble.n_outputs)
        return graph.add("MatMul", each, graph.constant(is_of * posterior.target_scale**2))

    @property
    def _slopes(self) -> str:
        if self.is_bent:
            return self.graph.sigmoid(self.projected)
        one = onnx.numpy_helper.from_array(np.ones(1, dtype=self.graph.kind))
        return self.graph.add("ConstantOfShape", self.graph.add("Shape", self.projected), value=one)

    def _in_columns(self, gradient: str) -> str:
        """Collect a gradient in the inputs, (n, q, K), to one in the user's columns, (n, p, K).

        Each input moves as `FittedModel.moves` tells: by a slope, or for a category from the mean to itself.
        """
        graph, columns = self.graph, self.fitted.columns
        is_number = np.isin(columns.kind, ("number", "bend"))
        slope = graph.constant(np.where(is_number, columns.slope, 0.0))
        if columns.has_limits.any():
            is_inside = inside_limits(graph, self.fitted, self.given)
            slope = graph.add("Mul", slope, graph.cast(is_inside, graph.kind))
        is_category = graph.constant(~columns.is_number[columns.source])
        moves = graph.add("Add", slope, graph.add("Mul", is_category, self.inputs.tensor))
        moved = graph.add("Mul", graph.add("Unsqueeze", moves, graph.tensor(np.array([2]))), gradient)
        is_from = graph.constant(columns.source[:, None] == np.arange(len(columns.names)))
        return graph.add("Einsum", moved, is_from, equation="nqk,qp->npk")


def output_type(fitted: FittedModel, output: str, kind: np.dtype[Any]) -> tuple[np.dtype[Any], list[int]]:
    """Return the type of an output, and its shape but for the rows."""
    model: Any = fitted.model
    n_outputs = fitted.ensemble.n_outputs
    several = [n_outputs] if n_outputs > 1 else []
    if output == "label":
        return labels_of(model).dtype, []
    shapes = {
        "prediction": lambda: [n_outputs] if fitted.predictor.gives_columns else [],
        "score": lambda: several,
        "probability": lambda: [len(model.classes_)],
        "embedding": lambda: [len(fitted.ensemble)],
        "spread": lambda: [n_outputs] if has_columns(fitted) else [],
        "std": lambda: [n_outputs] if has_columns(fitted) else [],
        "coefficients": lambda: [len(fitted.feature_names), *several],
    }
    return kind, shapes[output]()


def has_columns(fitted: FittedModel) -> bool:
    """Return whether a spread is told for each output."""
    return fitted.predictor.gives_columns or fitted.ensemble.n_outputs > 1


def labels_of(model: Any) -> Array:
    """Return the classes as a tensor can hold them: int64, text (as objects), booleans or float64."""
    given = model.classes_.tolist()
    labels = np.array(given)
    if labels.dtype.kind == "U":
        return np.array(given, dtype=object)
    if labels.dtype.kind not in "bif":
        raise ValueError(
            "classes must be integers within 64 bits, text, booleans or floats to be output as labels, "
            f'got such as {given[0]!r}; ask for outputs=["score"] instead.'
        )
    return labels
