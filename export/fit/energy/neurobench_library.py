"""NeuroBench's metrics by its own library, where that is installed.

``pip install --no-deps neurobench snntorch`` is enough; with its dependencies the library asks for
torchaudio, which may bring another torch.

The library hooks into modules of torch: it looks at what arrives at ``Linear`` and ``Conv2d``
layers, at what spiking neurons give out, and at the membrane that they keep between steps. So a run
of the twin is played through such modules: the synapses hold the network's integers in float64,
which is exact, and a neuron gives out the spikes and keeps the V of the trace. Everything that is
counted is then counted by the library. The footprint is that of tensors in the types in which the
integers are stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
from torch import nn

from export.fit.energy.neurobench import stored_bytes, weights_of
from export.model import geometry
from export.model.layer import Layer
from export.model.network import FixedNetwork
from export.model.trace import Trace


def installed() -> bool:
    """Whether the library and snnTorch, whose neurons it knows, can be imported."""
    return all(find_spec(name) is not None for name in ("neurobench", "snntorch"))


def _linear(weight: np.ndarray) -> nn.Linear:
    module = nn.Linear(weight.shape[1], weight.shape[0], bias=False, dtype=torch.float64)
    module.weight.data = torch.from_numpy(weight.astype(np.float64))
    return module


def _synapses(layer: Layer) -> nn.Module:
    """The synapses of a layer, which take (batch, step, input)."""
    if layer.geometry is None:
        return _linear(layer.weight)
    g, weight = layer.geometry, layer.weight
    height, width = weight.shape[2:]
    module = nn.Conv2d(
        g.input_shape.channels, len(weight), (height, width), g.stride, g.padding, g.dilation,
        g.groups, bias=False, dtype=torch.float64,
    )  # fmt: skip
    module.weight.data = torch.from_numpy(weight.astype(np.float64))
    return nn.Sequential(nn.Flatten(0, 1), nn.Unflatten(1, tuple(g.input_shape)), module)


def _neurons(spikes: np.ndarray, v: np.ndarray | None) -> nn.Module:
    """Neurons that give out the spikes of a trace, step by step, and keep its V."""
    snntorch: Any = import_module("snntorch")

    class Replayed(snntorch.SpikingNeuron):
        def __init__(self) -> None:
            super().__init__()
            self.step = 0
            self.spikes = torch.from_numpy(spikes.astype(np.float64))
            if v is not None:
                self.v = torch.from_numpy(v.astype(np.float64))
                self.mem = torch.zeros_like(self.v[:, :, 0])

        def forward(self, current: torch.Tensor) -> tuple[torch.Tensor, None]:
            spikes = self.spikes[:, :, self.step]
            if v is not None:
                self.mem = self.v[:, :, self.step]
            self.step += 1
            return spikes, None

    return Replayed()


class Replay(nn.Module):
    """A run of the twin as modules of torch; takes graded inputs (batch, step, input)."""

    def __init__(self, net: FixedNetwork, trace: Trace) -> None:
        super().__init__()
        assert trace.spikes is not None
        assert trace.v is not None
        self.delays = [layer.output_delay for layer in net.all_layers]
        self.synapses = nn.ModuleList(map(_synapses, net.all_layers))
        self.recurrent = nn.ModuleList(
            nn.Identity() if layer.weight_rec is None else _linear(layer.weight_rec)
            for layer in net.layers
        )
        self.neurons = nn.ModuleList(map(_neurons, trace.spikes, trace.v))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Play the run; the result is that of the last synapses."""
        arriving, out = x, x
        for i, synapses in enumerate(self.synapses):
            out = synapses(arriving)
            if i == len(self.neurons):
                break
            current = out.reshape(*arriving.shape[:2], -1)
            given = [self.neurons[i](current[:, k])[0] for k in range(current.shape[1])]
            spikes = torch.stack(given, 1)
            before = torch.zeros_like(spikes)
            before[:, 1:] = spikes[:, :-1]
            self.recurrent[i](before)
            rows = np.ascontiguousarray(spikes.numpy())
            arriving = torch.from_numpy(geometry.delayed(rows, self.delays[i]))
        return out


class _Stored(nn.Module):
    """A network's parameters as bytes, for the footprint."""

    def __init__(self, net: FixedNetwork) -> None:
        super().__init__()
        for i, layer in enumerate(net.all_layers):
            for j, weight in enumerate(weights_of(layer)):
                self.register_buffer(f"weight_{i}_{j}", torch.zeros(weight.shape, dtype=torch.int8))
            rest = stored_bytes(layer) - sum(weight.size for weight in weights_of(layer))
            self.register_buffer(f"rest_{i}", torch.zeros(rest, dtype=torch.uint8))


@contextmanager
def _model(net: nn.Module) -> Iterator[Any]:
    """A network as the library sees it, with hooks that are removed in the end."""
    snntorch: Any = import_module("snntorch")
    model: Any = import_module("neurobench.models").TorchModel(net)
    model.add_activation_module(snntorch.SpikingNeuron)
    model.register_hooks()
    try:
        yield model
    finally:
        model.cleanup_hooks()
        # snnTorch keeps a list of all neurons that were ever made.
        own = set(map(id, net.modules()))
        known = snntorch.SpikingNeuron.instances
        known[:] = [neuron for neuron in known if id(neuron) not in own]


def library(net: FixedNetwork, x: np.ndarray, trace: Trace) -> dict[str, Any]:
    """The metrics of :func:`export.fit.energy.neurobench`, counted by the library.

    Its metrics are called directly: its ``Benchmark`` prints errors and goes on with zeros.
    """
    static: Any = import_module("neurobench.metrics.static")
    workload: Any = import_module("neurobench.metrics.workload")
    stored = import_module("neurobench.models").TorchModel(_Stored(net))
    inputs = torch.from_numpy(net.encode(x).transpose(0, 2, 1).astype(np.float64))
    with torch.no_grad(), _model(Replay(net, trace)) as model:
        out, data = model(inputs), (inputs, None)
        return {
            "footprint": static.Footprint()(stored),
            "connection_sparsity": static.ConnectionSparsity()(model),
            "activation_sparsity": workload.ActivationSparsity()(model, out, data),
            "synaptic_operations": workload.SynapticOperations()(model, out, data),
            "membrane_updates": workload.MembraneUpdates()(model, out, data),
            "by": f"neurobench {version('neurobench')}",
        }
