"""What every method looks like to the runner."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from benchmarks.data import Data
from benchmarks.environment import version_of

T = TypeVar("T")


@dataclass(frozen=True)
class Result:
    """One fit: wall-clock seconds; mean training loss and passes over the data where a method has them."""

    seconds: float
    loss: float | None = None
    passes: float | None = None
    peer: str = ""
    extra: dict[str, Any] = field(default_factory=dict)


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


def timed(call: Callable[[], T]) -> tuple[float, T]:
    """Wall-clock seconds of a call, and what it returned."""
    start = time.perf_counter()
    value = call()
    return time.perf_counter() - start, value


def peer_versions(*distributions: str) -> str:
    """``"name version"`` of each distribution."""
    return ", ".join(f"{name} {version_of(name)}" for name in distributions)
