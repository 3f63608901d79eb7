"""The weights between the layers of a network, and a record of what a layer received and sent."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional as F


class LayerRecord(NamedTuple):
    """Currents and spikes of one spiking layer, each (batch, neuron, time)."""

    synaptic: torch.Tensor
    bias: torch.Tensor
    spikes: torch.Tensor
    weight_rec: torch.Tensor | None = None

    @property
    def current(self) -> torch.Tensor:
        """Input current, including the feedback of the layer's own spikes and the bias."""
        current = self.synaptic
        if self.weight_rec is not None:
            earlier = F.pad(self.spikes[..., :-1], (1, 0))
            current = current + F.linear(earlier.transpose(1, 2), self.weight_rec).transpose(1, 2)
        return current + self.bias[:, None]


class Synapses(nn.Linear):
    """A linear layer that leaves its bias to the neurons.

    The neurons add the bias in their scan, so that neither the bias nor its gradient costs a pass
    over memory.
    """

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the product without the bias."""
        return F.linear(x, self.weight)
