"""An attack on the certificate: how near real inputs come to each proven bound.

Two surfaces. *Alone*: each layer is given any inputs in its range, which is what its bound claims
to hold for. *Network*: inputs go into the first layer only, and the others get what comes of them.
The twin computes every state; nothing counts that it did not reach.

A layer alone is attacked with noise, with patterns at the ends of the range, and by driving
single neurons through their own step (:mod:`export.adversary`). A network is attacked with noise,
patterns, the inputs that drove its first layer, and by climbing: the inputs that came nearest to
each bound are changed in a stretch of time, and kept if they come nearer. On tiny ranges
:func:`every_input` leaves nothing out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from export.adversary import Aim, driving_inputs
from export.certificate import Certificate, LayerCertificate, certify, input_ranges
from export.encoding import Encoding
from export.fixed_point import IntParams
from export.intervals import intervals
from export.model import CelifLayer, CubaLayer, FixedNetwork, Layer, ReadoutLayer, needed_gap
from export.twin import simulate

NEAR = 4
"""A bound that is not approached to within this factor is explained."""

_EXHAUSTIVE_MAX = 1 << 20
_CHUNK = 64
_AIMED_NEURONS = 6
_LIFTS = (0.0, 1e-3, 1e-2, 0.1, 1.0)
"""How much Θ counts beside V, where V is to be large: under a higher threshold it can be larger."""


@dataclass(frozen=True)
class Reached:
    """The largest magnitude that an attack brought a register to; None where it cannot be seen."""

    register: str
    bound: int
    alone: int | None
    network: int | None

    def ratio(self, surface: str) -> float | None:
        """Of what was reached to the bound."""
        value = getattr(self, surface)
        if value is None:
            return None
        return value / self.bound if self.bound else 1.0

    @property
    def passed(self) -> bool:
        """Whether a bound was passed, which would be a mistake in the proof."""
        return max(self.alone or 0, self.network or 0) > self.bound


@dataclass(frozen=True)
class LayerAttack:
    """What the attack reached in a layer."""

    name: str
    reached: tuple[Reached, ...]
    notes: tuple[str, ...]
    """Why a bound was not approached, where it was not."""


@dataclass(frozen=True)
class AttackReport:
    """Outcome of :func:`attack`."""

    layers: tuple[LayerAttack, ...]
    saturations: int
    """How often a register stood at its end."""

    @property
    def passed(self) -> bool:
        """Whether any bound was passed, which would be a mistake in the proof."""
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
                            "alone_ratio": r.ratio("alone"),
                            "network": r.network,
                            "network_ratio": r.ratio("network"),
                        }
                        for r in layer.reached
                    },
                }
                for layer in self.layers
            ],
        }


def alone(layer: CelifLayer | CubaLayer, encoding: Encoding, steps: int) -> FixedNetwork:
    """A network of one layer, whose inputs have the range of ``encoding``."""
    inputs = Encoding(layer.inputs, 1.0, encoding.bits, encoding.signed)
    return FixedNetwork((replace(layer, lag=1),), None, steps, needed_gap((layer,)), inputs, {})


def every_input(encoding: Encoding, steps: int) -> Iterator[np.ndarray]:
    """Every sequence of ``steps`` inputs, in batches (batch, channel, time)."""
    low, high = encoding.range
    size = encoding.channels * steps
    if size * np.log2(high - low + 1) > np.log2(_EXHAUSTIVE_MAX):
        raise ValueError(
            f"every_input: expected at most {_EXHAUSTIVE_MAX} sequences, got "
            f"{high - low + 1}^{size}; use fewer steps, channels or input bits"
        )
    rows = np.array(list(product(range(low, high + 1), repeat=size)), np.int32)
    for start in range(0, len(rows), 1 << 14):
        yield rows[start : start + (1 << 14)].reshape(-1, encoding.channels, steps)


class _Peaks:
    """Largest |V|, |Θ| and |readout| so far, per layer, and the inputs that gave them."""

    def __init__(self, net: FixedNetwork) -> None:
        self.net = net
        self.largest: dict[tuple[int, str], int] = {}
        self.inputs: dict[tuple[int, str], np.ndarray] = {}
        self.saturations = 0

    def run(self, x: np.ndarray) -> None:
        """Try inputs (batch, channel, time)."""
        for start in range(0, len(x), _CHUNK):
            part = x[start : start + _CHUNK]
            trace = simulate(self.net, part, trace=True)
            assert trace.v is not None and trace.theta is not None
            self.saturations += sum(trace.saturations or ())
            for i, states in enumerate(zip(trace.v, trace.theta, strict=True)):
                for register, values in zip("VΘ", states, strict=True):
                    if values is not None:
                        self._note((i, register), np.abs(values).max((1, 2)), part)
            if self.net.readout is not None:
                self._note((len(self.net.layers), "readout"), np.abs(trace.logits).max(1), part)

    def _note(self, place: tuple[int, str], values: np.ndarray, x: np.ndarray) -> None:
        best = int(values.argmax())
        if values[best] > self.largest.get(place, -1):
            self.largest[place], self.inputs[place] = int(values[best]), x[best]


def patterns(encoding: Encoding, steps: int, rng: np.random.Generator) -> np.ndarray:
    """Noise, constants, and stretches at the ends of the range, (batch, channel, time)."""
    low, high = encoding.range
    shape = (8, encoding.channels, steps)
    at_ends = rng.choice([low, high], shape)
    stretches = [
        np.repeat(rng.choice([low, high], (8, encoding.channels, -(-steps // n))), n, 2)
        for n in (4, 16, 64)
    ]
    flashes = np.where(rng.random(shape) < 0.05, high, 0)
    constants = [np.full((1, *shape[1:]), value) for value in (low, 0, high)]
    noise = rng.integers(low, high + 1, shape)
    rows = [noise, at_ends, flashes, *constants, *(s[:, :, :steps] for s in stretches)]
    return np.concatenate(rows).astype(np.int32)


def _aims(layer: CelifLayer, low: int, high: int) -> list[Aim]:
    """Where to drive the neurons with the largest bounds."""
    ends = intervals(layer, low, high)
    last = layer.te.shape[1] - 1
    first = np.unique(ends.lane, return_index=True)[1]
    aims = []
    for values, objectives in (
        (ends.theta_high, [(1.0, 0.0)]),
        (-ends.theta_low, [(-1.0, 0.0)]),
        (ends.v_high, [(lift, 1.0) for lift in _LIFTS]),
        (-ends.v_low, [(lift, -1.0) for lift in _LIFTS]),
    ):
        for lane in np.argsort(-values.max(1), kind="stable")[:_AIMED_NEURONS]:
            for step in sorted({int(values[lane].argmax()), last // 4, last}):
                aims += [Aim(int(first[lane]), step, c, w) for c, w in objectives]
    return aims


def _driven(layer: CelifLayer, low: int, high: int) -> Iterator[np.ndarray]:
    """Inputs (batch, input, time) that drive single neurons of a layer."""
    each = IntParams(
        *(
            np.ascontiguousarray(np.broadcast_to(np.asarray(r, np.int64), layer.neurons))
            for r in layer.params
        )
    )
    aims, te = _aims(layer, low, high), layer.spread(layer.te)
    ends = np.full(layer.inputs, low), np.full(layer.inputs, high)
    for start in range(0, len(aims), _CHUNK):
        inputs = driving_inputs(aims[start : start + _CHUNK], te, each, layer.matrix, *ends)
        yield inputs.transpose(0, 2, 1).astype(np.int32)


def attack_layer(
    layer: CelifLayer | CubaLayer, encoding: Encoding, steps: int, rng: np.random.Generator
) -> _Peaks:
    """Attack a layer alone, with inputs that have the range of ``encoding``."""
    peaks = _Peaks(alone(layer, encoding, steps))
    peaks.run(patterns(peaks.net.encoding, steps, rng))
    if isinstance(layer, CelifLayer):
        for x in _driven(layer, *encoding.range):
            peaks.run(x)
    return peaks


def _mutants(x: np.ndarray, encoding: Encoding, rng: np.random.Generator) -> np.ndarray:
    """Copies of inputs (channel, time), each with a stretch of time changed."""
    low, high = encoding.range
    steps = x.shape[1]
    out = np.repeat(x[None], 8, 0)
    for row in out:
        length = int(rng.integers(1, max(2, steps // int(rng.choice([1, 4, 16, 64])))))
        start = int(rng.integers(0, max(1, steps - length + 1)))
        stretch = slice(start, start + length)
        fresh = {
            "low": np.full((len(row), length), low),
            "high": np.full((len(row), length), high),
            "ends": rng.choice([low, high], (len(row), length)),
            "turned": low + high - row[:, stretch],
        }[str(rng.choice(["low", "high", "ends", "turned"]))]
        row[:, stretch] = fresh[:, : row[:, stretch].shape[1]]
    return out


def attack_network(
    net: FixedNetwork, seeds: list[np.ndarray], rounds: int, rng: np.random.Generator
) -> _Peaks:
    """Attack a network from its inputs, beginning with ``seeds`` (channel, time) and patterns."""
    peaks = _Peaks(net)
    peaks.run(patterns(net.encoding, net.steps, rng))
    if seeds:
        peaks.run(np.stack(seeds))
    for _ in range(rounds):
        best = list(peaks.inputs.values())
        peaks.run(np.concatenate([_mutants(x, net.encoding, rng) for x in best]))
    return peaks


def _largest_sum(layer: Layer, low: int, high: int) -> int:
    """The sum that the inputs which the bound is made of really have."""
    matrix = layer.matrix.astype(np.int64)
    ends = (np.where(matrix > 0, a, b) for a, b in ((high, low), (low, high)))
    largest = max(int(np.abs((matrix * x).sum(1)).max()) for x in ends)
    return largest


def _notes(certificate: LayerCertificate, layer: Layer, reached: list[Reached]) -> list[str]:
    """Why bounds that the layer alone did not come near are not reached."""
    notes = []
    for r in reached:
        ratio = r.ratio("alone")
        if ratio is None or ratio >= 1 / NEAR:
            continue
        if not certificate.proven:
            why = "past the end of a register, saturated states are bounded as boxes only"
        elif layer.weight_rec is not None:
            why = (
                "the bound lets the layer's own spikes come as they may, and the attack does not "
                "plan them"
            )
        elif r.register == "Θ" or r.register == "V":
            alpha = layer.alpha_mant if isinstance(layer, CelifLayer) else 0
            why = (
                f"α = {alpha}/4096 carries V through more steps than the proof unrolls; beyond "
                "them it lets V and Θ be at their ends together"
            )
        else:
            why = "no input was found"
        notes.append(f"{r.register} came to {ratio:.0%} of its bound: {why}")
    return notes


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
        How often the inputs of the whole network are changed for larger states.
    seed
        Of the random inputs; the attack is the same for the same seed.
    """
    certificate = certificate or certify(net)
    rng = np.random.default_rng(seed)
    single = [
        attack_layer(layer, _encoding(low, high), net.steps, rng)
        for layer, (low, high) in zip(net.layers, input_ranges(net), strict=False)
    ]
    whole = attack_network(net, list(single[0].inputs.values()), rounds, rng)
    layers = []
    ranges = input_ranges(net)
    for i, (layer, bounds) in enumerate(zip(net.all_layers, certificate.layers, strict=True)):
        reached = []
        for bound in bounds.registers:
            if bound.register == "sum":
                own: int | None = _largest_sum(layer, *ranges[i])
            elif isinstance(layer, ReadoutLayer):
                own = layer.worst_case(net.steps)
            else:
                own = single[i].largest.get((0, bound.register))
            network = whole.largest.get((i, bound.register))
            reached.append(Reached(bound.register, bound.largest, own, network))
        layers.append(
            LayerAttack(layer.name, tuple(reached), tuple(_notes(bounds, layer, reached)))
        )
    saturations = whole.saturations + sum(peaks.saturations for peaks in single)
    return AttackReport(tuple(layers), saturations)


def _encoding(low: int, high: int) -> Encoding:
    return Encoding(1, 1.0, max(high, -low).bit_length(), low < 0)
