"""The batched twin: an exported network on the CPU, bit for bit as Lava's fixed models run it.

Layer by layer, a chunk of samples gets the synaptic sums of its whole sequence, then the scan
over time, which is the integer step itself, compiled, with threads over samples. Weights of
spikes are added up as integers; many graded inputs, and images, run through torch's float products,
which are exact while every partial sum stays below the mantissa.

The twin, the choice of formats and the dequantised network all go through :func:`walk`, the one
loop over layers. They differ in how a layer runs and in what travels between layers::

    for layer, run, sent in walk(net.layers, encoded(net.encoding, graded), run_integers, send):
        ...

``run(layer, arriving)`` may return anything, ``send(layer, result)`` makes the next layer's
:class:`Arriving` of it. :func:`run_integers` and :func:`send` are those of integer layers.
"""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from export.model import geometry
from export.model.layer import SpikingLayer
from export.model.network import Encoding, FixedNetwork
from export.model.trace import Run, Trace
from export.netx.read import read_netx
from export.twin.scans import SPIKES, arriving_sums, run_layer, spike_counts
from training.support import compiled

# Bytes of synaptic sums that a chunk of samples may take: few enough for the allocator to hand out
# the same memory again, because touching fresh pages costs as much as the arithmetic.
_CHUNK_BYTES = 64 << 20


class Arriving(NamedTuple):
    """What reaches a layer: inputs (batch, time, input), and the range that they keep to."""

    inputs: Any
    range: tuple[int, int]

    @property
    def input_max(self) -> int:
        """Largest magnitude of an input."""
        return max(map(abs, self.range))


class Passed(NamedTuple):
    """A layer that ran: what its run returned, and what it sends on."""

    layer: Any
    result: Any
    sent: Arriving


def walk(
    layers: Iterable[Any],
    arriving: Arriving,
    run: Callable[[Any, Arriving], Any],
    send: Callable[[Any, Any], Arriving],
) -> Iterator[Passed]:
    """Run layers one after another on what arrives at the first of them."""
    for layer in layers:
        result = run(layer, arriving)
        arriving = send(layer, result)
        yield Passed(layer, result, arriving)


def encoded(encoding: Encoding, graded: np.ndarray) -> Arriving:
    """Graded spikes (batch, channel, time) as they arrive at the first layer."""
    return Arriving(np.ascontiguousarray(graded.transpose(0, 2, 1)), encoding.range)


def run_integers(layer: SpikingLayer, arriving: Arriving, keep: bool = False) -> Run:
    """Run an integer layer; ``keep`` its registers at every step."""
    return run_layer(layer, arriving_sums(layer, arriving.inputs, arriving.input_max), keep)


def send(layer: SpikingLayer, run: Run) -> Arriving:
    """What an integer layer sends on: its spikes, later by its delays."""
    return Arriving(geometry.delayed(run.spikes, layer.output_delay), layer.output_range)


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
    run = functools.partial(run_integers, keep=trace)
    counts: list[np.ndarray] = []
    parts: list[list[Run]] = []
    saturations = [0] * len(net.layers)
    for start in range(0, len(x), size):
        arriving = encoded(net.encoding, x[start : start + size])
        passed = list(walk(net.layers, arriving, run, send))
        runs = [layer.result for layer in passed]
        saturations = [n + done.saturated for n, done in zip(saturations, runs, strict=True)]
        last = passed[-1].sent.inputs
        if last.dtype == SPIKES and compiled.AVAILABLE:
            counts.append(spike_counts(last))
        else:
            counts.append(last.sum(1, dtype=np.float64).astype(np.int64))
        if trace:
            parts.append(runs)
    logits = np.concatenate(counts)
    if net.readout is not None:
        logits = logits @ net.readout.weight.T + net.readout.bias * x.shape[2]
    return Trace(logits, saturations=saturations, **(_states(net, parts) if trace else {}))


def _states(net: FixedNetwork, parts: list[list[Run]]) -> dict[str, Any]:
    """Spikes, V and Θ of all chunks, a list per layer of (batch, neuron, time)."""

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

    types = (("spikes", np.int8), ("v", np.int32), ("theta", np.int32))
    return {name: joined(name, dtype) for name, dtype in types}
