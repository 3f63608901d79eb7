"""Temporal encodings: a learnable table, or one that is computed.

TE-R, the paper's authors' later encoding: one learnable frequency per neuron, N parameters in
place of N·T::

    TE[n, t] = 0.1 · cos(ω_n · δ_n · t)        δ_n = 0.1 / 100^(n/N), fixed

with t = 0 at the first step. The table is an ordinary differentiable function of ω, so the fused
kernel's gradient of TE reaches ω by the chain rule.
"""

from __future__ import annotations

import math

import torch
from torch import nn

TE_MEAN, TE_STD = 0.01, 0.01
"""Of a table's values at first."""

AMPLITUDE = 0.1
"""Of every wave."""

_FASTEST, _RATIO = 0.1, 100.0
_OFFSET = 0.99


class Cosine(nn.Module):
    """TE-R: a cosine per neuron, of learnable frequency ω, over ``steps`` steps."""

    def __init__(self, neurons: int, steps: int) -> None:
        super().__init__()
        self.steps = steps
        self.omega = nn.Parameter(2 * math.pi * (torch.rand(neurons) + _OFFSET))
        ranks = torch.arange(neurons, dtype=torch.float64) / neurons
        self.register_buffer("delta", (_FASTEST / _RATIO**ranks).float(), persistent=False)

    @property
    def shape(self) -> torch.Size:
        """Of the table, (neuron, step)."""
        return torch.Size([len(self.omega), self.steps])

    @property
    def dtype(self) -> torch.dtype:
        """Of the table."""
        return self.omega.dtype

    def turns(self) -> torch.Tensor:
        """Turns a step of every neuron, in float64; what a device's phase accumulator adds up."""
        return self.omega.double() * self.delta.double() / (2 * math.pi)

    def forward(self) -> torch.Tensor:
        """The table (neuron, step)."""
        t = torch.arange(self.steps, dtype=torch.float64, device=self.omega.device)
        # Phases in float64: 0.1 radians a step, over a thousand steps, in float32 would be off by
        # as much as a device's own phase is.
        return (AMPLITUDE * torch.cos(2 * math.pi * self.turns()[:, None] * t)).to(self.omega.dtype)


NAMES = ("table", "cosine")


def start(name: str, neurons: int, steps: int) -> nn.Parameter | Cosine:
    """A fresh encoding of that name for ``neurons`` neurons and ``steps`` steps."""
    if name not in NAMES:
        raise ValueError(f"te: expected one of {', '.join(NAMES)}, got {name!r}")
    if name == "cosine":
        return Cosine(neurons, steps)
    return nn.Parameter(torch.normal(TE_MEAN, TE_STD, (neurons, steps)))


def table(te: torch.Tensor | Cosine) -> torch.Tensor:
    """The table (neuron, step) of an encoding, differentiable in its parameters."""
    return te() if isinstance(te, Cosine) else te
