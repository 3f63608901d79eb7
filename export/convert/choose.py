"""Choosing the formats of a network: exponents by what they cost, fractional bits by what is safe.

Each rule of :mod:`export.convert.exponents` proposes exponents for a TE table, for the weights of a
layer, for the readout. The rule ``"best"`` starts with the least mean square everywhere and then
tries the others, place by place: a proposal is taken if it clips less and brings the network's
outputs on the calibration data nearer to the float ones. One that clips more than the mean square
would is not considered: it moves single weights by as much as a threshold, and what the others
gain by it changes no predictions (``docs/quantisation.md``). Fractional bits follow from
:mod:`export.convert.fraction_bits`.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch

from export.convert import fraction_bits
from export.convert.exponents import RULES, Proposals
from export.convert.float_network import FloatLayer, FloatNetwork
from export.convert.formats import BEST, Choice, Formats
from export.convert.fraction_bits import Given
from export.convert.round import integer_layer, integer_readout, require_relays
from export.model import geometry
from export.model.input_coding import Encoding
from export.model.layer import SpikingLayer
from export.model.lif import LeakyLayer
from export.model.network import FixedNetwork, needed_gap
from export.twin.simulate import Arriving, encoded, run_integers, send, simulate, walk
from training import neurons
from training.neurons.kind import Drive, NeuronParams

FIRST = "mse"
"""The rule to start from, and the only one where there are no data to measure with."""


def choose_network(
    net: FloatNetwork, encoding: Encoding, x: np.ndarray | None, formats: Formats
) -> tuple[FixedNetwork, list[Choice | None]]:
    """Return the integers of a network, and why its CE-LIF layers have their fractional bits.

    ``x`` (batch, channel, time) are calibration data, or None.
    """
    net = net.with_input_scale(encoding.scale)
    graded = None if x is None else encoding.encode(x, net.steps)
    proposals = Proposals(net, formats)
    builder = _Builder(net, encoding, proposals, graded)
    if formats.rule != BEST or graded is None:
        rule = FIRST if formats.rule == BEST else formats.rule
        return builder.choose_bits(proposals.propose(rule))
    by_rule = {rule: proposals.propose(rule) for rule in (FIRST, *RULES)}
    plan = by_rule[FIRST]
    chosen = builder.choose_bits(plan)
    better = _improved(by_rule, builder, *chosen)
    return chosen if better is plan else builder.choose_bits(better)


def _improved(
    by_rule: dict[str, Any],
    builder: _Builder,
    fixed: FixedNetwork,
    choices: list[Choice | None],
) -> dict[Hashable, int | np.ndarray]:
    """The first plan with other exponents where they bring the outputs nearer to the float ones."""
    graded = builder.graded
    assert graded is not None
    wanted = float_outputs(builder.net, builder.encoding, graded)
    bits = [0 if choice is None else choice.fraction_bits for choice in choices]
    plan = by_rule[FIRST]
    least = float(np.square(outputs(fixed, graded) - wanted).mean())
    for place in plan:
        tried = [plan[place]]
        for rule in RULES:
            exps = by_rule[rule][place]
            if np.any(exps > by_rule[FIRST][place]) or any(
                np.array_equal(exps, other) for other in tried
            ):
                continue
            tried.append(exps)
            other = {**plan, place: exps}
            found = outputs(builder.with_bits(other, bits), graded)
            cost = float(np.square(found - wanted).mean())
            if cost < least:
                plan, least = other, cost
    return plan


@dataclass(frozen=True)
class _Builder:
    """Builds a network with the exponents of a plan."""

    net: FloatNetwork
    encoding: Encoding
    proposals: Proposals
    graded: np.ndarray | None

    def with_bits(self, plan: dict[Hashable, Any], bits: list[int]) -> FixedNetwork:
        """Integers with given fractional bits."""
        layers = [
            self._layer(i, plan, n) if isinstance(values, FloatLayer) else values
            for i, (values, n) in enumerate(zip(self.net.layers, bits, strict=True))
        ]
        return self._network(layers, plan)

    def choose_bits(self, plan: dict[Hashable, Any]) -> tuple[FixedNetwork, list[Choice | None]]:
        """Integers with as many fractional bits as are safe, or as are asked for.

        They are calibrated on what the integer layers before send, as that is what will arrive.
        """
        arriving = Arriving(None, self.encoding.range)
        if self.graded is not None:
            arriving = encoded(self.encoding, self.graded)
        layers: list[Any] = []
        choices: list[Choice | None] = []
        for i, values in enumerate(self.net.layers):
            layer: Any = values
            choice = None
            if isinstance(values, FloatLayer):
                asked = self.proposals.asked[i]
                at = partial(self._layer, i, plan)
                given = Given(arriving.range, arriving.inputs, self.net.steps)
                if asked is not None and isinstance(asked.fraction_bits, int):
                    layer, choice = fraction_bits.forced(at, asked.fraction_bits, given)
                else:
                    layer, choice = fraction_bits.choose(values.name, at, given)
            layers.append(layer)
            choices.append(choice)
            arriving = (
                Arriving(None, layer.output_range)
                if arriving.inputs is None
                else send(layer, run_integers(layer, arriving))
            )
        return self._network(layers, plan), choices

    def _layer(self, i: int, plan: dict[Hashable, Any], bits: int) -> LeakyLayer:
        values = self.net.layers[i]
        assert isinstance(values, FloatLayer)
        layer = integer_layer(values, self.proposals.layer_format(i, plan, bits))
        require_relays(values, layer)
        return layer

    def _network(self, layers: list[Any], plan: dict[Hashable, Any]) -> FixedNetwork:
        readout, asked = None, self.proposals.asked[-1]
        if self.net.readout is not None and asked is not None:
            last = layers[-1]
            readout = integer_readout(
                f"layer {len(layers)}",
                *self.net.readout,
                lag=last.lag + 1 - last.delay_shift,
                bits=asked.weight_bits,  # type: ignore[arg-type]
                steps=self.net.steps,
                best=plan[Proposals.READOUT],
            )
        gap = needed_gap(layers)
        return FixedNetwork(tuple(layers), readout, self.net.steps, gap, self.encoding, {})


def float_outputs(net: FloatNetwork, encoding: Encoding, graded: np.ndarray) -> np.ndarray:
    """Logits (batch, class) of a float network, or firing rates of its last layer.

    Layers that bring their integers, as SLAYER's do, run in them. ``graded`` are the samples as the
    integers get them, (batch, channel, time), so that the encoding is no part of the difference.
    """
    *_, last = walk(net.layers, encoded(encoding, graded), _run, _send)
    rates = last.sent.inputs.mean(1, dtype=np.float64)
    return rates if net.readout is None else rates @ net.readout[0].T + net.readout[1]


def _run(layer: FloatLayer | SpikingLayer, arriving: Arriving) -> Any:
    if isinstance(layer, FloatLayer):
        return float_spikes(layer, arriving.inputs)
    return run_integers(layer, arriving)


def _send(layer: FloatLayer | SpikingLayer, result: Any) -> Arriving:
    if isinstance(layer, FloatLayer):
        return Arriving(geometry.delayed(result, layer.output_delay), (0, 1))
    return send(layer, result)


def outputs(net: FixedNetwork, graded: np.ndarray) -> np.ndarray:
    """Logits or firing rates of a network in integers, in the units of the float network."""
    unit = 1.0 if net.readout is None else 2.0**-net.readout.weight_exp
    return simulate(net, graded).logits * unit / graded.shape[2]


@torch.no_grad()
def float_spikes(
    values: FloatLayer, inputs: np.ndarray, dtype: torch.dtype = torch.float32
) -> np.ndarray:
    """Spikes (batch, time, neuron) of a float layer for inputs in units of its input scale."""
    weight = values.weight * values.input_scale
    sums = torch.from_numpy(geometry.sums(weight, values.geometry, inputs, dtype))
    te, bias = (
        torch.from_numpy(np.repeat(rows, sums.shape[2] // len(rows), axis=0)).to(dtype)
        for rows in (values.te[:, : sums.shape[1]], values.bias)
    )
    own = values.weight_rec
    feedback = None if own is None else torch.from_numpy(own).to(dtype)
    neuron = neurons.find(values.kind.kind.lower())
    params: dict[str, Any] = {
        name: getattr(values, name) for name, _ in values.kind.constants.values()
    }
    for name, value in params.items():
        if isinstance(value, np.ndarray):  # a decay of each row
            each = np.repeat(value, sums.shape[2] // len(value))
            params[name] = torch.from_numpy(each).to(dtype)
    spikes = neuron.spikes(
        Drive(sums.transpose(1, 2), bias, feedback), te, NeuronParams(**params), "auto"
    )
    return spikes.transpose(1, 2).numpy()
