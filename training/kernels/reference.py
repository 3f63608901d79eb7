"""Differentiable loops over a neuron's step: the ground truth for the compiled kernels.

They are slow and plain: autograd sees every operation. The spike's derivative is the paper's
boxcar, 1 where |V − Θ| < Γ, or a Gaussian.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch

from training.dynamics import Params, State, advance, step
from training.kernels.scans import gated
from training.kernels.scans.gated import Gates


class Boxcar(torch.autograd.Function):
    """Heaviside of v − theta (≥) forward, a box of half-width ``width`` backward."""

    @staticmethod
    def forward(ctx: Any, v: torch.Tensor, theta: torch.Tensor, width: float) -> torch.Tensor:
        """Spike where v ≥ theta."""
        ctx.save_for_backward((v - theta).abs() < width)
        return (v >= theta).to(v.dtype)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, None]:
        """Pass the gradient to v, and its opposite to theta, inside the box."""
        (inside,) = ctx.saved_tensors
        g = grads[0] * inside
        return g, -g, None


class Gaussian(torch.autograd.Function):
    """Heaviside of v − theta (≥) forward, a normal density times ``scale`` backward."""

    @staticmethod
    def forward(
        ctx: Any, v: torch.Tensor, theta: torch.Tensor, sigma: float, scale: float
    ) -> torch.Tensor:
        """Spike where v ≥ theta."""
        ctx.save_for_backward(v - theta)
        ctx.sigma, ctx.scale = sigma, scale
        return (v >= theta).to(v.dtype)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, None, None]:
        """Pass the weighted gradient to v, and its opposite to theta."""
        (above,) = ctx.saved_tensors
        density = torch.exp(-0.5 * (above / ctx.sigma) ** 2) / (ctx.sigma * math.sqrt(2 * math.pi))
        g = grads[0] * density * ctx.scale
        return g, -g, None, None


class States(NamedTuple):
    """Spikes, membrane (before reset) and threshold at every step, each (batch, neuron, time)."""

    s: torch.Tensor
    v: torch.Tensor
    theta: torch.Tensor


def scan(
    current: torch.Tensor,
    te: torch.Tensor,
    p: Params,
    width: float,
    drive: Callable[[torch.Tensor, torch.Tensor], torch.Tensor] | None = None,
    gamma: float = 0.0,
) -> States:
    """Run the recurrence over ``current`` (batch, neuron, time) with ``te`` (neuron, time).

    A recurrent layer's ``drive`` makes I[t], in TE's type, of current[t] and S[t−1]. A ``gamma``
    other than 0 adds γ·S[t−1] to the threshold, as ALIF has it.
    """

    def spike(v: torch.Tensor, theta: torch.Tensor) -> torch.Tensor:
        return Boxcar.apply(v, theta, width)

    rest = torch.zeros_like(current[..., 0], dtype=te.dtype)
    state = State(theta=rest + p.theta0, v=rest, s=rest)
    states = []
    # unbind, not indexing: the backward pass of te[:, t] would allocate a whole table per step.
    for x, te_t in zip(current.unbind(-1), te.unbind(-1), strict=True):
        arriving = x if drive is None else drive(x, state.s)
        if gamma:
            state = advance(arriving, gamma * state.s + te_t * state.v, state, p, spike)
        else:
            state = step(arriving, te_t, state, p, spike)
        states.append(state)
    return States(*(torch.stack([getattr(s, name) for s in states], -1) for name in States._fields))


def celif(
    current: torch.Tensor,
    te: torch.Tensor,
    p: Params,
    width: float,
    bias: torch.Tensor | None = None,
) -> torch.Tensor:
    """Spikes of the recurrence; same signature as :func:`training.kernels.fused.celif`."""
    return scan(current if bias is None else current + bias[:, None], te, p, width).s


def gated_states(
    current: torch.Tensor,
    gates: Gates,
    r: float,
    spike: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    gain: torch.Tensor | None = None,
    weight: torch.Tensor | None = None,
) -> Iterator[State]:
    """Yield the state of :func:`training.kernels.scans.gated.step` after every step.

    ``gain`` (time,) multiplies the current, ``weight`` (to, from) feeds the spikes back.
    """
    rest = torch.zeros_like(current[..., 0])
    state = State(rest + gates.theta0, rest, rest)
    for t, x in enumerate(current.unbind(-1)):
        if weight is not None:
            x = x + state.s @ weight.t()
        state = gated.step(x if gain is None else gain[t] * x, state, gates, r, spike)
        yield state
