"""How far a fit has come: a record of each stage, and the checkpoint file from which it can go on."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse

from gbmap._core.ensemble import Ensemble
from gbmap._files.checks import check_ensemble, need, need_kind
from gbmap._files.codec import Registry, decode, encode
from gbmap._files.container import Container, ModelFileError, read, write
from gbmap._shown import Result, Shown, cell

# A fit is the same whatever these are: they say how far to go, with how many threads, and what to print.
_FREE = {"n_components", "n_jobs", "verbose", "warm_start", "random_state", "refine_starts"}


@dataclass(frozen=True, repr=False)
class StageRecord(Result):
    """What one boosting stage reached and what it took; stage 0 is f_0.

    Attributes
    ----------
    loss, validation_loss : float
        Mean loss of the model so far, in the units of y; the second is NaN without validation rows.
    n_iter : int
        Iterations of the solver, the most of any output.
    n_evaluations : int
        Passes over all rows, of all outputs together.
    converged : bool
        Whether the solver ended at a minimum, as far as ``tol`` tells one: its last iteration gained less
        than that, Newton's step promises less than ten times as much, and it had iterations left. True for
        f_0.
    """

    loss: float
    validation_loss: float
    n_iter: int = 0
    n_evaluations: int = 0
    converged: bool = True

    def _shown(self) -> Shown:
        is_watched = self.validation_loss == self.validation_loss
        watched = f" ({cell(self.validation_loss)} of validation rows)" if is_watched else ""
        work = f"{self.n_iter} iterations, {self.n_evaluations} evaluations"
        end = "converged" if self.converged else "not converged"
        return Shown(f"loss {cell(self.loss)}{watched}, {work}, {end}")


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
    """

    identity: str
    seed: int
    ensemble: Ensemble
    history: list[StageRecord]
    is_over: bool


@dataclass(frozen=True)
class Checkpoint:
    """The file of one fit, and what was in it when the fit began.

    Attributes
    ----------
    path : str or path-like
    identity : str
        Tells this fit from others.
    progress : Progress or None
        None if there was no file.
    """

    path: str | os.PathLike[str]
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

    def keep(self, seed: int, ensemble: Ensemble, history: list[StageRecord], *, is_over: bool) -> None:
        """Write how far the fit has come, at once or not at all."""
        progress = Progress(self.identity, seed, ensemble, history, is_over)
        write(self.path, Container(*encode(progress, _REGISTRY), {}))


def check_record(record: StageRecord) -> None:
    """Refuse a record of other things than numbers."""
    for value in (record.loss, record.validation_loss):
        need_kind(value, Real, "loss")
    for value in (record.n_iter, record.n_evaluations):
        need_kind(value, Integral, "number of iterations")
    need_kind(record.converged, bool | np.bool_, "end of a stage")


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


_REGISTRY = Registry(
    {"Progress": Progress, "Ensemble": Ensemble, "StageRecord": StageRecord},
    _check,
    listed=frozenset({"history"}),
)


def identity_of(estimator: Any, arrays: list[Any]) -> str:
    """Return a digest of an estimator's settings and of arrays, dense or sparse, in any order of memory."""
    digest = hashlib.sha256(type(estimator).__name__.encode())
    for name, value in sorted(estimator.get_params(deep=False).items()):
        if name not in _FREE:
            digest.update(f"{name}={_describe(value)};".encode())
    for array in arrays:
        for part in _parts(array):
            digest.update(f"{part.dtype.str}{part.shape}".encode())
            digest.update(_bytes(part))
    return digest.hexdigest()


def _describe(value: Any) -> str:
    """Return a text that is the same in another process: no addresses."""
    if isinstance(value, np.ndarray):
        return repr(value.tolist())
    if callable(value) and not hasattr(value, "fit"):
        return str(getattr(value, "__qualname__", type(value).__qualname__))
    if " object at 0x" in repr(value):
        return f"{type(value).__qualname__}{sorted(vars(value).items())}"
    return repr(value)


def _parts(array: Any) -> Iterator[Any]:
    if array is None:
        return
    if scipy.sparse.issparse(array):
        yield from (array.data, array.indices, array.indptr)
    else:
        yield np.asarray(array)


def _bytes(array: Any) -> Any:
    if array.dtype.kind in "OU":
        return repr(array.tolist()).encode()
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
