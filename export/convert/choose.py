"""Choosing the formats of a network: exponents by what they cost, fractional bits by what is safe.

A network has several places that need an exponent: every TE table, the weights of every layer,
the readout. Each rule of :mod:`export.convert.round` proposes one for each of them. The rule
``"best"`` starts with the least mean square everywhere and then tries the others, place by place: a
proposal is taken if it brings the network's outputs on the calibration data nearer to the float
ones. Weights are never clipped more than the mean square would: that moves single ones by as much
as a threshold, at every spike of their input, and what the others gain by it changes no predictions
(``docs/quantisation.md``). A value of TE acts at one step of a sample only. Fractional bits follow
from :mod:`export.convert.formats`.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from typing import Any

import numpy as np

from export import loihi2
from export.checks import ModelError
from export.convert.float_network import FloatLayer, FloatNetwork, float_outputs
from export.convert.formats import (
    BEST,
    Choice,
    Formats,
    LayerInputs,
    choose_fraction_bits,
    force_fraction_bits,
)
from export.convert.round import (
    RULES,
    LayerFormat,
    bias_exponent,
    exponents,
    integer_layer,
    integer_readout,
    require_relays,
)
from export.model.lif import LeakyLayer
from export.model.network import Encoding, FixedNetwork, needed_gap
from export.model.te import block_means, quarter_wave
from export.twin.simulate import Arriving, encoded, run_integers, send, simulate
from training.network.temporal_encoding import AMPLITUDE
from training.slayer.mantissa import EXPONENT_MAX, exponent, mantissa_max

FIRST = "mse"
"""The rule to start from, and the only one where there are no data to measure with."""

READOUT = "readout"
"""The place of the readout in a :data:`Plan`."""

Plan = dict[Hashable, Any]
"""Exponents by place: one for all rows, or an array with one for each of them.

