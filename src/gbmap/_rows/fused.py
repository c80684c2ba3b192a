"""The pointwise part of a pass over rows on a CUDA device, in one kernel instead of thirty.

For PyTorch tensors. Needs Triton, which comes with PyTorch's builds for CUDA.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

from gbmap._core.activation import Softplus
from gbmap._core.losses import LogLoss, SquaredError
from gbmap._core.objective import Objective

_ROWS = 1024  # of a program at a time
_PROGRAMS_PER_PROCESSOR = 16
_LOSSES = {LogLoss: 0, SquaredError: 1}


def applies(objective: Objective, X: Any) -> bool:
    """Return whether the kernel covers this problem."""
    covered = type(objective.loss) in _LOSSES and isinstance(objective.activation, Softplus)
    return covered and X.is_cuda and X.dtype == torch.float32


def block_sums(
    objective: Objective, theta: Any, sign: float, X: Any, y: Any, F: Any, weight: Any = None
) -> Any:
    """Return `Objective.block_sums`: X is read twice, by the two products with it."""
    n = X.shape[0]
    z = torch.mv(X, theta[1:-1])
    processors = torch.cuda.get_device_properties(X.device).multi_processor_count
    n_programs = min(_PROGRAMS_PER_PROCESSOR * processors, triton.cdiv(n, _ROWS))
    sums = torch.empty((n_programs, 3), dtype=torch.float32, device=X.device)
    with torch.cuda.device(X.device):
        _pointwise[(n_programs,)](
            z, y, F, F if weight is None else weight, theta, sums,
            n, X.shape[1], float(objective.activation.beta), float(sign),
            ROWS=_ROWS, LOSS=_LOSSES[type(objective.loss)], WEIGHTED=weight is not None,
        )  # fmt: skip
    value, along_a, along_c = sums.sum(dim=0, dtype=torch.float64).split(1)
    return torch.cat([value, along_a, torch.mv(X.T, z).double(), along_c])


@triton.jit
def _pointwise(
    z, y, F, weight, theta, sums, n, p, beta, sign,
    ROWS: tl.constexpr, LOSS: tl.constexpr, WEIGHTED: tl.constexpr,
):  # fmt: skip
    """Overwrite w . x with the derivative of the loss in it, and sum loss and derivatives."""
    a = tl.load(theta)
    c = tl.load(theta + 1 + p)
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
    tl.store(sums + tl.program_id(0) * 3, total)
    tl.store(sums + tl.program_id(0) * 3 + 1, along_a)
    tl.store(sums + tl.program_id(0) * 3 + 2, along_c)
