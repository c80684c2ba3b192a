"""How well the model does on held-out rows, beside a linear model, a constant and boosted trees."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score

from gbmap._utils.glossary import METRICS, metric_of_loss
from gbmap._utils.references import simpler_as_good
from gbmap._utils.typing import Array
from gbmap.report._material import FitMaterial, Material
from gbmap.report._rounding import significant
from gbmap.report.contents.contenders import Reference, linear_name, references

Scores = dict[str, float | None]


@dataclass(frozen=True)
class Metric:
    """What a score is called, and which way is better."""

    key: str
    name: str
    higher_is_better: bool
    in_units_of_target: bool


@dataclass(frozen=True)
class Contender:
    """A model and its scores by the key of the metric; None where a score is not defined."""

    name: str
    scores: Scores
    seconds: float | None  # that its fit took, as far as it is known
    n_rows: int | None  # training rows that it was fitted to


@dataclass(frozen=True)
class Performance:
    """Scores on held-out rows."""

    metrics: list[Metric]  # the first is the main one
    # The GBMAP first; then the model that it started from, if any; scikit-learn's HistGradientBoosting, if
    # it was fitted to rows of the same split and the classes are few; a linear model; a constant.
    contenders: list[Contender]
    # Held-out rows that were scored, and those given.
    n_rows: int
    n_given_rows: int
    simpler_as_good: str | None  # a sentence if the linear model or the constant does as well


def measure_performance(material: FitMaterial, seconds: float | None) -> Performance:
    """Score the model, and the models of comparison; given is how long its fit took, if that is known."""
    fitted, rows = material.fitted, material.held_out
    read_scores = _class_scores if material.is_classifier else _number_scores
    own = read_scores(material, fitted.full_score(rows.X))
    contenders = [Contender("GBMAP", own, significant(seconds, 3), material.training.n_given)]
    if fitted.model.init_ is not None:
        initial = read_scores(material, fitted.initial_score(rows.X))
        contenders.append(Contender("the model it started from", initial, None, None))
    contenders += [
        Contender(each.name, _reference_scores(material, each), significant(each.seconds, 3), each.n_rows)
        for each in references(material)
    ]
    return Performance(
        metrics=_class_metrics(material) if material.is_classifier else _number_metrics(material),
        contenders=contenders,
        n_rows=len(rows),
        n_given_rows=rows.n_given,
        simpler_as_good=simpler_as_good([contenders[k].scores for k in (0, -2, -1)], fitted.model.loss),
    )


def stored_performance(
    material: Material, scores: dict[str, dict[str, float]] | None, n_rows: int | None
) -> Performance | None:
    """Return the scores that were stored with a model, as `TableModel` keeps them; None without any."""
    if scores is None or n_rows is None:
        return None
    own, linear, constant = (scores[name] for name in ("gbmap", "linear", "constant"))
    metrics = _class_metrics(material) if material.is_classifier else _number_metrics(material)
    names = ("GBMAP", linear_name(material), "a constant")
    return Performance(
        metrics=[metric for metric in metrics if metric.key in own],
        contenders=[
            Contender(name, {key: significant(value) for key, value in each.items()}, None, None)
            for name, each in zip(names, (own, linear, constant))
        ],
        n_rows=n_rows,
        n_given_rows=n_rows,
        simpler_as_good=simpler_as_good([own, linear, constant], material.fitted.model.loss),
    )


def _number_metrics(material: Material) -> list[Metric]:
    own = material.fitted.model.loss
    metrics = [_metric(key) for key in ("r2", "rmse", "mae")]
    return (
        metrics
        if own == "squared_error"
        else [*metrics, Metric("loss", metric_of_loss(str(own)), False, False)]
    )


def _class_metrics(material: Material) -> list[Metric]:
    of_two = ["roc_auc"] if len(material.classes) == 2 else []
    return [_metric(key) for key in ("accuracy", "balanced_accuracy", *of_two, "log_loss")]


def _metric(key: str) -> Metric:
    known = METRICS[key]
    return Metric(key, known.title, known.higher_is_better, known.in_units_of_target)


def _number_scores(material: FitMaterial, score: Array) -> Scores:
    rows, fitted = material.held_out, material.fitted
    y = np.asarray(rows.y, dtype=np.float64)
    error = y - score[:, 0]
    spread = np.square(y - y.mean()).mean()
    loss = fitted.predictor.row_losses(fitted.predictor.read_targets(y, len(y)), score).mean()
    return {
        "r2": significant(1 - np.square(error).mean() / spread) if spread > 0 else None,
        "rmse": significant(np.sqrt(np.square(error).mean())),
        "mae": significant(np.abs(error).mean()),
        "loss": significant(loss),
    }


def _class_scores(material: FitMaterial, score: Array) -> Scores:
    predictor = material.fitted.predictor
    p = predictor.probabilities(score) if predictor.gives_probabilities else None
    rank = score[:, 0] if score.shape[1] == 1 else None
    return _scores_of_classes(
        predictor.labels.labels, material.held_out.y, predictor.labels.decided(score), p, rank
    )


def _scores_of_classes(classes: Array, y: Any, decided: Array, p: Array | None, rank: Array | None) -> Scores:
    both_there = len(np.unique(y)) == 2
    # A class that no training row has is impossible to a model of comparison: its log loss has no end.
    has_loss = p is not None and bool(np.isin(y, classes).all())
    return {
        "accuracy": significant(np.mean(y == decided)),
        "balanced_accuracy": significant(_balanced(y, decided)),
        "roc_auc": significant(roc_auc_score(y, rank)) if rank is not None and both_there else None,
        "log_loss": significant(log_loss(y, p, labels=classes)) if has_loss else None,
    }


def _balanced(y: Any, decided: Array) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a class may be predicted that no held-out row has
        return float(balanced_accuracy_score(y, decided))


def _reference_scores(material: FitMaterial, reference: Reference) -> Scores:
    model, inputs = reference.model, reference.inputs
    if not material.is_classifier:
        return _number_scores(material, np.asarray(model.predict(inputs), dtype=np.float64).reshape(-1, 1))
    p = model.predict_proba(inputs)
    decided = model.classes_[p.argmax(axis=1)]
    rank = p[:, 1] if p.shape[1] == 2 else None
    return _scores_of_classes(model.classes_, material.held_out.y, decided, p, rank)
