"""A fitted model as one SELECT statement, which scores and embeds the rows of a table where they are.

The statement is a chain of common table expressions: the inputs of learners from the columns of the table,
then projections, embedding, scores and probabilities. Each reads the names of the one before it, so that
nothing is written twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator

from gbmap._core.ensemble import Ensemble
from gbmap._fit.initial import CLIP
from gbmap._fitted.model import FittedModel
from gbmap._fitted.table_reader import without_tables
from gbmap.estimators.base import BaseGBMAP
from gbmap.sql._inputs import Input, learner_inputs
from gbmap.sql._preprocessing import Value, column, not_translatable, translate
from gbmap.sql._text import (
    DIALECTS,
    Statement,
    add_up,
    clip,
    exp,
    identifier,
    literal,
    number,
    of_largest,
    sigmoid,
    softplus,
)

# What does not depend on an initial model.
_WITHOUT_INIT = {"embedding", "spread", "std"}
# The most products of inputs that a statement writes down: SQLite takes seconds to read so many.
_MOST_TERMS = 30_000


def to_sql(
    model: Any,
    table: str | Sequence[str],
    *,
    outputs: str | Sequence[str] | None = None,
    keep: str | Sequence[str] = (),
    columns: Sequence[str] | None = None,
    dialect: str = "portable",
) -> str:
    """Return a SELECT statement that gives the model's outputs for each row of a table.

    The database must have EXP and LN, and for a spread SQRT. It computes in double precision; NaN and
    infinite numbers count as NULL, a missing value, which is filled as in Python. An output is NULL where it
    depends on a category that an encoder before the GBMAP refuses.

    Parameters
    ----------
    model : GBMAPRegressor, GBMAPClassifier, or a pipeline or search that ends in one
        Fitted. The steps before the GBMAP may scale, impute, one-hot encode and select columns.
    table : str or sequence of str
        The name of the table or view; a sequence is schema and name.
    outputs : str or sequence of str, default=None
        What to compute, in the order of the result's columns:

        - "prediction" (regressors): ``prediction``, or ``prediction_0``, ... for several targets.
        - "label" (classifiers): ``label``, the class.
        - "score" (classifiers): ``score``, or ``score_<class>`` for more than two classes.
        - "probability" (classifiers): ``probability_<class>``.
        - "embedding": ``f1``, ``f2``, ..., or ``f1_<class>``, ... for several outputs, as
          ``get_feature_names_out`` names them.
        - "spread": ``spread``, or ``spread_0``, ..., or ``spread_<class>``: how far f would move with other
          weights that suit the data as well, the indicator of `gbmap.DriftDetector` with
          ``measure="spread"``. A long statement: each learner has a square form of all inputs.
        - "std" (regressors): ``std``, or ``std_0``, ...: that of a new y, as ``predict(X, return_std=True)``
          tells it.

        None is "prediction", or "label" for a classifier.
    keep : str or sequence of str, default=()
        Columns of the table to pass on, such as its key. They come first.
    columns : sequence of str, default=None
        What the columns that the model was fitted to are called in the table, in the order of the fit. None
        stands for the names that they had in the fit.
    dialect : {"portable", "duckdb", "postgresql", "sqlite"}, default="portable"
        The database. All three understand "portable". "duckdb" is faster there, and does without LIMIT. With
        "sqlite" a text in a column of numbers counts as missing; else SQLite takes it for zero.

    Returns
    -------
    statement : str
        Without a semicolon, to be used as it is, or as a view or a subquery.

    Examples
    --------
    >>> import sqlite3
    >>> import numpy as np
    >>> from gbmap import GBMAPRegressor
    >>> from gbmap.sql import to_sql
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> model = GBMAPRegressor(n_components=3, random_state=0).fit(X, np.abs(X[:, 0]))
    >>> database = sqlite3.connect(":memory:")
    >>> _ = database.execute("CREATE TABLE points (id, east, north)")
    >>> _ = database.executemany("INSERT INTO points VALUES (?, ?, ?)", [(i, *X[i]) for i in range(50)])
    >>> statement = to_sql(model, "points", keep="id", columns=["east", "north"], dialect="sqlite")
    >>> rows = database.execute(statement + " ORDER BY id").fetchall()
    >>> bool(np.allclose([prediction for _, prediction in rows], model.predict(X)))
    True
    """
    fitted = FittedModel.of(without_tables(model))
    if dialect not in DIALECTS:
        raise ValueError(f"dialect must be one of {', '.join(DIALECTS)}, got {dialect!r}.")
    wanted = _wanted_outputs(fitted.model, outputs)
    kept, path = _as_names(keep, "keep"), _as_names(table, "table")
    if not path:
        raise ValueError(f"table must be a name, or schema and name, got {table!r}.")
    values = [column(name, DIALECTS[dialect]) for name in _column_names(fitted, columns)]
    parts = _parts(fitted, values, with_init=bool(set(wanted) - _WITHOUT_INIT))
    statement = Statement(path, DIALECTS[dialect].fence)
    passed_on = {f"k{i}": f"source.{identifier(name)}" for i, name in enumerate(kept)}
    _embed(statement, parts, passed_on, with_spread=bool({"spread", "std"} & set(wanted)))
    results = [(name, f"k{i}") for i, name in enumerate(kept)] + _results(statement, parts, wanted)
    _refuse_same([name for name, _ in results], "keep and outputs")
    return statement.finish(results)


def _wanted_outputs(model: BaseGBMAP, outputs: str | Sequence[str] | None) -> tuple[str, ...]:
    is_classifier = hasattr(model, "classes_")
    possible = (
        ("label", "score", "probability", "embedding", "spread")
        if is_classifier
        else ("prediction", "embedding", "spread", "std")
    )
    wanted = possible[:1] if outputs is None else _as_names(outputs, "outputs")
    if not wanted or len(set(wanted)) < len(wanted) or not set(wanted) <= set(possible):
        raise ValueError(
            f"outputs must be one or more of {', '.join(possible)} for a {type(model).__name__}, each once, "
            f"got {outputs!r}."
        )
    if "probability" in wanted and not model.predictor_.gives_probabilities:
        raise ValueError(
            f'outputs must do without "probability" for loss={model.loss!r}, which gives none; '
            'use "score", or fit with loss="log_loss".'
        )
    return wanted


def _as_names(given: Any, argument: str) -> tuple[str, ...]:
    each = [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    if not all(isinstance(name, str) for name in each):
        raise TypeError(f"{argument} must be a name or a sequence of names, got {given!r}.")
    return tuple(each)


def _column_names(fitted: FittedModel, columns: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of the columns that the model was fitted to, as they are in the table."""
    met = fitted.model if fitted.first_step is None else fitted.first_step
    if not hasattr(met, "n_features_in_"):
        raise not_translatable(f"the step {type(met).__name__}")
    given = getattr(met, "feature_names_in_", None) if columns is None else columns
    if given is None:
        raise ValueError(
            f"columns must name the {met.n_features_in_} columns of the table to read, since the model was "
            "fitted to an array without names."
        )
    names = _as_names(given, "columns")
    if len(names) != met.n_features_in_:
        raise ValueError(
            f"columns must be as many names as in the fit, {met.n_features_in_}, got {len(names)}."
        )
    _refuse_same(names, "columns")
    return names


