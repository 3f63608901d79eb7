"""Temporal encodings: a learnable table, or a cosine per neuron.

The cosine is TE-R, a later encoding by the paper's authors: one learnable frequency per neuron, so
N parameters instead of N·T::

    TE[n, t] = 0.1 · cos(ω_n · δ_n · t)        δ_n = 0.1 / 100^(n/N), fixed

with t = 0 at the first step. The table is an ordinary differentiable function of ω, so the fused
kernel's gradient of TE reaches ω by the chain rule.
"""

from __future__ import annotations

import math

import torch
from torch import nn

TE_MEAN, TE_STD = 0.01, 0.01
"""Mean and standard deviation of a freshly initialised table."""

AMPLITUDE = 0.1
"""Amplitude of every cosine."""

_FASTEST, _RATIO = 0.1, 100.0
_OFFSET = 0.99


class Cosine(nn.Module):
    """TE-R: a cosine with a learnable frequency ω per neuron, over ``steps`` steps."""

    delta: torch.Tensor

    def __init__(self, neurons: int, steps: int) -> None:
        super().__init__()
        self.steps = steps
        self.omega = nn.Parameter(2 * math.pi * (torch.rand(neurons) + _OFFSET))
        ranks = torch.arange(neurons, dtype=torch.float64) / neurons
        self.register_buffer("delta", (_FASTEST / _RATIO**ranks).float(), persistent=False)

    @property
    def shape(self) -> torch.Size:
        """Shape of the table, (neuron, step)."""
        return torch.Size([len(self.omega), self.steps])

    @property
    def dtype(self) -> torch.dtype:
        """Dtype of the table."""
        return self.omega.dtype

    def turns(self) -> torch.Tensor:
        """Turns per step of every neuron, in float64: what a device's phase accumulator adds."""
        return self.omega.double() * self.delta.double() / (2 * math.pi)

    def forward(self) -> torch.Tensor:
        """The table (neuron, step)."""
        t = torch.arange(self.steps, dtype=torch.float64, device=self.omega.device)
        # Phases are in float64: at 0.1 radians a step, float32 would after a thousand steps be off
        # by as much as a device's own phase.
        return (AMPLITUDE * torch.cos(2 * math.pi * self.turns()[:, None] * t)).to(self.omega.dtype)


NAMES = ("table", "cosine")


def check_name(name: str) -> None:
    """Raise ValueError unless ``name`` is one of :data:`NAMES`."""
    if name not in NAMES:
        raise ValueError(f"te: expected one of {', '.join(NAMES)}, got {name!r}")


def start(name: str, neurons: int, steps: int) -> nn.Parameter | Cosine:
    """Return a freshly initialised encoding for ``neurons`` neurons and ``steps`` steps."""
    check_name(name)
    if name == "cosine":
        return Cosine(neurons, steps)
    return nn.Parameter(torch.normal(TE_MEAN, TE_STD, (neurons, steps)))


def table(te: torch.Tensor | Cosine) -> torch.Tensor:
    """Return the table (neuron, step) of an encoding, differentiable in its parameters."""
    return te() if isinstance(te, Cosine) else te
