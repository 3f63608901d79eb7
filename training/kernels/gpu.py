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

from training.decays import per_neuron
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
    x_ptr, bias_ptr, te_ptr, alpha_ptr, beta_ptr, spikes_ptr, v_ptr, flags_ptr, theta_ptr,
    neurons, steps, THETA0: tl.constexpr, WIDTH: tl.constexpr,
    LEARNT: tl.constexpr, NUMBER: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = n < neurons
    # In 64 bits: a large batch has more than 2³¹ values.
    at = tl.program_id(0).to(tl.int64) * steps * neurons + n
    # Constants of the values' own type: a literal would be a float32.
    zero = tl.full((BLOCK,), 0.0, NUMBER)
    one, theta0 = tl.full((BLOCK,), 1.0, NUMBER), tl.full((BLOCK,), THETA0, NUMBER)
    width = tl.full((BLOCK,), WIDTH, NUMBER)
    alpha = tl.load(alpha_ptr + n, mask=inside, other=0.0)
    beta = tl.load(beta_ptr + n, mask=inside, other=0.0)
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
        if LEARNT:
            tl.store(theta_ptr + at, theta, mask=inside)
        at += neurons
        te_at += neurons


@triton.jit
def _backward(  # type: ignore[no-untyped-def]
    grad_ptr, te_ptr, alpha_ptr, beta_ptr, v_ptr, flags_ptr, theta_ptr, grad_x_ptr, grad_te_ptr,
    grad_alpha_ptr, grad_beta_ptr, neurons, steps, THETA0: tl.constexpr,
    LEARNT: tl.constexpr, NUMBER: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = n < neurons
    at = (tl.program_id(0).to(tl.int64) * steps + steps - 1) * neurons + n
    zero = tl.full((BLOCK,), 0.0, NUMBER)
    theta0 = tl.full((BLOCK,), THETA0, NUMBER)
    alpha = tl.load(alpha_ptr + n, mask=inside, other=0.0)
    beta = tl.load(beta_ptr + n, mask=inside, other=0.0)
    grad_v, grad_theta, te = zero, zero, zero  # of the step after, as `te` is
    grad_alpha, grad_beta = zero, zero
    te_at = (steps - 1) * neurons + n
    for _ in range(0, steps):
        v = tl.load(v_ptr + at, mask=inside, other=0.0)
        flags = tl.load(flags_ptr + at, mask=inside, other=0).to(tl.int32)
        from_above = tl.load(grad_ptr + at, mask=inside, other=0.0)
        # A sample's share of TE's gradient at the step after; the caller sums over the batch.
        tl.store(grad_te_ptr + at, grad_theta * v, mask=inside)
        if LEARNT:
            theta = tl.load(theta_ptr + at, mask=inside, other=0.0)
            grad_alpha += tl.where((flags & 2) != 0, zero, grad_v * v)
            grad_beta += grad_theta * (theta - theta0)
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
    if LEARNT:
        own = tl.program_id(0).to(tl.int64) * neurons + n
        tl.store(grad_alpha_ptr + own, grad_alpha, mask=inside)
        tl.store(grad_beta_ptr + own, grad_beta, mask=inside)


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
        ctx: Any, x: torch.Tensor, bias: torch.Tensor, te: torch.Tensor, alpha: torch.Tensor,
        beta: torch.Tensor, theta0: float, width: float,
    ) -> torch.Tensor:  # fmt: skip
        x, bias, te = x.contiguous(), bias.contiguous(), te.contiguous()
        spikes, v = torch.empty_like(x), torch.empty_like(x)
        flags = torch.empty_like(x, dtype=torch.uint8)
        alpha, beta = alpha.contiguous(), beta.contiguous()
        # Only the gradients of the decays need Θ; without them no memory is written for it.
        learnt = any(ctx.needs_input_grad[3:5])
        theta = torch.empty_like(x) if learnt else v
        grid, options = _grid(x)
        constants = {"THETA0": theta0, "WIDTH": width, "LEARNT": learnt}
        given = (x, bias, te, alpha, beta, spikes, v, flags, theta, x.shape[2], x.shape[1])
        _forward[grid](*given, **constants, **options)
        ctx.theta0 = theta0
        ctx.save_for_backward(te, alpha, beta, v, flags, theta)
        return spikes

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        te, alpha, beta, v, flags, theta = ctx.saved_tensors
        grad = grads[0].contiguous()
        grad_x, shares = torch.empty_like(v), torch.empty_like(v)
        learnt = any(ctx.needs_input_grad[3:5])
        of_decays = [v.new_empty(len(v), v.shape[2]) if learnt else v for _ in range(2)]
        grid, options = _grid(v)
        given = (grad, te, alpha, beta, v, flags, theta, grad_x, shares, *of_decays)
        constants = {"THETA0": ctx.theta0, "LEARNT": learnt}
        _backward[grid](*given, v.shape[2], v.shape[1], **constants, **options)
        grad_te = torch.zeros_like(te)
        grad_te[1:] = shares[:, :-1].sum(0)  # TE of the first step meets V = 0
        decays = [each.sum(0) for each in of_decays] if learnt else [None, None]
        return grad_x, grad_x.sum((0, 1)), grad_te, *decays, None, None


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
    decays = per_neuron(te, p.alpha, p.beta)
    with torch.cuda.device_of(current):  # Triton launches on the current device
        given = (current.transpose(1, 2), bias, te.t(), *decays)
        spikes = _Celif.apply(*given, p.theta0, width)
    return spikes.transpose(1, 2)