def _refuse_same(names: Sequence[str], argument: str) -> None:
    """Raise an error if two names are the same to a database, most of which overlook case."""
    seen: dict[str, str] = {}
    for name in names:
        if name.lower() in seen:
            raise ValueError(
                f"{argument} must give names that differ by more than case, got {seen[name.lower()]!r} and "
                f"{name!r}; rename one of them, in a view of the table if need be."
            )
        seen[name.lower()] = name


@dataclass(frozen=True)
class _Part:
    """One of the GBMAPs that a score is the sum of: the model, or an initial model."""

    model: BaseGBMAP
    inputs: list[Input]

    @property
    def ensemble(self) -> Ensemble:
        return self.model.ensemble_


def _parts(fitted: FittedModel, values: list[Value], *, with_init: bool) -> list[_Part]:
    """Return the model and, if it counts, its initial model, that one's, and so on."""
    model, init = fitted.model, fitted.model.init_
    given = translate(fitted.preprocessing, values)
    if len(given) != model.n_features_in_:
        raise not_translatable(
            f"a preprocessing that gives {model.n_features_in_}, not {len(given)} columns,"
        )
    part = _Part(model, learner_inputs(fitted.predictor.fitted_inputs, given))
    if init is None or not with_init:
        return [part]
    try:
        initial = FittedModel.of(init.estimator if isinstance(init, FrozenEstimator) else init)
    except TypeError as error:
        raise ValueError(
            f"model must have a GBMAP as its init, or none, to be written in SQL, got {type(init).__name__}; "
            'fit it without init, or ask for outputs="embedding", which does not depend on it.'
        ) from error
    return [part, *_parts(initial, given, with_init=True)]


