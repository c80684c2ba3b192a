"""A perceptron with one hidden layer, by scikit-learn: the form of GBMAP, fitted all at once by Adam."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

from sklearn.exceptions import ConvergenceWarning

from benchmarks.data import Split
from benchmarks.methods.base import Outcome, timed
from benchmarks.methods.linear import score_of


@dataclass(frozen=True)
class MLP:
    """``MLPRegressor`` or ``MLPClassifier`` with so many hidden units, stopped early by a tenth of the rows.

    Targets are standardised where they are numbers.
    """

    name: str = "mlp"
    sizes: tuple[int, ...] = (4, 16, 64, 256)

    def at(self, size: int, split: Split, *, seed: int) -> Outcome:
        from sklearn.neural_network import MLPClassifier, MLPRegressor

        kind = MLPClassifier if split.task == "classification" else MLPRegressor
        model = kind(hidden_layer_sizes=(size,), early_stopping=True, max_iter=1000, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            seconds, _ = timed(lambda: model.fit(split.train.X, split.train.y))
        parameters = sum(part.size for part in (*model.coefs_, *model.intercepts_))
        if split.task == "regression":
            return Outcome(seconds, parameters, score_of(model, split.test.X))
        return Outcome(seconds, parameters, model.predict_proba(split.test.X)[:, 1] - 0.5)
