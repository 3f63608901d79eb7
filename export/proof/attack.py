"""An attack on the certificate: how near real inputs come to each proven bound.

Two surfaces. *Alone*: each layer is given any inputs in its range, which is what its bound holds
for. *Network*: inputs go into the first layer only, and the others get what comes of them. A bound
that was passed would be a mistake in the proof; one that a layer alone is not brought near to is
explained in the report.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from export.loihi2 import DECAY_ONE
from export.model.network import CelifLayer, FixedNetwork, Layer, ReadoutLayer
from export.proof.certificate import Certificate, RegisterBound, certify, input_ranges
from export.proof.search import MATRIX_MAX, Peaks, search_layer, search_network

NEAR = 4
"""A bound that is not approached to within this factor is explained."""


@dataclass(frozen=True)
class Reached:
    """The largest magnitude that a register was brought to; None where that was not tried."""

    register: str
    bound: int
    alone: int | None
    network: int | None

    @property
    def alone_ratio(self) -> float | None:
        """How much of the bound the layer alone was brought to."""
        return self._ratio(self.alone)

    @property
    def network_ratio(self) -> float | None:
        """How much of the bound was reached from the network's inputs."""
        return self._ratio(self.network)

    def _ratio(self, value: int | None) -> float | None:
        if value is None:
            return None
        return value / self.bound if self.bound else 1.0

    @property
    def passed(self) -> bool:
        """Whether the bound was passed, which would be a mistake in its proof."""
        return max(self.alone or 0, self.network or 0) > self.bound


@dataclass(frozen=True)
class LayerAttack:
    """What was reached in a layer, and why a bound was not, where it was not."""

    name: str
    reached: tuple[Reached, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class AttackReport:
    """Outcome of :func:`attack`."""

    layers: tuple[LayerAttack, ...]
    saturations: int
    """How often a register stood at its end, over all inputs that were tried."""

    @property
    def passed(self) -> bool:
        """Whether any bound was passed, which would be a mistake in its proof."""
        return any(r.passed for layer in self.layers for r in layer.reached)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "passed": self.passed,
            "saturations": self.saturations,
            "layers": [
                {
                    "name": layer.name,
                    "notes": list(layer.notes),
                    "registers": {
                        r.register: {
                            "bound": r.bound,
                            "alone": r.alone,
                            "alone_ratio": r.alone_ratio,
                            "network": r.network,
                            "network_ratio": r.network_ratio,
                        }
                        for r in layer.reached
                    },
                }
                for layer in self.layers
            ],
        }


def _largest_sum(layer: Layer, neuron: int, low: int, high: int, bias: int = 0) -> int | None:
    """The largest |sum| of a neuron over its inputs, each at the end that its weight points to."""
    if layer.neurons * layer.inputs > MATRIX_MAX:
        return None
    row = layer.matrix[neuron].astype(np.int64)
    up, down = np.where(row > 0, high, low), np.where(row > 0, low, high)
    return max(abs(int(row @ x) + bias) for x in (up, down))


def _alone(
    layer: Layer, bound: RegisterBound, low: int, high: int, steps: int, peaks: Peaks | None
) -> int | None:
    if bound.register == "sum":
        return _largest_sum(layer, bound.neuron, low, high)
    if isinstance(layer, ReadoutLayer):  # the same spikes at every step
        one = _largest_sum(layer, bound.neuron, low, high, int(layer.bias[bound.neuron]))
        return None if one is None else one * steps
    return peaks.largest.get((0, bound.register)) if peaks else None


def _hidden(layer: Layer) -> str:
    if layer.input_exp:
        return "its inputs are messages of the layer before it"
    if layer.neurons * layer.inputs > MATRIX_MAX:
        return "its matrix is too large to write out"
    return "the twin does not show it"


def _why(layer: Layer, reached: Reached, bound: RegisterBound) -> str | None:
    """Why a bound was not approached by the layer alone, if it was not."""
    ratio = reached.alone_ratio
    if ratio is None:
        return f"{reached.register} of the layer alone was not attacked: {_hidden(layer)}"
    if ratio * NEAR >= 1:
        return None
    if not bound.safe:
        why = "the register ends before it"
    elif layer.weight_rec is not None:
        why = "it holds whatever the layer's own spikes are, and those cannot be chosen"
    elif layer.neurons * layer.inputs > MATRIX_MAX:
        why = "in a layer this large single neurons are not driven"
    elif isinstance(layer, CelifLayer):
        alpha = int(np.max(layer.alpha_mant))
        why = (
            f"with α = {alpha}/{DECAY_ONE} V lives longer than the proof looks back; past that it "
            "lets V and Θ be at their ends together"
        )
    else:
        why = "single neurons are driven in CE-LIF layers only"
    return f"{reached.register} came to {ratio:.0%} of its bound: {why}"


def attack(
    net: FixedNetwork, certificate: Certificate | None = None, *, rounds: int = 24, seed: int = 0
) -> AttackReport:
    """Search for inputs that maximise the states of ``net``, against its certificate.

    Parameters
    ----------
    net
        The network.
    certificate
        Its certificate, if it was made already.
    rounds
        How often the inputs of the whole network are changed in search of larger states.
    seed
        Of the random inputs; the same seed makes the same attack.
    """
    certificate = certificate or certify(net)
    rng, ranges = np.random.default_rng(seed), input_ranges(net)
    single = {
        # SLAYER's layers after messages, which stand for fractions, cannot be a network's first.
        i: search_layer(layer, *ends, net.steps, rng)
        for i, (layer, ends) in enumerate(zip(net.layers, ranges, strict=False))
        if layer.input_exp == 0 or layer.requantisable
    }
    whole = search_network(net, list(single[0].inputs.values()), rounds, rng)
    layers = []
    for i, (layer, bounds) in enumerate(zip(net.all_layers, certificate.layers, strict=True)):
        peaks = single.get(i)
        reached = tuple(
            Reached(
                b.register,
                b.largest,
                _alone(layer, b, *ranges[i], net.steps, peaks),
                whole.largest.get((i, b.register)),
            )
            for b in bounds.registers
        )
        notes = (_why(layer, r, b) for r, b in zip(reached, bounds.registers, strict=True))
        layers.append(LayerAttack(layer.name, reached, tuple(n for n in notes if n)))
    saturations = whole.saturations + sum(peaks.saturations for peaks in single.values())
    return AttackReport(tuple(layers), saturations)
