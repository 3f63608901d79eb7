"""The CE-LIF scan on a GPU, in Triton: one program walks a block of neurons of a sample in time.

The second mirror of :func:`training.dynamics.step` and of its adjoint, which Triton cannot call;
tests hold outputs and gradients to the reference in Triton's interpreter, and compile both kernels
for a GPU. None was at hand: they have never run on one, nor been timed.

Import this module only where Triton is installed; :mod:`training.functional` does so when asked
for ``backend="triton"``, or for a CUDA tensor.
"""

# No "from __future__ import annotations": Triton looks for the object tl.constexpr.

from typing import Any

import torch
import triton
import triton.language as tl
from torch.autograd.function import once_differentiable

from training.dynamics import Params

DTYPES = (torch.float32, torch.float64)
"""What the kernels compute in."""

FUSION = False
"""Whether a product and a sum may be rounded at once: the bits would not be the reference's."""

# Neurons of a program: a warp takes four each. More would leave a GPU idle, because a layer has a
# hundred or two.
_LARGEST_BLOCK = 128
_TYPES = {torch.float32: tl.float32, torch.float64: tl.float64}


@triton.jit
def _forward(  # type: ignore[no-untyped-def]
    x_ptr, bias_ptr, te_ptr, spikes_ptr, v_ptr, flags_ptr, neurons, steps,
    ALPHA: tl.constexpr, BETA: tl.constexpr, THETA0: tl.constexpr, WIDTH: tl.constexpr,
    NUMBER: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = n < neurons
    # In 64 bits: a large batch has more than 2³¹ values.
    at = tl.program_id(0).to(tl.int64) * steps * neurons + n
    # Constants of the values' own type: a literal would be a float32.
    zero = tl.full((BLOCK,), 0.0, NUMBER)
    one, alpha = tl.full((BLOCK,), 1.0, NUMBER), tl.full((BLOCK,), ALPHA, NUMBER)
    beta, theta0 = tl.full((BLOCK,), BETA, NUMBER), tl.full((BLOCK,), THETA0, NUMBER)
    width = tl.full((BLOCK,), WIDTH, NUMBER)
    bias = tl.load(bias_ptr + n, mask=inside, other=0.0)
    theta, v, s = theta0, zero, zero
    te_at = n
    for _ in range(0, steps):
        te = tl.load(te_ptr + te_at, mask=inside, other=0.0)
        current = tl.load(x_ptr + at, mask=inside, other=0.0) + bias
        theta = beta * (theta - theta0) + te * v + theta0
        decayed = alpha * v
        v = decayed - decayed * s + current
        spiked = v >= theta
        distance = tl.where(spiked, v - theta, theta - v)
        flags = tl.where(distance < width, 1, 0) + tl.where(spiked, 2, 0)
        s = tl.where(spiked, one, zero)
        tl.store(spikes_ptr + at, s, mask=inside)
        tl.store(v_ptr + at, v, mask=inside)
        tl.store(flags_ptr + at, flags.to(tl.uint8), mask=inside)
        at += neurons
        te_at += neurons


@triton.jit
def _backward(  # type: ignore[no-untyped-def]
    grad_ptr, te_ptr, v_ptr, flags_ptr, grad_x_ptr, grad_te_ptr, neurons, steps,
    ALPHA: tl.constexpr, BETA: tl.constexpr, NUMBER: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = n < neurons
    at = (tl.program_id(0).to(tl.int64) * steps + steps - 1) * neurons + n
    zero = tl.full((BLOCK,), 0.0, NUMBER)
    alpha, beta = tl.full((BLOCK,), ALPHA, NUMBER), tl.full((BLOCK,), BETA, NUMBER)
    grad_v, grad_theta, te = zero, zero, zero  # of the step after, as `te` is
    te_at = (steps - 1) * neurons + n
    for _ in range(0, steps):
        v = tl.load(v_ptr + at, mask=inside, other=0.0)
        flags = tl.load(flags_ptr + at, mask=inside, other=0).to(tl.int32)
        from_above = tl.load(grad_ptr + at, mask=inside, other=0.0)
        # A sample's share of TE's gradient at the step after; the caller sums over the batch.
        tl.store(grad_te_ptr + at, grad_theta * v, mask=inside)
        through_v = grad_v * alpha
        through_s = from_above - through_v * v
        boxed = tl.where((flags & 1) != 0, through_s, zero)
        kept = tl.where((flags & 2) != 0, zero, through_v)
        grad_v = boxed + kept + grad_theta * te
        grad_theta = grad_theta * beta - boxed
        tl.store(grad_x_ptr + at, grad_v, mask=inside)
        te = tl.load(te_ptr + te_at, mask=inside, other=0.0)
        at -= neurons
        te_at -= neurons


def _grid(x: torch.Tensor) -> tuple[tuple[int, int], dict[str, Any]]:
    """Programs for memory (batch, time, neuron), and the options of their launch."""
    batch, _, neurons = x.shape
    block = min(_LARGEST_BLOCK, triton.next_power_of_2(neurons))
    options = {"NUMBER": _TYPES[x.dtype], "BLOCK": block}
    options |= {"num_warps": 1, "enable_fp_fusion": FUSION}
    return (batch, triton.cdiv(neurons, block)), options


class _Celif(torch.autograd.Function):
    """Memory is (batch, time, neuron) in here; the public layout is a transposed view."""

    @staticmethod
    def forward(
        ctx: Any, x: torch.Tensor, bias: torch.Tensor, te: torch.Tensor, p: Params, width: float
    ) -> torch.Tensor:
        x, bias, te = x.contiguous(), bias.contiguous(), te.contiguous()
        spikes, v = torch.empty_like(x), torch.empty_like(x)
        flags = torch.empty_like(x, dtype=torch.uint8)
        grid, options = _grid(x)
        constants = {"ALPHA": p.alpha, "BETA": p.beta, "THETA0": p.theta0, "WIDTH": width}
        sizes = (x.shape[2], x.shape[1])
        _forward[grid](x, bias, te, spikes, v, flags, *sizes, **constants, **options)
        ctx.p = p
        ctx.save_for_backward(te, v, flags)
        return spikes

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        te, v, flags = ctx.saved_tensors
        grad = grads[0].contiguous()
        grad_x, shares = torch.empty_like(v), torch.empty_like(v)
        grid, options = _grid(v)
        constants = {"ALPHA": ctx.p.alpha, "BETA": ctx.p.beta}
        sizes = (v.shape[2], v.shape[1])
        _backward[grid](grad, te, v, flags, grad_x, shares, *sizes, **constants, **options)
        grad_te = torch.zeros_like(te)
        grad_te[1:] = shares[:, :-1].sum(0)  # TE of the first step meets V = 0
        return grad_x, grad_x.sum((0, 1)), grad_te, None, None


def celif(
    current: torch.Tensor,
    te: torch.Tensor,
    p: Params,
    width: float,
    bias: torch.Tensor | None = None,
) -> torch.Tensor:
    """Spikes of the recurrence; same signature as :func:`training.kernels.reference.celif`."""
    if bias is None:
        bias = current.new_zeros(current.shape[1])
    with torch.cuda.device_of(current):  # Triton launches on the current device
        spikes = _Celif.apply(current.transpose(1, 2), bias, te.t(), p, width)
    return spikes.transpose(1, 2)
