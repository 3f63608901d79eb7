"""A network of spiking layers, feedforward or recurrent, whatever their neurons."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import torch
from torch import nn

from training.baselines.readout import Reading


class SpikingNetwork(nn.Module):
    """Dense layers of one kind of neuron, and a classifier.

    Biases start as torch draws them: without a temporal encoding that learns to lower thresholds,
    deep layers that start without biases stay silent for long.

    Parameters
    ----------
    kind, neuron
        Name of the neuron, and what makes a layer of n of them.
    in_features, hidden, classes
        Widths.
    recurrent
        Whether all hidden layers but the last feed their spikes back, by weights and biases of
        their own, as in the paper.
    readout, permutation
        As in :class:`training.baselines.readout.Reading`.
    """

    def __init__(
        self,
        kind: str,
        neuron: Callable[[int], nn.Module],
        in_features: int,
        hidden: Sequence[int],
        classes: int,
        recurrent: bool = False,
        readout: str = "mean",
        permutation: Sequence[int] | None = None,
    ) -> None:
        super().__init__()
        self.config = {
            "kind": kind,
            "in_features": in_features,
            "hidden": list(hidden),
            "classes": classes,
            "recurrent": recurrent,
            "readout": readout,
        }
        self.layers = nn.ModuleList(
            nn.Linear(m, n) for m, n in itertools.pairwise((in_features, *hidden))
        )
        own = [recurrent and (i < len(hidden) - 1 or len(hidden) == 1) for i in range(len(hidden))]
        self.recurrent = nn.ModuleDict(
            {str(i): nn.Linear(n, n) for i, n in enumerate(hidden) if own[i]}
        )
        self.neurons = nn.ModuleList(neuron(n) for n in hidden)
        self.reading = Reading(hidden[-1], classes, readout, permutation)

    def spikes(self, x: torch.Tensor) -> list[torch.Tensor]:
        """Spikes of every hidden layer, (batch, neuron, time)."""
        found, x = [], self.reading.ordered(x)
        for i, (layer, neuron) in enumerate(zip(self.layers, self.neurons, strict=True)):
            current = layer(x.transpose(1, 2)).transpose(1, 2)
            weight = None
            if str(i) in self.recurrent:
                own = self.recurrent[str(i)]
                current, weight = current + own.bias[:, None], own.weight
            x = neuron(current, weight)
            found.append(x)
        return found

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Logits of ``x`` (batch, channel, time)."""
        return self.reading(self.spikes(x)[-1])