def _embed(statement: Statement, parts: Sequence[_Part], kept: dict[str, str], *, with_spread: bool) -> None:
    """Add the inputs of all parts, their projections, and their embeddings phi<part>_<learner>.

    With their spread, also the variances v<learner> of the learners of the first part.
    """
    used = dict.fromkeys(
        each
        for part in parts
        for each, weights in zip(part.inputs, part.ensemble.weights.T)
        if weights.any() or with_spread
    )
    name_of = _read_inputs(statement, list(used), kept)
    learners = [(i, j, part) for i, part in enumerate(parts) for j in range(len(part.ensemble))]
    projections = {f"t{i}_{j}": _projection(part, j, name_of) for i, j, part in learners}
    units = _ridge_units(parts[0], name_of) if with_spread else {}
    forms = _square_forms(parts[0], [*units, "1e0"]) if with_spread else {}
    if units:
        statement.add(units)
    statement.add(projections | forms, drop={*name_of.values(), *units})
    variances = {name: _variance(parts[0].ensemble, j, name) for j, name in enumerate(forms)}
    coordinates = {f"phi{i}_{j}": _coordinate(part.ensemble, j, f"t{i}_{j}") for i, j, part in learners}
    statement.add(coordinates | variances, drop=[*projections, *forms])


def _read_inputs(statement: Statement, inputs: list[Input], kept: dict[str, str]) -> dict[Any, str]:
    """Add inputs, from the columns that they are read from; return their names, and those of guards."""
    expressions = dict.fromkeys(sql for each in inputs for sql in (each.read, *each.guards))
    read = {sql: f"x{i}" for i, sql in enumerate(expressions)}
    # Null learners read no column, but there must be one.
    statement.add(kept | {name: sql for sql, name in read.items()} or {"none": "0e0"})
    bent = {each: f"u{i}" for i, each in enumerate(each for each in inputs if each.has_limits)}
    plain = {each: read[each.read] for each in inputs if not each.has_limits}
    guards = {guard: read[guard] for each in inputs for guard in each.guards}
    if bent:
        needed = {*plain.values(), *guards.values()}
        made = {name: each.of(read[each.read]) for each, name in bent.items()}
        statement.add(made, drop=[name for name in read.values() if name not in needed])
    return {**plain, **bent, **guards}


