"""The one loop over the layers of a network: what arrives at each, its run, and what it sends on.

The twin, the choice of formats, quantisation-aware training and the dequantised network all go
through :func:`walk`. They differ in how a layer runs and in what travels between layers::

    for layer, run, sent in walk(net.layers, encoded(net.encoding, graded), run_integers, send):
        ...

``run(layer, arriving)`` may return anything, ``send(layer, result)`` makes the next layer's
:class:`Arriving` of it. :func:`run_integers` and :func:`send` are those of integer layers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from export.model import geometry
from export.model.input_coding import Encoding
from export.model.layer import SpikingLayer
from export.twin.scans import Run, run_layer
from export.twin.sums import arriving_sums


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
