"""A network of spiking layers, feedforward or recurrent, whatever their neurons."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn

from training.baselines.readout import Reading
from training.kernels import adaptive
from training.kernels.fused import StackLayer, stack
from training.kernels.layer_scans import Scan
from training.support.uncompiled import uncompiled


class SpikingNetwork(nn.Module):
    """Dense layers of one kind of neuron, and a classifier.

    Biases start as torch draws them: without a temporal encoding that learns to lower thresholds,
    deep layers that start without biases stay silent for long. Neurons that read out by spikes of
    their own (:class:`training.baselines.gated_neurons.SoftALIF`) start as their authors start
    them: input weights by Glorot's rule, recurrent weights and biases at zero.

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
        As in :class:`training.baselines.readout.Reading`; with ``"spikes"`` the outputs are such
        neurons, too, and their numbers of spikes the logits.
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
        shape = "mean" if readout == "spikes" else readout
        self.reading = Reading(hidden[-1], classes, shape, permutation)
        if getattr(self.neurons[0], "spiking_readout", False):
            self._start_as_published()
        if readout == "spikes":
            self.neurons.append(neuron(classes))

    def _start_as_published(self) -> None:
        layer: Any
        for layer in (*self.layers, self.reading.linear):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
        for layer in self.recurrent.values():
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)

    @property
    def reads_spikes(self) -> bool:
        """Whether the outputs are spiking neurons, whose spikes are counted."""
        return len(self.neurons) > len(self.layers)

    def _layer(self, i: int, like: torch.Tensor) -> StackLayer:
        """Tensors of spiking layer i for inputs like ``like`` (batch, channel, time)."""
        synapses: Any = self.layers[i] if i < len(self.layers) else self.reading.linear
        neuron: Any = self.neurons[i]
        weight, bias, feedback = synapses.weight, synapses.bias, None
        if str(i) in self.recurrent:
            own: Any = self.recurrent[str(i)]
            bias, feedback = bias + own.bias, own.weight
        scale = getattr(neuron, "input_scale", None)
        if scale is not None:
            weight, bias = weight * scale[:, None], bias * scale
            feedback = None if feedback is None else feedback * scale[:, None]
        return StackLayer(
            weight, bias, feedback, neuron.values(like) if neuron_scan(neuron) else ()
        )

    def current(self, i: int, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Current of spiking layer i for the spikes ``x`` below it, and its recurrent weights."""
        layer = self._layer(i, x)
        assert layer.weight is not None
        synaptic = nn.functional.linear(x.transpose(1, 2), layer.weight, layer.bias)
        return synaptic.transpose(1, 2), layer.feedback

    def spikes(self, x: torch.Tensor) -> list[torch.Tensor]:
        """Spikes of every spiking layer, (batch, neuron, time)."""
        found, x = [], self.reading.ordered(x)
        for i, neuron in enumerate(self.neurons):
            x = neuron(*self.current(i, x))
            found.append(x)
        return found

    @uncompiled
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Logits of ``x`` (batch, channel, time)."""
        counts = self.reading.readout == "mean"
        scan = neuron_scan(self.neurons[0])
        if scan is None or not adaptive.compiles(x):
            last = self.spikes(x)[-1]
            last = last.sum(-1) if counts else last
        else:
            ordered = self.reading.ordered(x)
            layers = [self._layer(i, ordered) for i in range(len(self.neurons))]
            last = stack(ordered, layers, None, scan, counts=counts)
        if self.reads_spikes:
            return last
        dropout = getattr(self.neurons[-1], "read_dropout", None)
        if counts:
            rates = last / x.shape[-1]
            if dropout is not None and self.training:
                rates = rates * dropout(rates)
            return self.reading.linear(rates)
        if dropout is not None and self.training:
            last = last * dropout(last.mean(-1))[..., None]
        return self.reading(last)


def neuron_scan(neuron: nn.Module) -> Scan | None:
    """Return the compiled scan of a kind of neuron, or None if it has a plain loop only."""
    return getattr(neuron, "scan", None)