def _projection(part: _Part, j: int, name_of: dict[Any, str]) -> str:
    """Return beta_j (w_j . x + c_j), with the inputs centred as in `Ensemble.project`."""
    ensemble = part.ensemble
    weights, center = ensemble.weights[j], ensemble.center
    terms, guards = [], []
    for k in np.flatnonzero(weights):
        name = name_of[part.inputs[k]]
        centred = f"({name} - {number(center[k])})" if center[k] else name
        terms.append(f"{number(weights[k])} * {centred}")
        guards += [name_of[guard] for guard in part.inputs[k].guards]
    # In the same words as there: its terms may cancel, and one product is not rounded like many.
    offset = (ensemble.offsets + ensemble.weights @ center)[j]
    # A null learner is its constant alone, which PostgreSQL would take for a decimal.
    constant = f"CAST({number(offset)} AS DOUBLE PRECISION)"
    z = add_up([*terms, *dict.fromkeys(guards), constant])
    return z if ensemble.activation == "identity" else f"{number(ensemble.beta[j])} * ({z})"


def _ridge_units(part: _Part, name_of: dict[Any, str]) -> dict[str, str]:
    """Return the inputs that vary, in the units of the ridge, as z<input>."""
    posterior = part.model.predictor_.known_posterior
    return {
        f"z{k}": f"{number(scale)} * ({name_of[part.inputs[k]]} - {number(posterior.center[k])})"
        for k, scale in enumerate(posterior.inverse_scale)
        if scale
    }


def _square_forms(part: _Part, units: list[str]) -> dict[str, str]:
    """Return the variance of each learner's z as v<learner>, of inputs and 1; see `gbmap._core.posterior`."""
    posterior = part.model.predictor_.known_posterior
    active = np.flatnonzero(posterior.inverse_scale)
    n_terms = len(part.ensemble) * len(units) * (len(units) + 1) // 2
    if n_terms > _MOST_TERMS:
        raise ValueError(
            "outputs must do without spread and std in SQL for so many learners and inputs, whose square "
            f"forms would have {n_terms} terms, more than {_MOST_TERMS}; use gbmap.onnx.to_onnx."
        )
    forms = {}
    for j, directions in enumerate(posterior.directions[:, :, [*active, -1]].astype(np.float64)):
        beyond = posterior.variances[j] - posterior.rest[j]
        form = (directions.T * beyond) @ directions + posterior.rest[j] * np.eye(len(units))
        above = np.triu(2 * form, 1) + np.diag(np.diag(form))  # each product of two inputs once
        lines = [
            add_up(f"{number(q)} * {unit}" for q, unit in zip(line[i:], units[i:]))
            for i, line in enumerate(above)
        ]
        forms[f"v{j}"] = add_up(f"{unit} * ({line})" for unit, line in zip(units, lines))
    return forms


def _variance(ensemble: Ensemble, j: int, form: str) -> str:
    """Return that of a learner, from that of its z, which rounding may have made negative."""
    slope = "1e0" if ensemble.activation == "identity" else f"({sigmoid(f't0_{j}')})"
    return f"{slope} * {slope} * CASE WHEN {form} < 0e0 THEN 0e0 ELSE {form} END"


def _coordinate(ensemble: Ensemble, j: int, t: str) -> str:
    """Return phi_j = a_j + b_j g(z), from t = beta_j z."""
    value = t if ensemble.activation == "identity" else f"({softplus(t)}) / {number(ensemble.beta[j])}"
    return f"{number(ensemble.intercepts[j])} {'+' if ensemble.signs[j] > 0 else '-'} {value}"


