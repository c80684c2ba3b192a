"""What every method looks like to the experiments: a fit to time, coordinates to use, scores to tune."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from numpy.typing import NDArray

from benchmarks.data import Data, Split
from benchmarks.environment import version_of

T = TypeVar("T")
Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Result:
    """One fit: wall-clock seconds; mean training loss and passes over the data where a method has them."""

    seconds: float
    loss: float | None = None
    passes: float | None = None
    peer: str = ""
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Coordinates:
    """m coordinates of the training and of the test rows, and the seconds of the fit that gave them."""

    m: int
    train: NDArray[Any]
    test: NDArray[Any]
    seconds: float
    peer: str = ""
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What a model of some size cost, and the scores f that it gives to the test rows."""

    seconds: float
    parameters: int
    scores: NDArray[Any]
    peer: str = ""


class MissingPeerError(RuntimeError):
    """A method cannot run because it, or its environment, is not installed."""


class Method(Protocol):
    """One way to fit data.

    ``fit`` imports what it needs, prepares it, and times only the fit. ``m`` is the number of embedding
    coordinates; ``threads`` is None where a method shall use what it uses by itself.
    """

    @property
    def name(self) -> str: ...

    @property
    def m(self) -> int | None: ...

    def fit(self, data: Data, *, seed: int, threads: int | None = None) -> Result: ...


class Embedding(Protocol):
    """One way to make coordinates: yields those of each size it can do, in the order of the sizes."""

    @property
    def name(self) -> str: ...

    def embed(self, split: Split, sizes: Sequence[int], *, seed: int) -> Iterator[Coordinates]: ...


class Predictor(Protocol):
    """One way to predict, with settings to choose.

    ``space`` holds what is drawn at random. ``train`` fits the largest model unless the settings name a
    ``size``; ``path`` gives the scores f of rows at every size that one fit holds. ``told`` is what a fit has
    chosen by itself.
    """

    @property
    def name(self) -> str: ...

    def space(self, data: Data) -> Mapping[str, Any]: ...

    def train(self, data: Data, settings: Settings, *, seed: int) -> Any: ...

    def path(self, model: Any, X: NDArray[Any]) -> dict[int, NDArray[Any]]: ...

    def told(self, model: Any) -> Mapping[str, float]: ...

    def peer(self) -> str: ...


class Sized(Protocol):
    """One way to predict, at several sizes of the model, with settings as they come."""

    @property
    def name(self) -> str: ...

    @property
    def sizes(self) -> tuple[int, ...]: ...

    def at(self, size: int, split: Split, *, seed: int) -> Outcome: ...


def timed(call: Callable[[], T]) -> tuple[float, T]:
    """Wall-clock seconds of a call, and what it returned."""
    start = time.perf_counter()
    value = call()
    return time.perf_counter() - start, value


def worked(call: Callable[[], T]) -> tuple[float, T]:
    """Processor seconds of a call, which other processes hardly lengthen, and what it returned."""
    start = time.process_time()
    value = call()
    return time.process_time() - start, value


def peer_versions(*distributions: str) -> str:
    """``"name version"`` of each distribution."""
    return ", ".join(f"{name} {version_of(name)}" for name in distributions)
