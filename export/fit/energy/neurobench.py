"""NeuroBench's metrics of an integer network, by the definitions of its library (2.3).

The library hooks into modules of torch, which an integer network does not have, so its definitions
are applied to the network and its trace here. Where the library is installed, it counts itself
(:mod:`export.fit.energy.neurobench_library`), and a test holds these definitions to its numbers:

footprint
    Bytes of all parameters as they are stored, in whole bytes each.
connection_sparsity
    Share of weights that are 0.
activation_sparsity
    Share of a layer's outputs that are 0, over all layers, steps and samples.
synaptic_operations
    For each sample, operations at weights that are not 0 with inputs that are not 0: accumulations
    where all inputs are −1, 0 or 1, else multiply-accumulations; and ``Dense``, all of them.
membrane_updates
    For each sample, how often V differs from that of the step before; the first step counts for
    every neuron. A reset counts with the step that follows it, as V is taken before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from export.fit.energy.counting import fan_out
from export.model import geometry
from export.model.layer import Layer
from export.model.network import CelifLayer, FixedNetwork
from export.model.trace import Trace


def weights_of(layer: Layer) -> list[np.ndarray]:
    """A layer's matrices or kernels of weights."""
    return [layer.weight] if layer.weight_rec is None else [layer.weight, layer.weight_rec]


def stored_bytes(layer: Layer) -> int:
    """Bytes of a layer's parameters."""
    stored = sum(weight.size for weight in weights_of(layer))
    bias = getattr(layer, "bias_mant", getattr(layer, "bias", np.zeros(0)))
    stored += 2 * np.size(bias)
    if isinstance(layer, CelifLayer):
        rows, steps = layer.te.shape
        stored += layer.te_form.bytes(rows, steps, layer.te_bits)
    return int(stored)


def neurobench(net: FixedNetwork, x: np.ndarray, trace: Trace) -> dict[str, Any]:
    """The metrics of a network on samples ``x`` (batch, channel, time), by NeuroBench's names."""
    if trace.spikes is None or trace.v is None:
        raise ValueError("trace: expected spikes and v, got none; run with trace=True")
    weights = [w for layer in net.all_layers for w in weights_of(layer)]
    graded = net.encode(x)
    batch, steps = graded.shape[0], graded.shape[2]
    arriving = graded.transpose(0, 2, 1)
    operations = {"Effective_MACs": 0.0, "Effective_ACs": 0.0, "Dense": 0.0}
    updates = silent = outputs = 0
    for i, layer in enumerate(net.all_layers):
        events = np.count_nonzero(arriving, axis=(0, 1))
        binary = bool(np.isin(arriving, (-1, 0, 1)).all())
        name = "Effective_ACs" if binary else "Effective_MACs"
        operations[name] += float(events @ fan_out(layer, effective=True))
        operations["Dense"] += float(batch * steps * fan_out(layer).sum())
        if i == len(net.layers):
            break
        spikes = trace.spikes[i]
        if layer.weight_rec is not None:
            reached = np.count_nonzero(layer.weight_rec, axis=0)
            before = np.count_nonzero(spikes[:, :, :-1], axis=(0, 2))  # nobody sees the last
            operations["Effective_ACs"] += float(before @ reached)
            operations["Dense"] += float(batch * steps * layer.weight_rec.size)
        silent += spikes.size - int(np.count_nonzero(spikes))
        outputs += spikes.size
        if (v := trace.v[i]) is not None:
            changed = v[:, :, 1:] != v[:, :, :-1]
            updates += batch * layer.neurons + int(np.count_nonzero(changed))
        rows = np.ascontiguousarray(spikes.transpose(0, 2, 1))
        arriving = geometry.delayed(rows, layer.output_delay)
    zeros = sum(int((w == 0).sum()) for w in weights)
    return {
        "footprint": sum(map(stored_bytes, net.all_layers)),
        "connection_sparsity": round(zeros / sum(w.size for w in weights), 4),
        "activation_sparsity": silent / outputs,
        "synaptic_operations": {name: n / batch for name, n in operations.items()},
        "membrane_updates": updates / batch,
        "by": "celif",
    }