def _results(statement: Statement, parts: Sequence[_Part], wanted: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return the columns of the result, by their name and what they hold."""
    model = parts[0].model
    found: dict[str, list[tuple[str, str]]] = {}
    found["embedding"] = [(name, f"phi0_{j}") for j, name in enumerate(model.get_feature_names_out())]
    if {"spread", "std"} & set(wanted):
        found |= _spreads(model)
    if set(wanted) - _WITHOUT_INIT:
        scores = _score(statement, parts, passed_on="embedding" in wanted)
        classes = list(getattr(model, "classes_", range(len(scores))))
        several = [f"_{each}" for each in classes] if len(scores) > 1 else [""]
        found["prediction"] = [(f"prediction{each}", score) for each, score in zip(several, scores)]
        found["score"] = [(f"score{each}", score) for each, score in zip(several, scores)]
    if "label" in wanted:
        rivals = scores if len(scores) > 1 else ["0e0", *scores]
        found["label"] = [("label", of_largest(rivals, [literal(each) for each in classes]))]
    if "probability" in wanted:
        shares = _probabilities(statement, model, scores, 0)
        found["probability"] = [(f"probability_{each}", share) for each, share in zip(classes, shares)]
    return [column for output in wanted for column in found[output]]


def _spreads(model: BaseGBMAP) -> dict[str, list[tuple[str, str]]]:
    """Return the standard deviations of f and of a new y, from the variances of the learners."""
    ensemble, posterior = model.ensemble_, model.predictor_.known_posterior
    classes = getattr(model, "classes_", range(ensemble.n_outputs))
    several = [f"_{each}" for each in classes] if ensemble.n_outputs > 1 else [""]
    found: dict[str, list[tuple[str, str]]] = {"spread": [], "std": []}
    for k, suffix in enumerate(several):
        scale, noise = posterior.target_scale[k], posterior.noise[k]
        variance = add_up(f"v{j}" for j in np.flatnonzero(ensemble.outputs == k))
        found["spread"].append((f"spread{suffix}", f"{number(scale)} * SQRT({variance})"))
        found["std"].append((f"std{suffix}", f"{number(scale)} * SQRT({variance} + {number(noise**2)})"))
    return found


def _score(statement: Statement, parts: Sequence[_Part], *, passed_on: bool) -> list[str]:
    """Add the scores f = f_0 + h of the parts, from the last initial model on; return those of the model."""
    initial: list[str] = []
    for i, part in reversed(list(enumerate(parts))):
        ensemble = part.ensemble
        sums = {
            f"s{i}_{k}": add_up(
                [*initial[k : k + 1], *(f"phi{i}_{j}" for j in np.flatnonzero(ensemble.outputs == k))]
            )
            for k in range(ensemble.n_outputs)
        }
        is_passed_on = passed_on and i == 0
        scores = statement.add(sums, () if is_passed_on else [f"phi{i}_{j}" for j in range(len(ensemble))])
        initial = _as_initial(statement, part.model, scores, i) if i else []
    return scores


def _as_initial(statement: Statement, model: BaseGBMAP, scores: list[str], part: int) -> list[str]:
    """Return what the scores are as those of an initial model: see `gbmap._fit.initial.class_score`."""
    if not model.predictor_.gives_probabilities:
        return scores
    shares = _probabilities(statement, model, scores, part)[-len(scores) :]
    names = statement.add({f"p{part}_{k}": share for k, share in enumerate(shares)})
    clipped = statement.add({f"c{part}_{k}": clip(p, CLIP, 1 - CLIP) for k, p in enumerate(names)})
    return [f"LN({p} / (1e0 - {p}))" for p in clipped]


def _probabilities(statement: Statement, model: BaseGBMAP, scores: list[str], part: int) -> list[str]:
    """Add the steps to normalised probabilities, in log space, and return these."""
    factor = number(model.predictor_.log_odds_per_score)
    against = [f"-{factor} * {score}" for score in scores]
    if len(scores) == 1:
        against.insert(0, f"{factor} * {scores[0]}")
    names = statement.add({f"o{part}_{k}": odds for k, odds in enumerate(against)})
    logs = statement.add({f"l{part}_{k}": f"-({softplus(odds)})" for k, odds in enumerate(names)}, names)
    (top,) = statement.add({f"top{part}": of_largest(logs, logs)})
    raised = {f"e{part}_{k}": exp(f"{log} - {top}") for k, log in enumerate(logs)}
    each = statement.add(raised, [*logs, top])
    (total,) = statement.add({f"total{part}": add_up(each)})
    return [f"{one} / {total}" for one in each]
