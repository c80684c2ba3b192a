"""A simple model lifted towards a black box, by the coordinates of their difference as further features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import r2_score

from gbmap._drawing import CurveDisplay
from gbmap._fitted.results import frame, of_one, squeeze
from gbmap._utils.shown import Result, Shown, cell
from gbmap._utils.typing import Array


@dataclass(frozen=True, repr=False)
class Lift(Result):
    """How well a simple model does with the coordinates of a difference as further features.

    Attributes
    ----------
    scores : array of shape (m + 1,), or (m + 1, K)
        The score with the first 0, 1, ..., m coordinates. With none it is that of the first model
        stretched and shifted as fits the second best.
    first_score, second_score : float, or array of shape (K,)
        The scores of the two models as they are.
    measure : "R2" or "accuracy"
    against : "y" or "second"
        What the predictions are compared with.
    output_names : array of shape (K,) or None
        The outputs of the last axis, None if there is one.

    Examples
    --------
    >>> from gbmap.inspection import model_difference
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from sklearn.linear_model import LinearRegression
    >>> X, y = load_diabetes(return_X_y=True)
    >>> simple = LinearRegression().fit(X, y)
    >>> black_box = RandomForestRegressor(min_samples_leaf=10, random_state=0).fit(X, y)
    >>> lift = model_difference(simple, black_box, X, n_components=3).lift(X)
    >>> lift.to_frame().shape, bool(lift.scores[3] > lift.scores[0])
    ((4, 1), True)
    """

    scores: Array
    first_score: Any
    second_score: Any
    measure: str
    against: str
    output_names: Array | None

    def _shown(self) -> Shown:
        about = (
            f"{self.measure} against {self.against}: first {cell(self.first_score)}, second "
            f"{cell(self.second_score)}, first with all coordinates {cell(self.scores[-1])}"
        )
        return Shown(about, {"coordinates": np.arange(len(self.scores)), self.measure: self.scores})

    def to_frame(self) -> Any:
        """Return the scores as a pandas frame, a row per number of coordinates.

        Returns
        -------
        frame : pandas.DataFrame
        """
        names = [self.measure] if self.output_names is None else list(self.output_names)
        table = self.scores.reshape(len(self.scores), -1)
        return frame(table, "n_coordinates", range(len(table)), columns=names)

    def plot(self, ax: Any = None) -> CurveDisplay:
        """Draw the scores, and those of the two models as lines if there is one output.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : CurveDisplay
        """
        if self.output_names is None:
            curves = {"first, with coordinates": self.scores}
            lines = {"first": float(self.first_score), "second": float(self.second_score)}
        else:
            curves = dict(zip(map(str, self.output_names), self.scores.T))
            lines = {}
        target = "y" if self.against == "y" else "the second model"
        return CurveDisplay(
            np.arange(len(self.scores)), curves, "coordinates", f"{self.measure} against {target}", lines
        ).plot(ax=ax)


def lifted_predictions(
    known: tuple[Array, Array], target: Array, asked: tuple[Array, Array], outputs: Array
) -> Iterator[Array]:
    """Yield predictions (n', K) of a base and the first 0, 1, ..., m coordinates of each output.

    Parameters
    ----------
    known, asked : pairs of arrays of shapes (n, K), (n, M) and (n', K), (n', M)
        The base and the coordinates: of the rows to fit, and of the rows to predict.
    target : array of shape (n, K)
    outputs : integer array of shape (M,)
        The output of each coordinate.

    Yields
    ------
    predictions : array of shape (n', K)
    """
    of_outputs = []
    for k in range(target.shape[1]):
        to_fit, to_predict = (
            np.column_stack([base[:, k], phi[:, outputs == k]]) for base, phi in (known, asked)
        )
        of_outputs.append(_nested_least_squares(to_fit, to_predict, target[:, k]))
    return map(np.column_stack, zip(*of_outputs))


def _nested_least_squares(known: Array, asked: Array, target: Array) -> Iterator[Array]:
    """Yield predictions for the rows asked, on the first 1, 2, ... columns and an intercept."""
    mean, level = known.mean(axis=0), target.mean()
    scale = np.where(
        np.ptp(known, axis=0) > 0, known.std(axis=0), 1.0
    )  # so that rank does not depend on units
    known, asked = (known - mean) / scale, (asked - mean) / scale
    for count in range(1, known.shape[1] + 1):
        coefficients = np.linalg.lstsq(known[:, :count], target - level)[0]
        yield level + asked[:, :count] @ coefficients


def measure_lift(
    lifted: Iterator[Array], first: Array, second: Array, y: Any, classes: Any, output_names: Array | None
) -> Lift:
    """Score predictions, each of shape (n', K), against y, or against the second model's if y is None."""
    by_class = y is not None and classes is not None
    if by_class:
        score = partial(_accuracy, _read_labels(y, classes, len(second)))
    else:
        score = partial(r2, second if y is None else _read_numbers(y, second.shape))
    return Lift(
        scores=squeeze(np.array([score(each) for each in lifted])),
        first_score=of_one(score(first)),
        second_score=of_one(score(second)),
        measure="accuracy" if by_class else "R2",
        against="second" if y is None else "y",
        output_names=None if by_class else output_names,
    )


def r2(truth: Array, values: Array) -> Array:
    """Return R2 of each output, of shape (K,); NaN where the truth is constant."""
    if len(truth) < 2:
        return np.full(truth.shape[1], np.nan)
    scores = r2_score(truth, values, multioutput="raw_values")
    return np.where(np.ptp(truth, axis=0) == 0, np.nan, scores)


def _accuracy(truth: Array, score: Array) -> Array:
    """Return the share of rows whose class, by its number, has the highest score; of shape (1,)."""
    decided = score.argmax(axis=1) if score.shape[1] > 1 else score[:, 0] > 0
    return np.array([(decided == truth).mean()])


def _read_labels(y: Any, classes: Array, n: int) -> Array:
    """Return labels as their numbers in the classes."""
    labels = np.asarray(y)
    if labels.shape != (n,):
        raise ValueError(f"y must hold one label for each of the {n} rows of X, got shape {labels.shape}.")
    unknown = np.setdiff1d(labels, classes)
    if len(unknown):
        raise ValueError(
            f"y must hold classes of the models only, {classes.tolist()}, got {unknown.tolist()} too."
        )
    return np.searchsorted(classes, labels)


def _read_numbers(y: Any, shape: tuple[int, ...]) -> Array:
    """Return targets in the shape of the predictions, (n', K)."""
    values = np.asarray(y, dtype=np.float64)
    if values.reshape(len(values), -1).shape != shape:
        raise ValueError(
            f"y must hold {shape[1]} number(s) for each of the {shape[0]} rows of X, got {values.shape}."
        )
    if not np.isfinite(values).all():
        raise ValueError("y must hold finite numbers, got NaN or infinity; leave those rows out.")
    return values.reshape(shape)
