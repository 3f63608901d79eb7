"""What every baseline shares: the order of its steps, and how its outputs are read."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

READOUTS = ("mean", "last", "steps")


class Reading(nn.Module):
    """A linear classifier of values (batch, feature, time): of their mean, the last, or all.

    ``permutation`` is the order in which the model sees the steps of its samples.
    """

    def __init__(
        self, features: int, classes: int, readout: str, permutation: Sequence[int] | None
    ) -> None:
        super().__init__()
        if readout not in READOUTS:
            raise ValueError(f"readout: expected one of {', '.join(READOUTS)}, got {readout!r}")
        self.linear, self.readout = nn.Linear(features, classes), readout
        self.permutation = None if permutation is None else list(permutation)

    def ordered(self, x: torch.Tensor) -> torch.Tensor:
        """Samples in the model's order of steps."""
        return x if self.permutation is None else x[:, :, self.permutation]

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        """Logits (batch, class), or with a time axis."""
        if self.readout == "steps":
            return self.linear(values.transpose(1, 2)).transpose(1, 2)
        return self.linear(values[..., -1] if self.readout == "last" else values.mean(-1))
