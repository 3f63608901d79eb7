"""Choosing the formats of a network: exponents by what they cost, fractional bits by what is safe.

Each rule of :mod:`export.convert.rules` proposes exponents for a TE table, for the weights of a
layer, for
the readout. The rule ``"best"`` starts with the least mean square everywhere and then tries the
others, place by place: a proposal is taken if it brings the network's outputs on the calibration
data nearer to the float ones (:mod:`export.convert.measuring`). Fractional bits follow from
:mod:`export.convert.fraction_bits`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from export.convert import fraction_bits, rules
from export.convert.float_network import Stack
from export.convert.formats import BEST, Formats
from export.convert.fraction_bits import Arriving, Choice
from export.convert.measuring import float_outputs, outputs
from export.convert.proposals import READOUT, Place, Proposals
from export.convert.round import FloatLayer, integer_layer, integer_readout
from export.model.geometry import delayed
from export.model.input_coding import Encoding
from export.model.network import CelifLayer, FixedNetwork, ReadoutLayer, needed_gap
from export.twin.scans import run_layer
from export.twin.sums import arriving_sums

FIRST = "mse"
"""The rule to start from, and the only one where there are no data to measure with."""

Plan = dict[Place, str]
"""The rule for each place."""


@dataclass(frozen=True)
class Chosen:
    """A network in integers and, of its CE-LIF layers, how their formats came about."""

    fixed: FixedNetwork
    choices: list[Choice | None]


def choose_network(
    stack: Stack, encoding: Encoding, x: np.ndarray | None, formats: Formats
) -> Chosen:
    """Integers of a network; ``x`` (batch, channel, time) are calibration data, or None."""
    asked = formats.per_layer(stack.layers, stack.readout is not None)
    graded = None if x is None else encoding.encode(x, stack.steps)
    builder = _Builder(stack, encoding, Proposals(stack, asked, encoding.scale), graded)
    first = FIRST if formats.rule == BEST else formats.rule
    plan = dict.fromkeys(builder.proposals.places, first)
    chosen = builder.chosen(plan)
    if formats.rule != BEST or graded is None:
        return chosen
    better = _improved(plan, builder, chosen)
    return chosen if better == plan else builder.chosen(better)


def _improved(plan: Plan, builder: _Builder, first: Chosen) -> Plan:
    """The plan with other rules where they bring the outputs nearer to the float ones."""
    stack, graded = builder.stack, builder.graded
    assert graded is not None
    wanted = float_outputs(stack.layers, stack.readout, builder.encoding, graded)
    bits = [0 if choice is None else choice.fraction_bits for choice in first.choices]

    def error(net: FixedNetwork) -> float:
        return float(np.square(outputs(net, graded) - wanted).mean())

    least = error(first.fixed)
    for place in plan:
        tried = [builder.proposals.of(place, plan[place])]
        for rule in rules.RULES:
            exps = builder.proposals.of(place, rule)
            if any(np.array_equal(exps, other) for other in tried):
                continue
            tried.append(exps)
            other = {**plan, place: rule}
            cost = error(builder.with_bits(other, bits))
            if cost < least:
                plan, least = other, cost
    return plan


@dataclass(frozen=True)
class _Builder:
    """Builds a network by a plan."""

    stack: Stack
    encoding: Encoding
    proposals: Proposals
    graded: np.ndarray | None

    def with_bits(self, plan: Plan, bits: list[int]) -> FixedNetwork:
        """Integers with given fractional bits."""
        layers = [
            self._at(i, plan, n) if isinstance(values, FloatLayer) else values
            for i, (values, n) in enumerate(zip(self.stack.layers, bits, strict=True))
        ]
        return self._network(layers, plan)

    def chosen(self, plan: Plan) -> Chosen:
        """Integers with as many fractional bits as are safe, or as are asked for.

        They are calibrated on what the integer layers before send, as that is what will arrive.
        """
        inputs = None if self.graded is None else self.graded.transpose(0, 2, 1)
        reach = self.encoding.range
        layers: list[Any] = []
        choices: list[Choice | None] = []
        for i, values in enumerate(self.stack.layers):
            layer: Any = values
            choice = None
            if isinstance(values, FloatLayer):
                layer, choice = self._choose(i, plan, Arriving(reach, inputs))
            layers.append(layer)
            choices.append(choice)
            if inputs is not None:
                sums = arriving_sums(layer, inputs, max(map(abs, reach)))
                inputs = delayed(run_layer(layer, sums, keep=False).spikes, layer.output_delay)
            reach = layer.output_range
        return Chosen(self._network(layers, plan), choices)

    def _choose(self, i: int, plan: Plan, arriving: Arriving) -> tuple[CelifLayer, Choice]:
        ask = self.proposals.asked.layers[i]
        assert ask is not None

        def at(bits: int) -> CelifLayer:
            return self._at(i, plan, bits)

        if ask.fraction_bits is not None:
            return fraction_bits.forced(at, ask.fraction_bits, arriving)
        return fraction_bits.choose(self.stack.layers[i].name, at, arriving)

    def _at(self, i: int, plan: Plan, bits: int) -> CelifLayer:
        values = self.stack.layers[i]
        assert isinstance(values, FloatLayer)
        scale = self.encoding.scale if i == 0 else 1.0
        return integer_layer(values, scale, self.proposals.layer_format(i, plan, bits))

    def _network(self, layers: list[Any], plan: Plan) -> FixedNetwork:
        readout: ReadoutLayer | None = None
        if self.stack.readout is not None:
            last = layers[-1]
            readout = integer_readout(
                f"layer {len(layers)}",
                *self.stack.readout,
                lag=last.lag + 1 - last.delay_shift,
                bits=self.proposals.asked.readout_bits,
                steps=self.stack.steps,
                rule=plan[READOUT],
            )
        gap = needed_gap(layers)
        return FixedNetwork(tuple(layers), readout, self.stack.steps, gap, self.encoding, {})
