"""The batched twin: an exported network on the CPU, bit for bit as Lava's fixed models run it.

Layer by layer, a chunk of samples gets the synaptic sums of its whole sequence, then the scan
over time, which is the integer step itself, compiled, with threads over samples. Weights of
spikes are added up as integers; many graded inputs, and images, run through torch's float products,
which are exact while every partial sum stays below the mantissa.
"""

from __future__ import annotations

import functools
import os
import warnings
from typing import Any

import numpy as np

from export.model.network import FixedNetwork
from export.model.trace import Trace
from export.netx.read import read_netx
from export.twin.scans import Run
from export.twin.sums import SPIKES, spike_counts
from export.twin.walk import encoded, run_integers, send, walk
from training.support import compiled

# Bytes of synaptic sums that a chunk of samples may take: few enough for the allocator to hand out
# the same memory again, because touching fresh pages costs as much as the arithmetic.
_CHUNK_BYTES = 64 << 20


def _chunk(net: FixedNetwork, x: np.ndarray, keep: bool) -> tuple[np.ndarray, list[Run]]:
    run = functools.partial(run_integers, keep=keep)
    passed = list(walk(net.layers, encoded(net.encoding, x), run, send))
    last = passed[-1].sent.inputs
    if last.dtype == SPIKES and compiled.AVAILABLE:
        counts = spike_counts(last)
    else:
        counts = last.sum(1, dtype=np.float64).astype(np.int64)
    runs = [layer.result for layer in passed]
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
