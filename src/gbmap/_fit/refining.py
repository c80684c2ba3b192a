"""The learners of a fit, optimised together in the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gbmap._core.ensemble import Ensemble
from gbmap._core.refinement import MOST_STEPS, refine, refined_ensemble
from gbmap._fit.log import logger
from gbmap._fit.problem import FitProblem
from gbmap._fit.records import Refined
from gbmap._fit.settings import FitSettings
from gbmap._fit.sources import Source
from gbmap._utils.typing import Array


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
    l2_regularizations : tuple of float
        Those of the last learners; empty if there are none, or if all have the same.
    """

    ensemble: Ensemble
    problem: FitProblem
    origin: Any
    settings: FitSettings
    source: Source
    l2_regularizations: tuple[float, ...] = ()

    @property
    def ridges(self) -> Array:
        """The ridge of each output: that of its last learner."""
        if not self.l2_regularizations:
            return np.full(self.ensemble.n_outputs, self.problem.engine.objective.ridge)
        return np.array(self.l2_regularizations) * self.problem.ridge_unit


def refine_fit(fit: Boosted) -> Refined:
    """Optimise the learners of a fit together, each output with the ridge of its last learner."""
    ensemble, problem, engine = fit.ensemble, fit.problem, fit.problem.engine
    _check_beta(problem, ensemble)
    problem.restore(fit.origin)
    asked = fit.settings.refine
    most = MOST_STEPS if isinstance(asked, bool | np.bool_) else int(asked)
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows does not lower the loss
        found = [
            refine(engine.with_ridge(ridge), ensemble, output, most)
            for output, ridge in enumerate(fit.ridges)
        ]
    n_steps = np.array([each.n_steps for each in found])
    logger.info("refined by %s iterations", ", ".join(map(str, n_steps)))
    if n_steps.any():
        ensemble = refined_ensemble(ensemble, found, engine.samples[0], problem.rows.units, engine.objective)
    return Refined(ensemble, n_steps)


def _check_beta(problem: FitProblem, ensemble: Ensemble) -> None:
    bends = ensemble.beta * problem.rows.units.target_scale[ensemble.outputs]
    if not np.allclose(bends, problem.engine.objective.activation.beta, rtol=1e-6, atol=0.0):
        raise ValueError(
            "refine must be False when learners of an earlier fit have another beta, or come from a y of "
            "another spread: learners that bend alike are optimised together. Set warm_start=False to start "
            "anew."
        )
