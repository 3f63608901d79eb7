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

Bounds are proven in :mod:`export.proof.intervals` and :mod:`export.proof.slayer_bounds`. Each
layer is bounded
for every sequence of inputs in its range, not only for those that the layers before it can send; so
a layer's bound holds in any network, and does not depend on the weights of others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from export import loihi2
from export.model.network import (
    CelifLayer,
    CubaLayer,
    FixedNetwork,
    Layer,
    ModelError,
    ReadoutLayer,
    SigmaDeltaLayer,
)
from export.proof.intervals import arriving_extremes, intervals
from export.proof.slayer_bounds import cuba_states, sigma_delta_states
from export.steps.sigma_delta import MESSAGE_MAX

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
    """Bounds of a layer; none if there is no proof for its kind."""

    name: str
    kind: str
    registers: tuple[RegisterBound, ...]

    @property
    def proven(self) -> bool:
        """Whether no register of the layer can overflow, whatever its input."""
        return bool(self.registers) and all(r.safe for r in self.registers)

    @property
    def tightest(self) -> RegisterBound:
        """The register with the least room."""
        return min(self.registers, key=lambda r: r.headroom_bits)

    @property
    def verdict(self) -> str:
        """In words, with what to change if it is not proven."""
        if not self.registers:
            return f"{self.name}: not proven: there is no bound for {self.kind} layers"
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
    least, most = layer.extremes(low, high)
    worst = np.maximum(np.abs(least), np.abs(most))[:, None]
    limit = loihi2.SUM_MAX >> max(
        loihi2.SYNAPSE_SHIFT, layer.lava_sum_shift - layer.sum_right_shift
    )
    return _at("sum", worst, limit, np.arange(layer.neurons))


def _celif(layer: CelifLayer, low: int, high: int) -> tuple[RegisterBound, ...]:
    ends = intervals(layer, low, high)
    return tuple(
        _at(register, values, loihi2.SAFE_STATE_MAX, ends.lane)
        for register, values in (("V", ends.v), ("Θ", ends.theta))
    )


def _slayer(
    layer: CubaLayer | SigmaDeltaLayer, low: int, high: int, steps: int
) -> tuple[RegisterBound, ...]:
    ends, each = arriving_extremes(layer, low, high), np.arange(layer.neurons)
    if isinstance(layer, CubaLayer):
        u, v = cuba_states(layer, *ends, steps)
        return _at("U", u, loihi2.STATE_MAX, each), _at("V", v, loihi2.SAFE_STATE_MAX, each)
    sigma, message = sigma_delta_states(layer, *ends, steps)
    return (
        _at("σ", sigma, loihi2.SUM_MAX, each),
        # The largest message may be one that was cut.
        _at("message", message, MESSAGE_MAX - 1, each),
    )


def _readout(layer: ReadoutLayer, steps: int) -> RegisterBound:
    least, most = (total + layer.bias for total in layer.extremes(0, 1))
    worst = np.maximum(np.abs(least), np.abs(most))
    return RegisterBound(
        "readout", layer.worst_case(steps), loihi2.READOUT_MAX, int(worst.argmax()), steps - 1
    )


def certify_layer(layer: Layer, low: int, high: int, steps: int) -> LayerCertificate:
    """Bounds of one layer for every sequence of ``steps`` inputs in ``low``..``high``."""
    registers: tuple[RegisterBound, ...] = (_sums(layer, low, high),)
    if isinstance(layer, CelifLayer):
        registers += _celif(layer, low, high)
    elif isinstance(layer, (CubaLayer, SigmaDeltaLayer)):
        registers += _slayer(layer, low, high, steps)
    elif isinstance(layer, ReadoutLayer):
        registers += (_readout(layer, steps),)
    else:
        registers = ()
    return LayerCertificate(layer.name, layer.kind, registers)


def no_safe_format(layer: CelifLayer, low: int, high: int) -> ModelError:
    """The error for a layer that even its fewest fractional bits, those of ``layer``, overflow."""
    worst = certify_layer(layer, low, high, layer.te.shape[1]).tightest
    return ModelError(
        f"{layer.name}: no number of fractional bits keeps V and Θ within their registers: even "
        f"with {layer.fraction_bits}, {worst}; {worst.change}, or pass calibration data"
    )


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
