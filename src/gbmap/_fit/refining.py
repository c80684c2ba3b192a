"""The learners of a fit, optimised together in the end."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from gbmap._core.ensemble import Ensemble
from gbmap._core.refinement import MOST_STEPS, refine, refined_ensemble
from gbmap._fit.problem import FitProblem, FitSettings
from gbmap._fit.records import Refined, StageRecord, logger
from gbmap._fit.sources import Source


@dataclass(frozen=True)
class Boosted:
    """A boosted fit, with all that it takes to refine it.

    Attributes
    ----------
    ensemble : Ensemble
        The learners.
    problem : FitProblem
    origin : object
        The scores that boosting began with, as `FitProblem.remember` gives them.
    settings : FitSettings
    source : Source
        The rows.
    history : list of StageRecord
    """

    ensemble: Ensemble
    problem: FitProblem
    origin: Any
    settings: FitSettings
    source: Source
    history: list[StageRecord]


def refine_fit(fit: Boosted) -> Refined:
    """Optimise the learners of a fit together, with ridges told by those that they were found with."""
    ensemble, problem, engine = fit.ensemble, fit.problem, fit.problem.engine
    asked, ridges = fit.settings.refine, problem.own_ridges(ensemble, fit.history)
    if not _bend_alike(problem, ensemble):
        if asked == "auto":
            return Refined(ensemble, np.zeros(ensemble.n_outputs, dtype=int))
        raise ValueError(
            "refine must be 'auto' or False when learners of an earlier fit have another beta, or come from "
            "a y of another spread: learners that bend alike are optimised together. Set warm_start=False to "
            "start anew."
        )
    problem.restore(fit.origin)
    most = (
        int(asked) if isinstance(asked, Integral) and not isinstance(asked, bool | np.bool_) else MOST_STEPS
    )
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows does not lower the loss
        found = [
            refine(
                engine,
                ensemble,
                output,
                ridges[ensemble.outputs == output],
                most,
                must_pay=isinstance(asked, str),
            )
            for output in range(ensemble.n_outputs)
        ]
    n_steps = np.array([each.n_steps for each in found])
    logger.info("refined by %s iterations", ", ".join(map(str, n_steps)))
    if n_steps.any():
        ensemble = refined_ensemble(ensemble, found, engine.samples[0], problem.rows.units, engine.objective)
    return Refined(ensemble, n_steps)


def _bend_alike(problem: FitProblem, ensemble: Ensemble) -> bool:
    bends = ensemble.beta * problem.rows.units.target_scale[ensemble.outputs]
    return np.allclose(bends, problem.engine.objective.activation.beta, rtol=1e-6, atol=0.0)
