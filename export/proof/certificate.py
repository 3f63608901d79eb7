"""The certificate: for every input in range, how large each register of a network can become.

==========  =============================================================  =====================
register    what is bounded                                                limit
==========  =============================================================  =====================
sum         |synaptic sum| of mantissas times inputs, as Lava carries it   32 bits
V, Θ        membrane and threshold of a CE-LIF neuron before saturation    ±(2²³ − 2)
U, V        current and membrane of a CUBA neuron before wrap, saturation  ±(2²³ − 1),
                                                                           ±(2²³ − 2)
σ, message  sum and message of a sigma-delta neuron before wrap, cut       32 bits, 2¹⁶ − 2
readout     |sum over a sample|                                            32 bits
==========  =============================================================  =====================

A state or message at the very end of its register counts as one that was cut there, as it does in
the twin; so the limit of those is one less.

The bounds of CE-LIF are proven in :mod:`export.proof.intervals`, those of other neurons in the
``bounds`` method of their layer. Each layer is bounded for every sequence of inputs in its range,
not only for those that the layers before it can send; so a layer's bound holds in any network, and
does not depend on the weights of others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from export import loihi2
from export.checks import ModelError
from export.model.celif import CelifLayer
from export.model.layer import Layer, RegisterEnds, SpikingLayer, magnitude
from export.model.network import FixedNetwork, ReadoutLayer
from export.proof.intervals import intervals

_CHANGE = {
    "sum": "use fewer input bits, fewer inputs or smaller weights",
    "V": "make weights and biases at least {factor} times smaller, or use fewer input bits",
    "U": "make the weights at least {factor} times smaller",
    "Θ": "make TE, or weights and biases, at least {factor} times smaller, or lower β",
    "σ": "make weights and biases at least {factor} times smaller, or use shorter samples",
    "message": "make weights and biases at least {factor} times smaller, or use shorter samples",
    "readout": "use fewer weight bits, or shorter samples",
}


@dataclass(frozen=True)
class RegisterBound:
    """The largest magnitude that a register of a layer can have, and where; steps from 0."""

    register: str
    largest: int
    limit: int
    neuron: int
    step: int

    @property
    def safe(self) -> bool:
        """Whether the register can never overflow."""
        return self.largest <= self.limit

    @property
    def headroom_bits(self) -> float:
        """Bits between the bound and the end of the register; negative if past it."""
        return math.log2(self.limit / max(self.largest, 1))

    def __str__(self) -> str:
        return (
            f"{self.register} of neuron {self.neuron} can reach ±{self.largest} at step "
            f"{self.step}, where ±{self.limit} fit"
        )

    @property
    def change(self) -> str:
        """What to change if it does not fit.

        The factor is a lower estimate: past the first overflow, bounds go on from full registers.
        """
        factor = f"{math.ceil(10 * self.largest / self.limit) / 10:g}"
        return _CHANGE[self.register].format(factor=factor)


@dataclass(frozen=True)
class LayerCertificate:
    """Bounds of a layer."""

    name: str
    kind: str
    registers: tuple[RegisterBound, ...]

    @property
    def proven(self) -> bool:
        """Whether no register of the layer can overflow, whatever its input."""
        return all(r.safe for r in self.registers)

    @property
    def tightest(self) -> RegisterBound:
        """The register with the least room."""
        return min(self.registers, key=lambda r: r.headroom_bits)

    @property
    def verdict(self) -> str:
        """In words, with what to change if it is not proven."""
        if self.proven:
            return f"{self.name}: proven"
        return f"{self.name}: not proven: {self.tightest}; {self.tightest.change}"


@dataclass(frozen=True)
class Certificate:
    """Bounds of every layer of a network, for every input in range."""

    layers: tuple[LayerCertificate, ...]

    @property
    def proven(self) -> bool:
        """Whether no register can overflow, whatever the input."""
        return all(layer.proven for layer in self.layers)

    def require(self) -> None:
        """Refuse a network that may overflow, by its first layer that may."""
        for layer in self.layers:
            if not layer.proven:
                raise ModelError(layer.verdict)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "proven": self.proven,
            "layers": [
                {
                    "name": layer.name,
                    "kind": layer.kind,
                    "verdict": layer.verdict,
                    "registers": {
                        r.register: {
                            "bound": r.largest,
                            "limit": r.limit,
                            "headroom_bits": r.headroom_bits,
                            "neuron": r.neuron,
                            "step": r.step,
                        }
                        for r in layer.registers
                    },
                }
                for layer in self.layers
            ],
        }


def _at(register: str, values: np.ndarray, limit: int, lane: np.ndarray) -> RegisterBound:
    """The largest of ``values`` (lane, step), with the first neuron and step that have it."""
    row, step = np.unravel_index(values.argmax(), values.shape)
    neuron = int((lane == row).argmax())
    return RegisterBound(register, int(values[row, step]), limit, neuron, int(step))


def _sums(layer: Layer, low: int, high: int) -> RegisterBound:
    worst = magnitude(*layer.extremes(low, high))[:, None]
    up = max(loihi2.SYNAPSE_SHIFT, layer.lava_sum_shift - layer.sum_right_shift)
    return _at("sum", worst, loihi2.SUM_MAX >> up, np.arange(layer.neurons))


def _registers(layer: Layer, low: int, high: int, steps: int) -> tuple[RegisterBound, ...]:
    """Bounds of what the layer's neurons keep: by the proof for CE-LIF, or the layer's own."""
    if isinstance(layer, ReadoutLayer):
        neuron, largest = int(layer.worst_sums().argmax()), layer.worst_case(steps)
        return (RegisterBound("readout", largest, loihi2.READOUT_MAX, neuron, steps - 1),)
    assert isinstance(layer, SpikingLayer)
    if isinstance(layer, CelifLayer):
        found = intervals(layer, low, high)
        lane, limit = found.lane, loihi2.SAFE_STATE_MAX
        ends: tuple[RegisterEnds, ...] = (
            RegisterEnds("V", found.v, limit),
            RegisterEnds("Θ", found.theta, limit),
        )
    else:
        lane, ends = np.arange(layer.neurons), layer.bounds(*layer.arriving(low, high), steps)
    return tuple(_at(*end, lane) for end in ends)


def certify_layer(layer: Layer, low: int, high: int, steps: int) -> LayerCertificate:
    """Bounds of one layer for every sequence of ``steps`` inputs in ``low``..``high``."""
    registers = (_sums(layer, low, high), *_registers(layer, low, high, steps))
    return LayerCertificate(layer.name, layer.kind, registers)


def input_ranges(net: FixedNetwork) -> list[tuple[int, int]]:
    """Smallest and largest input of each layer of ``net``, the readout included."""
    return [net.encoding.range, *(layer.output_range for layer in net.layers)][
        : len(net.all_layers)
    ]


def certify(net: FixedNetwork) -> Certificate:
    """Bounds of every layer of ``net`` over its whole length."""
    return Certificate(
        tuple(
            certify_layer(layer, low, high, net.steps)
            for layer, (low, high) in zip(net.all_layers, input_ranges(net), strict=True)
        )
    )
