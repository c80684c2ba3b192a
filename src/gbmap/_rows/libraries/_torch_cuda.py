"""A pass over rows on a CUDA device: its pointwise part in one kernel instead of thirty, its calls in one.

For PyTorch tensors. Needs Triton, which comes with PyTorch's builds for CUDA.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

from gbmap._core.activation import Softplus
from gbmap._core.losses import LogLoss, SquaredError
from gbmap._core.objective import Objective
from gbmap._rows.libraries.torch import full_precision

_ROWS = 1024  # of a program at a time
_PROGRAMS_PER_PROCESSOR = 16
_CALLS_BEFORE_RECORDING = 2  # recording takes the time of about as many calls
_LOSSES = {LogLoss: 0, SquaredError: 1}


class Pass:
    """A pass over rows for some candidates; made often, it is recorded as a graph of kernels, and replayed.

    X is read twice, by the two products with it. A replay is one call to the device instead of a dozen,
    which on few rows is most of the time.
    """

    def __init__(self, objective: Objective, X: Any, y: Any, F: Any, weight: Any, n_candidates: int):
        n, p = X.shape
        self._X, self._y, self._weight, self._score = X, y, weight, F
        self._loss, self._beta = _LOSSES[type(objective.loss)], float(objective.activation.beta)
        processors = torch.cuda.get_device_properties(X.device).multi_processor_count
        n_programs = min(_PROGRAMS_PER_PROCESSOR * processors, triton.cdiv(n, _ROWS))
        there = {"dtype": X.dtype, "device": X.device}
        self._F = F.clone()
        self._z = torch.empty((n_candidates, n), **there)
        self._parts = torch.empty((n_candidates, n_programs, 3), **there)
        self._theta = torch.zeros((n_candidates, p + 3), **there)  # a, v, d, sign
        self._host_theta = torch.zeros((n_candidates, p + 3), dtype=X.dtype, pin_memory=True)
        self._host_sums = torch.zeros((n_candidates, p + 3), dtype=torch.float64, pin_memory=True)
        self._n_calls = 0
        self._graph: Any = None

    @staticmethod
    def covers(objective: Objective, X: Any) -> bool:
        """Return whether the kernel is for this problem."""
        covered = type(objective.loss) in _LOSSES and isinstance(objective.activation, Softplus)
        return covered and X.is_cuda and X.dtype == torch.float32

    def __call__(self, thetas: Any, signs: Any, F: Any) -> Any:
        """Return `Objective.block_sums` of folded learners (a, v, d), in memory."""
        if F is not self._score:
            self._F.copy_(F)
            self._score = F
        here = self._host_theta.numpy()
        here[:, :-1], here[:, -1] = thetas, signs
        with torch.cuda.device(self._X.device):
            self._compute()
            torch.cuda.current_stream().synchronize()
        return self._host_sums.numpy().copy()

    def _compute(self) -> None:
        """Turn what the host tells into the sums that it reads, by one call once these are recorded."""
        self._n_calls += 1
        if self._n_calls <= _CALLS_BEFORE_RECORDING:
            self._run()
            return
        if self._graph is None:
            self._record()
        self._graph.replay()

    def _record(self) -> None:
        """Record a run; PyTorch's context manager for it would collect garbage first, which takes longer."""
        graph, aside = torch.cuda.CUDAGraph(), _stream_aside(self._X.device)
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            graph.capture_begin()
            try:
                self._run()
            finally:
                graph.capture_end()
        torch.cuda.current_stream().wait_stream(aside)
        self._graph = graph

    def _run(self) -> None:
        n, p = self._X.shape
        self._theta.copy_(self._host_theta, non_blocking=True)
        n_candidates, n_programs, _ = self._parts.shape
        self._project(self._theta[:, 1 : 1 + p])
        _pointwise[(n_programs, n_candidates)](
            self._z, self._y, self._F, self._F if self._weight is None else self._weight, self._theta,
            self._parts, n, p, self._beta, ROWS=_ROWS, LOSS=self._loss, WEIGHTED=self._weight is not None,
        )  # fmt: skip
        sums = self._parts.sum(dim=1, dtype=torch.float64)
        total = torch.cat([sums[:, :2], self._pulled_back().double(), sums[:, 2:]], dim=1)
        self._host_sums.copy_(total, non_blocking=True)

    def _project(self, v: Any) -> None:
        """Write w . x of every candidate and row into z; a vector alone is quicker as one."""
        if len(v) == 1:
            torch.mv(self._X, v[0], out=self._z[0])
        else:
            with full_precision():
                torch.mm(v, self._X.T, out=self._z)

    def _pulled_back(self) -> Any:
        if len(self._z) == 1:
            return torch.mv(self._X.T, self._z[0])[None]
        with full_precision():
            return torch.mm(self._z, self._X)


@lru_cache
def _stream_aside(device: Any) -> Any:
    """Return the stream of a device for recording: each has memory of its own for products."""
    return torch.cuda.Stream(device)


@triton.jit
def _pointwise(
    z, y, F, weight, theta, sums, n, p, beta,
    ROWS: tl.constexpr, LOSS: tl.constexpr, WEIGHTED: tl.constexpr,
):  # fmt: skip
    """Overwrite w . x with the derivative of the loss in it, and sum loss and derivatives."""
    z += tl.program_id(1).to(tl.int64) * n
    theta += tl.program_id(1) * (p + 3)
    sums += (tl.program_id(1) * tl.num_programs(0) + tl.program_id(0)) * 3
    a = tl.load(theta)
    c = tl.load(theta + 1 + p)
    sign = tl.load(theta + 2 + p)
    total = 0.0
    along_a = 0.0
    along_c = 0.0
    for start in range(tl.program_id(0) * ROWS, n, tl.num_programs(0) * ROWS):
        rows = start + tl.arange(0, ROWS)
        inside = rows < n
        t = beta * (tl.load(z + rows, mask=inside, other=0.0) + c)
        e = tl.exp(-tl.abs(t))
        g = (tl.maximum(t, 0.0) + libdevice.log1p(e)) / beta
        slope = tl.where(t >= 0, 1.0, e) / (1.0 + e)
        target = tl.load(y + rows, mask=inside, other=0.0)
        f = tl.load(F + rows, mask=inside, other=0.0) + a + sign * g
        if LOSS == 0:
            margin = target * f
            e = tl.exp(-tl.abs(margin))
            value = tl.maximum(-margin, 0.0) + libdevice.log1p(e)
            along_f = -target * tl.where(margin >= 0, e, 1.0) / (1.0 + e)
        else:
            value = (f - target) * (f - target)
            along_f = 2.0 * (f - target)
        share = tl.where(inside, 1.0, 0.0)
        if WEIGHTED:
            share = tl.load(weight + rows, mask=inside, other=0.0)
        value *= share
        along_f *= share
        along_z = along_f * sign * slope
        tl.store(z + rows, along_z, mask=inside)
        total += tl.sum(value, axis=0)
        along_a += tl.sum(along_f, axis=0)
        along_c += tl.sum(along_z, axis=0)
    tl.store(sums, total)
    tl.store(sums + 1, along_a)
    tl.store(sums + 2, along_c)
