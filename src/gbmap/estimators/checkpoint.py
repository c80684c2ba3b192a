"""The checkpoint file, which tells how far a fit has come and from which it can go on."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from gbmap._core.ensemble import Ensemble
from gbmap._files.checks import check_ensemble, need, need_kind
from gbmap._files.codec import Registry, decode, encode
from gbmap._files.container import Container, ModelFileError, read, write
from gbmap._fit.records import Refined, StageRecord
from gbmap.estimators.identity import UnknownContentError, digest_of

# A fit is the same whatever these are: they say how far to go, with how many threads, and what to print. What
# counts of `random_state` is the seed that it gives.
_FREE = {"n_components", "n_jobs", "random_state", "verbose", "warm_start"}


@dataclass(frozen=True)
class Progress:
    """A fit up to some stage.

    Attributes
    ----------
    identity : str
        Tells this fit from others: a digest of the settings and of the data.
    seed : int
    ensemble : Ensemble
    history : list of StageRecord
    is_over : bool
        Whether the fit has stopped early, so that nothing is to be added.
    refined : Refined or None
        What these learners became when they were refined; None if they were not, or not yet.
    """

    identity: str
    seed: int
    ensemble: Ensemble
    history: list[StageRecord]
    is_over: bool
    refined: Refined | None = None


@dataclass(frozen=True)
class Checkpoint:
    """The file of one fit, and what was in it when the fit began.

    Attributes
    ----------
    path : str, path-like or None
        None to keep nothing.
    identity : str
        Tells this fit from others.
    progress : Progress or None
        None if there was no file.
    """

    path: str | os.PathLike[str] | None
    identity: str
    progress: Progress | None

    @classmethod
    def open(cls, path: str | os.PathLike[str], identity: str) -> Checkpoint:
        """Read the file, if there is one; refuse that of another fit."""
        if not os.path.exists(path):
            return cls(path, identity, None)
        container = read(path)
        try:
            progress = decode(container.content, container.arrays, _REGISTRY)
        except ValueError as error:
            raise ModelFileError(f"{os.fspath(path)} is damaged, or no checkpoint: {error}") from error
        if not isinstance(progress, Progress) or progress.identity != identity:
            raise ValueError(
                f"checkpoint must name the file of a fit with the same settings and data; {os.fspath(path)} "
                "is that of another one: delete it, or name another file."
            )
        return cls(path, identity, progress)

    @property
    def is_over(self) -> bool:
        """Whether the fit had stopped early, so that nothing is to be added."""
        return self.progress is not None and self.progress.is_over

    @property
    def refined(self) -> Refined | None:
        """What the learners of the file became when they were refined."""
        return None if self.progress is None else self.progress.refined

    def keep(
        self,
        seed: int,
        ensemble: Ensemble,
        history: list[StageRecord],
        *,
        is_over: bool,
        refined: Refined | None = None,
    ) -> None:
        """Write how far the fit has come, at once or not at all."""
        if self.path is None:
            return
        progress = Progress(self.identity, seed, ensemble, history, is_over, refined)
        write(self.path, Container(*encode(progress, _REGISTRY), {}))


def check_record(record: StageRecord) -> None:
    """Refuse a record of other things than numbers."""
    for value in (record.loss, record.validation_loss):
        need_kind(value, Real, "loss")
    for value in (record.n_iter, record.n_evaluations):
        need_kind(value, Integral, "number of iterations")
    need_kind(record.converged, bool | np.bool_, "end of a stage")
    need_kind(record.group_l2_regularizations, tuple, "ridge")
    for group in (record.l2_regularizations, *record.group_l2_regularizations):
        need_kind(group, tuple, "ridge")
        for value in group:
            need_kind(value, Real, "ridge")


def _check(instance: Any) -> None:
    """Refuse an instance from which no fit could go on."""
    if isinstance(instance, Ensemble):
        check_ensemble(instance)
    if isinstance(instance, StageRecord):
        check_record(instance)
    if isinstance(instance, Progress):
        history = instance.history
        need(type(instance.identity) is str, "a fit without an identity")
        need(isinstance(instance.ensemble, Ensemble), "learners that are none")
        need(type(instance.seed) is int and instance.seed >= 0, "a seed that is none")
        need(
            isinstance(history, list) and all(isinstance(each, StageRecord) for each in history),
            "a history that is none",
        )
        need(len(history) == instance.ensemble.n_stages + 1, "a history that does not fit the stages")
        need_kind(instance.refined, Refined | None, "refinement")
        need(
            instance.refined is None or len(instance.refined.ensemble) == len(instance.ensemble),
            "a refinement of other learners",
        )
    if isinstance(instance, Refined):
        need(isinstance(instance.ensemble, Ensemble), "refined learners that are none")
        need(
            isinstance(instance.n_steps, np.ndarray)
            and instance.n_steps.dtype.kind == "i"
            and instance.n_steps.shape == (instance.ensemble.n_outputs,),
            "iterations that do not fit the outputs",
        )


_REGISTRY = Registry(
    {"Progress": Progress, "Refined": Refined, "Ensemble": Ensemble, "StageRecord": StageRecord},
    _check,
    listed=frozenset({"history"}),
    added={"StageRecord": {"l2_regularizations": ()}},
    dropped={"Refined": frozenset({"curves"})},
)


def identity_of(estimator: Any, seed: int, arrays: list[Any]) -> str:
    """Return a digest of what decides a fit: settings, seed, names of columns and arrays.

    Without a ``random_state`` the seed is that of the file, and tells no fit from another.
    """
    known = {
        "class": type(estimator),
        "seed": None if estimator.random_state is None else seed,
        "names": getattr(estimator, "feature_names_in_", None),
        "arrays": arrays,
    }
    settings = {name: value for name, value in estimator.get_params(deep=False).items() if name not in _FREE}
    parts = []
    for name, value in sorted((known | settings).items()):
        try:
            parts.append(f"{name}={digest_of(value).hex()}")
        except UnknownContentError as error:
            raise ValueError(
                f"checkpoint must be None with {name} of type {type(value).__name__}: a later fit could not "
                f"tell whether it is the same ({error}); pass an estimator or a function in its place."
            ) from error
    return hashlib.sha256(";".join(parts).encode()).hexdigest()
