"""The batched twin: an exported network on the CPU, bit for bit as Lava's fixed models run it.

Layer by layer, a chunk of samples gets the synaptic sums of its whole sequence, then the scan
over time, which is the integer step itself, compiled, with threads over samples. Weights of
spikes are added up as integers; many graded inputs, and images, run through torch's float products,
which are exact while every partial sum stays below the mantissa.
"""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np
import torch

from export.model import geometry
from export.model.network import FixedNetwork, Layer
from export.model.trace import Trace
from export.netx.read import read_netx
from export.twin import sums as spike_sums
from export.twin.scans import Run, run_layer
from training.support import compiled

# Bytes of synaptic sums that a chunk of samples may take: few enough for the allocator to hand out
# the same memory again, because touching fresh pages costs as much as the arithmetic.
_CHUNK_BYTES = 64 << 20


def exact_type(layer: Layer, input_max: int) -> torch.dtype:
    """The narrowest float in which every sum of the layer's weights times inputs is exact."""
    worst = layer.largest_sum(input_max)
    # Torch can be told to multiply float32 in bfloat16, which is not exact.
    exact = torch.get_float32_matmul_precision() == "highest"
    return torch.float32 if exact and worst < 1 << 24 else torch.float64


def _in_bytes(inputs: np.ndarray) -> bool:
    """Whether they are spikes, to be added up by kernels, which there are."""
    return inputs.dtype == spike_sums.SPIKES and compiled.AVAILABLE


def synaptic_sums(layer: Layer, inputs: np.ndarray, input_max: int) -> np.ndarray:
    """Exact sums (batch, time, neuron) of weights times inputs; of spikes in bytes as integers.

    Without what a recurrent layer feeds back to itself, and before they are shifted right.
    """
    few = inputs.shape[2] <= spike_sums.FEW and np.issubdtype(inputs.dtype, np.integer)
    if layer.geometry is None and compiled.AVAILABLE and (few or inputs.dtype == spike_sums.SPIKES):
        return spike_sums.sums(layer.weight, inputs, layer.largest_sum(input_max))
    dtype = exact_type(layer, input_max)
    return geometry.sums(layer.weight, layer.geometry, inputs, dtype)


def arriving_sums(layer: Layer, inputs: np.ndarray, input_max: int) -> np.ndarray:
    """What reaches the layer's neurons from the layer before: sums, shifted right if need be."""
    sums = synaptic_sums(layer, inputs, input_max)
    if layer.sum_right_shift == 0:
        return sums
    if np.issubdtype(sums.dtype, np.integer):
        return sums >> layer.sum_right_shift
    return np.floor(np.ldexp(sums, -layer.sum_right_shift))


def _chunk(net: FixedNetwork, x: np.ndarray, keep: bool) -> tuple[np.ndarray, list[Run]]:
    inputs, input_max = (
        np.ascontiguousarray(x.transpose(0, 2, 1)),
        max(map(abs, net.encoding.range)),
    )
    runs = []
    for layer in net.layers:
        run = run_layer(layer, arriving_sums(layer, inputs, input_max), keep)
        inputs, input_max = (
            geometry.delayed(run.spikes, layer.output_delay),
            max(map(abs, layer.output_range)),
        )
        runs.append(run)
    if _in_bytes(inputs):
        counts = spike_sums.counts(inputs)
    else:
        counts = inputs.sum(1, dtype=np.float64).astype(np.int64)
    if net.readout is None:
        return counts, runs
    return counts @ net.readout.weight.T + net.readout.bias * x.shape[2], runs


def simulate(
    net: str | os.PathLike[str] | FixedNetwork, x: np.ndarray, trace: bool = False
) -> Trace:
    """Run ``net`` on samples and return its logits, and every state if ``trace``.

    Parameters
    ----------
    net
        A file that :func:`export.to_netx` wrote, or the network itself.
    x
        Samples (batch, channel, time): graded spikes as integers, or floats to be encoded.
    trace
        Also return spikes, V and Θ of every layer at every step; memory grows with all of them.
    """
    if not compiled.AVAILABLE:
        warnings.warn("simulate: numba is not installed; the twin runs slowly", stacklevel=2)
    if isinstance(net, (str, os.PathLike)):
        net = read_netx(net)
    elif not isinstance(net, FixedNetwork):
        raise TypeError(
            f"net: expected a FixedNetwork or the path of its file, got {type(net).__name__}; "
            "export the network with to_netx first"
        )
    x = net.encode(x)
    widest = max(layer.neurons for layer in net.all_layers)
    size = max(1, _CHUNK_BYTES // (8 * x.shape[2] * widest))
    logits: list[np.ndarray] = []
    parts: list[list[Run]] = []
    saturations = [0] * len(net.layers)
    for start in range(0, len(x), size):
        values, runs = _chunk(net, x[start : start + size], trace)
        logits.append(values)
        saturations = [n + run.saturated for n, run in zip(saturations, runs, strict=True)]
        if trace:
            parts.append(runs)

    def joined(name: str, dtype: Any) -> list[Any]:
        whole = []
        for i, layer in enumerate(net.layers):
            graded = name == "spikes" and layer.output_range != (0, 1)
            kept = np.int32 if graded else dtype
            arrays = [getattr(runs[i], name) for runs in parts]
            whole.append(
                None
                if arrays[0] is None
                else np.concatenate(arrays).astype(kept, copy=False).transpose(0, 2, 1)
            )
        return whole

    states = (
        {n: joined(n, d) for n, d in (("spikes", np.int8), ("v", np.int32), ("theta", np.int32))}
        if trace
        else {}
    )
    return Trace(np.concatenate(logits), saturations=saturations, **states)