A place is :data:`READOUT`, the number of a layer for its weights, or a key that layers with the
same TE in the same formats share.
"""


def choose_network(
    net: FloatNetwork, encoding: Encoding, x: np.ndarray | None, formats: Formats
) -> tuple[FixedNetwork, list[Choice | None]]:
    """Return the integers of a network, and why its CE-LIF layers have their fractional bits.

    ``x`` (batch, channel, time) are calibration data, or None.
    """
    net = net.with_input_scale(encoding.scale)
    graded = None if x is None else encoding.encode(x, net.steps)
    planner = Planner(net, formats, encoding)
    if formats.rule != BEST or graded is None:
        rule = FIRST if formats.rule == BEST else formats.rule
        return planner.choose_bits(planner.propose(rule), graded)
    by_rule = {rule: planner.propose(rule) for rule in (FIRST, *RULES)}
    plan = by_rule[FIRST]
    chosen = planner.choose_bits(plan, graded)
    better = _improved(by_rule, planner, graded, *chosen)
    return chosen if better is plan else planner.choose_bits(better, graded)


def _improved(
    by_rule: dict[str, Plan],
    planner: Planner,
    graded: np.ndarray,
    fixed: FixedNetwork,
    choices: list[Choice | None],
) -> Plan:
    """Return the first plan, with other exponents where they bring the outputs nearer to float."""
    wanted = float_outputs(planner.net, planner.encoding, graded)
    bits = [0 if choice is None else choice.fraction_bits for choice in choices]
    plan = by_rule[FIRST]
    least = float(np.square(outputs(fixed, graded) - wanted).mean())
    for place in plan:
        tried = [plan[place]]
        for rule in RULES:
            exps = by_rule[rule][place]
            clips = np.any(exps > by_rule[FIRST][place])
            if clips and place not in planner.te_places:
                continue
            if any(np.array_equal(exps, other) for other in tried):
                continue
            tried.append(exps)
            other = {**plan, place: exps}
            found = outputs(planner.with_bits(other, bits), graded)
            cost = float(np.square(found - wanted).mean())
            if cost < least:
                plan, least = other, cost
    return plan


def outputs(net: FixedNetwork, graded: np.ndarray) -> np.ndarray:
    """Return logits or firing rates of an integer network, in the units of the float network."""
    unit = 1.0 if net.readout is None else 2.0**-net.readout.weight_exp
    return simulate(net, graded).logits * unit / graded.shape[2]


class Planner:
    """Proposes exponents for every place of a network, and makes integers with them."""

    def __init__(self, net: FloatNetwork, formats: Formats, encoding: Encoding) -> None:
        self.net, self.encoding = net, encoding
        self.asked = formats.per_layer(net)
        self.te_places = [
            ("te", values.table, asked.te_bits, asked.te_form(values))
            if isinstance(values, FloatLayer) and asked is not None
            else None
            for values, asked in zip(net.layers, self.asked, strict=False)
        ]

    def propose(self, rule: str) -> Plan:
        """Return what ``rule`` proposes for every place; TE first, because layers share it."""
        weighted = [i for i, place in enumerate(self.te_places) if place is not None]
        found: Plan = {}
        for i in weighted:
            if self.te_places[i] not in found:
                found[self.te_places[i]] = self._te(i, rule)
        for i in weighted:
            found[i] = self._weights(i, rule)
        if self.net.readout is not None:
            weight, asked = self.net.readout[0], self.asked[-1]
            assert asked is not None
            assert isinstance(asked.weight_bits, int)
            any_weight = bool(weight.any())
            found[READOUT] = RULES[rule](weight, asked.weight_bits) if any_weight else EXPONENT_MAX
        return found

    def with_bits(self, plan: Plan, bits: list[int]) -> FixedNetwork:
        """Return the integers with given fractional bits."""
        layers = [
            self._integers(i, plan, n) if isinstance(values, FloatLayer) else values
            for i, (values, n) in enumerate(zip(self.net.layers, bits, strict=True))
        ]
        return self._network(layers, plan)

    def choose_bits(
        self, plan: Plan, graded: np.ndarray | None
    ) -> tuple[FixedNetwork, list[Choice | None]]:
        """Return integers with as many fractional bits as are safe, or as the user asked for.

        Each layer is calibrated on what the integer layers before it send.
        """
        arriving = Arriving(None, self.encoding.range)
        if graded is not None:
            arriving = encoded(self.encoding, graded)
        layers: list[Any] = []
        choices: list[Choice | None] = []
        for i, values in enumerate(self.net.layers):
            layer: Any = values
            choice = None
            if isinstance(values, FloatLayer):
                asked = self.asked[i]
                at = partial(self._integers, i, plan)
                given = LayerInputs(arriving.range, arriving.inputs, self.net.steps)
                if asked is not None and isinstance(asked.fraction_bits, int):
                    layer, choice = force_fraction_bits(at, asked.fraction_bits, given)
                else:
                    layer, choice = choose_fraction_bits(values.name, at, given)
            layers.append(layer)
            choices.append(choice)
            arriving = (
                Arriving(None, layer.output_range)
                if arriving.inputs is None
                else send(layer, run_integers(layer, arriving))
            )
        return self._network(layers, plan), choices

    def layer_format(self, i: int, plan: Plan, fraction_bits: int) -> LayerFormat:
        """Return the formats of layer ``i`` in ``plan``, or raise ModelError if they do not fit."""
        values, asked, weight_bits, te_bits = self._layer(i)
        te_exp, weight_exp = plan[self.te_places[i]], plan[i]
        if isinstance(te_exp, np.ndarray):
            te_exp = te_exp[: len(values.weight)]
        if isinstance(weight_exp, np.ndarray):
            # Sums with more fractional bits than F are shifted right, by the same amount in all
            # rows: a row of small weights must not cost the other rows their precision.
            limit = max(fraction_bits - values.input_exp, weight_exp.min())
            weight_exp = np.minimum(weight_exp, limit)
        form = asked.te_form(values)
        return LayerFormat(
            weight_bits=weight_bits,
            weight_exp=weight_exp,
            te_bits=te_bits,
            te_exp=te_exp,
            te_form=form or quarter_wave(AMPLITUDE * float(2.0**te_exp), te_bits),
            fraction_bits=fraction_bits,
            bias_exp=bias_exponent(values, fraction_bits),
            input_exp=values.input_exp,
        )

    def _layer(self, i: int) -> tuple[FloatLayer, Formats, int, int]:
        values, asked = self.net.layers[i], self.asked[i]
        assert isinstance(values, FloatLayer)
        assert asked is not None
        assert isinstance(asked.weight_bits, int)
        assert isinstance(asked.te_bits, int)
        return values, asked, asked.weight_bits, asked.te_bits

    def _weights(self, i: int, rule: str) -> int | np.ndarray:
        values, asked, bits, _ = self._layer(i)
        rows = values.weight_rows
        exps = exponents(rows, bits, rule, asked.per_channel)
        if np.min(exps) < loihi2.WEIGHT_EXP_MIN:
            limit = mantissa_max(bits) << -loihi2.WEIGHT_EXP_MIN
            raise ModelError(
                f"{values.name} weight: expected |w| up to {limit}, got {np.abs(rows).max():g}"
            )
        return exps

    def _te(self, i: int, rule: str) -> int | np.ndarray:
        """Return the exponents of the TE of layer ``i``, from the widest layer that shares it."""
        members = [j for j, other in enumerate(self.te_places) if other == self.te_places[i]]
        values, asked, _, bits = max(map(self._layer, members), key=lambda one: len(one[0].weight))
        form = asked.te_form(values)
        if form is None:
            return exponent(AMPLITUDE, bits)
        table, limit = block_means(values.te, form.hold), mantissa_max(bits)
        # TE · V is shifted right by the exponent, so it cannot be negative.
        if (largest := float(np.abs(table).max())) >= limit + 0.5:
            remedy = "the training diverged, or needs a smaller TE: clip or decay it"
            if largest < mantissa_max(loihi2.TE_BITS_MAX) + 0.5:
                fitting = range(bits + 1, loihi2.TE_BITS_MAX + 1)
                enough = next(b for b in fitting if largest < mantissa_max(b) + 0.5)
                remedy = f"export with te_bits={enough} or more, or train with a smaller TE"
            expected = f"|TE| up to {limit} for {bits} bits"
            raise ModelError.about(values.name, "te", expected, f"{largest:g}", remedy)
        return exponents(table, bits, rule, asked.per_channel)

    def _integers(self, i: int, plan: Plan, bits: int) -> LeakyLayer:
        values = self.net.layers[i]
        assert isinstance(values, FloatLayer)
        layer = integer_layer(values, self.layer_format(i, plan, bits))
        require_relays(values, layer)
        return layer

    def _network(self, layers: list[Any], plan: Plan) -> FixedNetwork:
        readout, asked = None, self.asked[-1]
        if self.net.readout is not None and asked is not None:
            last = layers[-1]
            readout = integer_readout(
                f"layer {len(layers)}",
                *self.net.readout,
                lag=last.lag + 1 - last.delay_shift,
                bits=asked.weight_bits,  # type: ignore[arg-type]
                steps=self.net.steps,
                best=plan[READOUT],
            )
        gap = needed_gap(layers)
        return FixedNetwork(tuple(layers), readout, self.net.steps, gap, self.encoding, {})
