"""Searches for inputs that make the states of a network large; the twin computes every state.

A layer alone is searched with noise, with patterns at the ends of the range, and by driving single
neurons through their own step (:mod:`export.proof.adversary`). A network is searched from its
inputs:
noise, patterns, what drove its first layer, and climbing, in which the inputs with the largest
states are changed in a stretch of time, and kept if the states grow. Where there are few enough
inputs, :func:`every_input` leaves none out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np

from export.model.network import CelifLayer, Encoding, FixedNetwork, SpikingLayer, needed_gap
from export.proof.adversary import Aim, driving_inputs
from export.proof.intervals import intervals
from export.steps.celif import IntParams
from export.twin.simulate import simulate

MATRIX_MAX = 1 << 25
"""Synapses up to which a convolution is written out as a matrix, to drive single neurons."""

_EXHAUSTIVE_MAX = 1 << 20
_BATCH = 64
_AIMED_NEURONS = 6
_LIFTS = (0.0, 1e-3, 1e-2, 0.1, 1.0)
"""Weight of Θ relative to V: under a higher threshold, V can grow larger."""
_STRETCHES = (1, 4, 16, 64)


class Peaks:
    """The largest magnitude of each register so far, and the inputs that gave them.

    A place is the number of a layer and the name of one of its registers.
    """

    def __init__(self, net: FixedNetwork) -> None:
        self.net = net
        self.largest: dict[tuple[int, str], int] = {}
        self.inputs: dict[tuple[int, str], np.ndarray] = {}
        """(channel, time) each."""
        self.saturations = 0

    def run(self, x: np.ndarray) -> None:
        """Try inputs (batch, channel, time)."""
        for start in range(0, len(x), _BATCH):
            part = x[start : start + _BATCH]
            trace = simulate(self.net, part, trace=True)
            self.saturations += sum(trace.saturations or ())
            for i, layer in enumerate(self.net.layers):
                for register, name in layer.registers.items():
                    values = getattr(trace, name)[i]
                    self._note((i, register), np.abs(values).max((1, 2)), part)
            if self.net.readout is not None:
                place = len(self.net.layers), "readout"
                self._note(place, np.abs(trace.logits).max(1), part)

    def _note(self, place: tuple[int, str], values: np.ndarray, x: np.ndarray) -> None:
        best = int(values.argmax())
        if values[best] > self.largest.get(place, -1):
            self.largest[place], self.inputs[place] = int(values[best]), x[best]


def alone(layer: SpikingLayer, low: int, high: int, steps: int) -> FixedNetwork:
    """A network of one layer, with inputs in ``low``..``high``."""
    encoding = Encoding(layer.inputs, 1.0, max(high, -low).bit_length(), low < 0)
    return FixedNetwork((replace(layer, lag=1),), None, steps, needed_gap((layer,)), encoding, {})


def every_input(encoding: Encoding, steps: int) -> Iterator[np.ndarray]:
    """Every sequence of ``steps`` inputs there is, in batches (batch, channel, time)."""
    low, high = encoding.range
    size = encoding.channels * steps
    if size * np.log2(high - low + 1) > np.log2(_EXHAUSTIVE_MAX):
        raise ValueError(
            f"every_input: expected at most {_EXHAUSTIVE_MAX} sequences, got "
            f"{high - low + 1}^{size}; use fewer steps, channels or input bits"
        )
    rows = np.array(list(product(range(low, high + 1), repeat=size)), np.int32)
    yield from np.array_split(
        rows.reshape(-1, encoding.channels, steps), -(-len(rows) // (1 << 14))
    )


def patterns(encoding: Encoding, steps: int, rng: np.random.Generator) -> np.ndarray:
    """Noise, constants, flashes, and stretches at the ends of the range, (batch, channel, time)."""
    low, high = encoding.range
    shape = 8, encoding.channels, steps
    stretches = [
        np.repeat(rng.choice([low, high], (*shape[:2], -(-steps // n))), n, 2)[:, :, :steps]
        for n in _STRETCHES
    ]
    constants = [np.full((1, *shape[1:]), value) for value in (low, 0, high)]
    noise = rng.integers(low, high + 1, shape)
    flashes = np.where(rng.random(shape) < 0.05, high, 0)
    return np.concatenate([noise, flashes, *constants, *stretches]).astype(np.int32)


def _aims(layer: CelifLayer, low: int, high: int) -> list[Aim]:
    """Where to drive the neurons with the largest bounds."""
    ends = intervals(layer, low, high)
    last = layer.te.shape[1] - 1
    neuron = np.unique(ends.lane, return_index=True)[1]
    aims = []
    for values, objectives in (
        (ends.theta_high, [(1.0, 0.0)]),
        (-ends.theta_low, [(-1.0, 0.0)]),
        (ends.v_high, [(lift, 1.0) for lift in _LIFTS]),
        (-ends.v_low, [(lift, -1.0) for lift in _LIFTS]),
    ):
        for lane in np.argsort(-values.max(1), kind="stable")[:_AIMED_NEURONS]:
            for step in sorted({int(values[lane].argmax()), last // 4, last}):
                aims += [Aim(int(neuron[lane]), step, c, w) for c, w in objectives]
    return aims


def _driven(layer: CelifLayer, low: int, high: int) -> Iterator[np.ndarray]:
    """Inputs (batch, input, time) that drive single neurons of a layer."""
    registers = IntParams(
        *(
            np.ascontiguousarray(np.broadcast_to(np.asarray(r, np.int64), layer.neurons))
            for r in layer.params
        )
    )
    aims, te, matrix = _aims(layer, low, high), layer.per_neuron(layer.te), layer.matrix
    ends = np.full(layer.inputs, low), np.full(layer.inputs, high)
    for start in range(0, len(aims), _BATCH):
        batch = aims[start : start + _BATCH]
        inputs = driving_inputs(batch, te, registers, matrix, *ends, layer.sum_right_shift)
        yield inputs.transpose(0, 2, 1).astype(np.int32)


def search_layer(
    layer: SpikingLayer, low: int, high: int, steps: int, rng: np.random.Generator
) -> Peaks:
    """Search the inputs in ``low``..``high`` of a layer alone."""
    peaks = Peaks(alone(layer, low, high, steps))
    peaks.run(patterns(peaks.net.encoding, steps, rng))
    if isinstance(layer, CelifLayer) and layer.neurons * layer.inputs <= MATRIX_MAX:
        for x in _driven(layer, low, high):
            peaks.run(x)
    return peaks


def _mutants(x: np.ndarray, encoding: Encoding, rng: np.random.Generator) -> np.ndarray:
    """Copies of inputs (channel, time), each with a stretch of time changed."""
    low, high = encoding.range
    channels, steps = x.shape
    out = np.repeat(x[None], 8, 0)
    for copy in out:
        length = int(rng.integers(1, max(1, steps // int(rng.choice(_STRETCHES))) + 1))
        start = int(rng.integers(0, steps - length + 1))
        part = copy[:, start : start + length]
        part[:] = (
            np.full(part.shape, low),
            np.full(part.shape, high),
            rng.choice([low, high], part.shape),
            np.broadcast_to(rng.choice([low, high], (channels, 1)), part.shape),
            low + high - part,
        )[rng.integers(5)]
    return out


def search_network(
    net: FixedNetwork, seeds: list[np.ndarray], rounds: int, rng: np.random.Generator
) -> Peaks:
    """Search the inputs of a network, beginning with ``seeds`` (channel, time) and patterns."""
    peaks = Peaks(net)
    peaks.run(patterns(net.encoding, net.steps, rng))
    if seeds:
        peaks.run(np.stack(seeds))
    for _ in range(rounds):
        best = list(peaks.inputs.values())
        peaks.run(np.concatenate([_mutants(x, net.encoding, rng) for x in best]))
    return peaks
