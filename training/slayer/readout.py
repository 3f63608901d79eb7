"""The linear classifier of mean firing rates, as the last member of a stack of blocks."""

from __future__ import annotations

import torch
from torch import nn


class Readout(nn.Linear):
    """Logits (batch, classes) of spikes (batch, …, time): linear in their mean over time.

    Parameters
    ----------
    in_neurons, out_neurons
        Number of neurons before it, all positions of images counted, and of classes.
    bias
        Whether classes have a bias.
    """

    def __init__(self, in_neurons: int, out_neurons: int, bias: bool = True) -> None:
        super().__init__(in_neurons, out_neurons, bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Apply the classifier to the mean firing rates."""
        rates = x.sum(-1) / x.shape[-1]
        return super().forward(rates.flatten(1))
