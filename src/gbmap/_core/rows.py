"""What the engine asks of data, wherever it lives: each kind of data is a subclass, in `gbmap._rows`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from gbmap._core.arrays import to_numpy, with_one
from gbmap._core.ensemble import Ensemble
from gbmap._core.inputs import Inputs
from gbmap._core.losses import Loss, RowLosses
from gbmap._core.minimise import BlockDiagonal, Evaluate, ValueAndGradient
from gbmap._core.objective import Objective
from gbmap._core.units import Units
from gbmap._utils.sampling import sample_rows
from gbmap._utils.typing import Array, IntArray

# The share of a matrix of curvatures that is left out of it. Rows that a learner does not reach, or whose
# class is certain, tell nothing of it: a tenth to a half of them makes it. Fewer products are not worth it.
_UNTOLD, _WORTH_CHOOSING = 0.003, 10_000_000
# Digits that single precision drops of a matrix may be this share of the ridge beside it; of more, as where
# columns have far rows, directions come out negative by more than the ridge.
_MOST_LOST = 0.1


class SampledRows(NamedTuple):
    """Rows taken from others, and which of the others they are, told where those live."""

    chosen: Any
    rows: Sample


class Rows(ABC):
    """n rows (x, y, weight) with K targets and their current scores F, in standard units but for X.

    How X is held is left to the subclass. All it is asked for are sums over rows, and some of the rows, so
    that they may lie in blocks, in a file, on a device or on a cluster.

    Attributes
    ----------
    n_rows, n_columns, n_outputs : int
    eps : float
        The relative rounding error of one row's numbers.
    weight_sum : float
    samples : list of SampledRows
        They follow: whenever a score changes here, theirs does too (`_update_samples`).
    """

    n_rows: int
    n_columns: int
    n_outputs: int
    eps: float
    weight_sum: float

    def __init__(self, y: Any, F: Any, weight: Any, units: Units):
        self.y, self.F, self.weight, self.units = y, F, weight, units
        self.samples: list[SampledRows] = []

    def value_and_gradient(
        self, objective: Objective, output: int, thetas: Array, signs: Array
    ) -> tuple[Array, Array]:
        """Evaluate C candidates (a, w, c) in one pass over X: values (C,), gradients (C, p + 2)."""
        total = self._sums(objective, output, thetas, signs)
        total[:, 2:-1] = self.units.fold_gradient(total[:, 2:-1], total[:, -1])
        return objective.finish(total, self.weight_sum, thetas)

    def function(self, objective: Objective, output: int, sign: float) -> Evaluate:
        """Return the function of (a, w, c) that a solve for one sign evaluates, at the scores of now."""
        signs = np.array([sign], dtype=float)

        def evaluate(theta: Array) -> ValueAndGradient:
            values, gradients = self.value_and_gradient(objective, output, theta[None], signs)
            return float(values[0]), gradients[0]

        return evaluate

    def answer(
        self, objectives: list[Objective], outputs: list[int], thetas: Array, signs: Array
    ) -> list[ValueAndGradient]:
        """Evaluate candidates of several outputs, whose objectives differ in the ridge alone."""
        answers: list[ValueAndGradient] = []
        for _, own in groupby(range(len(outputs)), key=lambda c: (outputs[c], id(objectives[c]))):
            candidates = list(own)
            objective = objectives[candidates[0]]
            shared = self.shares_passes(objective)
            for some in [candidates] if shared else [[c] for c in candidates]:
                found = self.value_and_gradient(objective, outputs[some[0]], thetas[some], signs[some])
                answers += zip(found[0].tolist(), found[1])
        return answers

    def _finished(self, objectives: list[Objective], total: Array, thetas: Array) -> list[ValueAndGradient]:
        """Return value and gradient of each of several candidates, given `_sums` of them."""
        total[:, 2:-1] = self.units.fold_gradient(total[:, 2:-1], total[:, -1])
        each = zip(objectives, total, thetas)
        return [objective.finish_one(sums, self.weight_sum, theta) for objective, sums, theta in each]

    def shares_passes(self, objective: Objective) -> bool:
        """Return whether a pass with several candidates takes less time than a pass for each."""
        return False

    @abstractmethod
    def _sums(self, objective: Objective, output: int, thetas: Array, signs: Array) -> Array:
        """Return `Objective.block_sums` of all rows for each candidate, with derivatives in X's units."""

    def joint_value_and_gradient(
        self, objective: Objective, output: int, vector: Array, signs: Array
    ) -> tuple[float, Array]:
        """Evaluate m learners together, at (a, (w_1, c_1), ..., (w_m, c_m)), in one pass over X."""
        total = self._joint_sums(objective, output, vector, signs)
        along = total[2:].reshape(len(signs), -1)
        along[:, :-1] = self.units.fold_gradient(along[:, :-1], along[:, -1])
        return objective.finish_joint(total, self.weight_sum, vector, len(signs))

    @abstractmethod
    def _joint_sums(self, objective: Objective, output: int, vector: Array, signs: Array) -> Array:
        """Return `Objective.joint_sums` of all rows, with derivatives in X's units."""

    def _folded(self, vector: Array) -> tuple[Array, Array]:
        """Return v (m, p) and d (m,) of m learners (w, c), in X's units."""
        thetas = vector[1:].reshape(-1, self.n_columns + 1)
        return self.units.fold(thetas[:, :-1], thetas[:, -1])

    def mean_loss(self, loss: Loss, output: int, shift: float = 0.0) -> float:
        """Return the mean loss of the current score of one output, plus a constant."""
        return self._loss_sum(loss, output, shift) / self.weight_sum

    @abstractmethod
    def _loss_sum(self, loss: Loss, output: int, shift: float) -> float:
        """Return the weighted sum of the same."""

    def row_losses(self, loss: Loss, output: int) -> RowLosses:
        """Return the loss of every row at its current score, in memory."""
        weight = np.ones(self.n_rows) if self.weight is None else to_numpy(self.weight).astype(np.float64)
        values = to_numpy(loss.value(self.y[output], self.F[output])).astype(np.float64)
        return RowLosses(values, weight, to_numpy(self.y[output]))

    def add_last_learners(self, ensemble: Ensemble, n: int = 1) -> None:
        """Add the last learners of an ensemble, as stored, each of an output of its own, to their scores.

        Through the stored learners and the code of `transform`, so that a model that goes on from a
        stored ensemble meets the very same numbers.
        """
        outputs = ensemble.outputs[-n:]
        self.add(ensemble[-n:], ~np.isin(outputs, ensemble.outputs[:-n]))
        for output in outputs:
            self._update_samples(int(output))

    @abstractmethod
    def add(self, learners: Ensemble, are_first: Array) -> None:
        """Add learners to the scores of their outputs, given whether they are the first ones there."""

    def _standard(self, phi: Any, output: int, is_first: bool) -> Any:
        """Return a coordinate of the embedding in standard units."""
        shift, scale = self.units.target_mean[output] * is_first, self.units.target_scale[output]
        return (phi - float(shift)) / float(scale)

    def remember(self, output: int) -> Any:
        """Return the score of one output, for `restore`."""
        return self.F[output]

    def restore(self, output: int, score: Any) -> None:
        """Bring the score of one output back to what it was."""
        self.F[output] = score
        self._update_samples(output)

    def _update_samples(self, output: int) -> None:
        """Give the samples the scores that their rows have here."""
        scores = self._scores_at([sample.chosen for sample in self.samples], output)
        for sample, score in zip(self.samples, scores):
            sample.rows.restore(output, score)

    @abstractmethod
    def _scores_at(self, chosen: list[Any], output: int) -> Any:
        """Return the scores of the rows of each sample."""

    def sample(self, size: int, rng: np.random.Generator) -> Sample:
        """Return `size` random rows, or all if there are no more, whose scores follow these rows'."""
        sample = self._draw(size, rng)
        self.samples.append(sample)
        return sample.rows

    def part(self, size: int, rng: np.random.Generator) -> Sample | None:
        """Return `size` random rows whose scores follow these rows', held as they are; None if none can be.

        They take less memory than a sample, and passes over them more time.
        """
        return None

    def _draw(self, size: int, rng: np.random.Generator) -> SampledRows:
        """Return random rows of those that have a weight."""
        positions = self._positions(size, rng)
        chosen = self._choose(positions)
        rows = self._rows_at(chosen)
        rows.complete = len(positions) == self._n_eligible
        return SampledRows(chosen, rows)

    def _positions(self, size: int, rng: np.random.Generator) -> IntArray:
        """Return `size` random positions among the rows that have a weight in order, or all of them."""
        return sample_rows(self._n_eligible, size, rng)

    @property
    @abstractmethod
    def _n_eligible(self) -> int:
        """The number of rows that have a weight."""

    @abstractmethod
    def _choose(self, positions: IntArray) -> Any:
        """Return which rows are at some positions among those that have a weight."""

    @abstractmethod
    def _rows_at(self, chosen: Any) -> Sample:
        """Return some of the rows, as a sample."""

    def mean_absolute_attribution(
        self, ensemble: Ensemble, mean: Array, n_rows: int, inputs: Inputs
    ) -> Array:
        """Return the mean size of what columns add over the mean row, for rows of the sample; (p, K).

        The inputs that these rows have are made of the columns.
        """
        X, weight = self._rows_to_attribute(n_rows)
        weight = np.ones(X.shape[0]) if weight is None else weight.astype(np.float64)
        total = np.zeros((inputs.n_columns, ensemble.n_outputs))
        chunk = max(1, (1 << 20) // self.n_columns)
        for i in range(0, X.shape[0], chunk):
            rows = X[i : i + chunk]
            rows = np.asarray(rows.toarray() if scipy.sparse.issparse(rows) else rows, dtype=np.float64)
            slopes = ensemble.secants(ensemble.project(rows), ensemble.project(mean[None]))
            rows = rows - mean
            for output in range(ensemble.n_outputs):
                own = ensemble.outputs == output
                added = inputs.collect(rows * (slopes[:, own] @ ensemble.weights[own]))
                total[:, output] += weight[i : i + chunk] @ np.abs(added)
        return total / weight.sum()

    @abstractmethod
    def _rows_to_attribute(self, n_rows: int) -> tuple[Any, Array | None]:
        """Return X and the weights of at most so many rows of the first sample, in memory."""


class Sample(Rows):
    """Rows few enough for work beyond sums.

    Attributes
    ----------
    complete : bool
        Whether these are all the rows that have a weight.
    """

    complete = True

    @abstractmethod
    def in_memory(self) -> Sample:
        """Return these rows, or a copy of them, in memory."""

    @abstractmethod
    def of_columns(self, kept: Array) -> Sample:
        """Return some columns of dense rows, copied; the scores are the same, and stay so."""

    @abstractmethod
    def gauss_newton(
        self, objective: Objective, output: int, theta: Array, sign: int, least_rows: int = 0
    ) -> Array:
        """Return the Gauss-Newton matrix of the objective, (p + 2, p + 2), or its diagonal (p + 2,).

        Of so many rows or more, if there are as many.
        """

    @abstractmethod
    def curvature(
        self, objective: Objective, output: int, theta: Array, n_rows: int, sign: int | None = None
    ) -> Curvature:
        """Return the Gauss-Newton matrix of the mean loss in (w, c), of about so many rows.

        It is that of a learner that the scores hold already, or of one with a sign that they do not hold.
        """

    @abstractmethod
    def joint_gauss_newton(
        self, objective: Objective, output: int, vector: Array, signs: Array
    ) -> BlockDiagonal | None:
        """Return the Gauss-Newton matrices of a and of each of m learners, or None if too large."""

    @abstractmethod
    def some(self, n_rows: int, n_numbers: int) -> SomeRows:
        """Return about so many rows, or fewer if X would hold more than so many numbers."""

    @abstractmethod
    def activations(self, objective: Objective, output: int, vector: Array, n_rows: int) -> RowActivations:
        """Return what m learners make of about so many rows."""


@dataclass(frozen=True)
class Curvature:
    """A matrix H of shape (size, size) that is known by its products.

    Attributes
    ----------
    size : int
    times : callable
        V -> H V, of shape (size, k) both.
    """

    size: int
    times: Callable[[Array], Array]

    def matrix(self) -> Array:
        """Return H."""
        return self.times(np.eye(self.size))

    def diagonal(self) -> Array | None:
        """Return the diagonal of H, or None if it takes as long as H."""
        return None

    def without_last(self) -> Curvature:
        """Return the part of all numbers but the last one."""
        return Curvature(self.size - 1, lambda V: self.times(np.vstack([V, 0 * V[:1]]))[:-1])

    def precise_beside(self, ridges: Array) -> Curvature:
        """Return H with all digits that count beside the diagonal (size,) of a ridge, if there are more."""
        return self


class CurvatureOfRows(Curvature):
    """H = J^T J, given J of shape (n, size), in the type of J."""

    def __init__(self, J: Array):
        super().__init__(J.shape[1], lambda V: (J.T @ (J @ V.astype(J.dtype, copy=False))).astype(np.float64))
        self._J = J

    @classmethod
    def of(cls, X: Array, squares: Array, share: Array, dtype: Any) -> CurvatureOfRows:
        """Return nearly all of the sum of share (x, 1)^T (x, 1), given |(x, 1)|^2: that of rows that tell."""
        some = rows_that_tell(share * squares, X.shape[1])
        return cls(with_one(X[some], np.sqrt(share[some]).astype(dtype)))

    def matrix(self) -> Array:
        H: Array = self._J.T @ self._J  # half the work of a product with another matrix
        return H.astype(np.float64, copy=False)

    def diagonal(self) -> Array:
        return np.einsum("ij,ij->j", self._J, self._J).astype(np.float64)

    def without_last(self) -> Curvature:
        return CurvatureOfRows(self._J[:, :-1])

    def precise_beside(self, ridges: Array) -> Curvature:
        lost = np.finfo(self._J.dtype).eps * float((self.diagonal() / ridges).sum())
        return self if lost < _MOST_LOST else CurvatureOfRows(self._J.astype(np.float64, copy=False))


class SomeRows(NamedTuple):
    """Some rows in memory: X, dense or sparse, and its units; y and F, (K, n), and weights."""

    X: Any
    units: Units
    y: Array
    F: Array
    weight: Array


class RowActivations(NamedTuple):
    """Some rows in memory: g(z) of m learners, (n, m), targets, scores to start from, and weights."""

    g: Array
    y: Array
    F: Array
    weight: Array


def rows_that_tell(told: Array, n_columns: int, untold: float = _UNTOLD) -> IntArray:
    """Return the rows that tell all but a share of a matrix of so many columns, given what each adds."""
    if len(told) * n_columns**2 < _WORTH_CHOOSING:
        return np.arange(len(told))
    order = np.sort(told)
    n_silent = int(np.searchsorted(np.cumsum(order), untold * told.sum()))
    return np.flatnonzero(told >= order[min(n_silent, len(order) - 1)])


def every(n_rows: int, most: int) -> slice:
    """Return a slice of evenly spaced rows, at most so many."""
    return slice(None, None, -(-n_rows // most))
