"""Float layers for the tests of quantisation, and formats for them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from export.convert.choose import choose_network
from export.convert.float_network import Stack
from export.convert.formats import Formats
from export.convert.fraction_bits import Choice
from export.convert.proposals import Proposals
from export.convert.round import FloatLayer, LayerFormat
from export.model.input_coding import Encoding
from export.model.network import CelifLayer


def float_layer(rng: np.random.Generator, size: float = 1.0, **change) -> FloatLayer:
    """Four neurons of three inputs, six steps."""
    values = FloatLayer(
        name="layer 0",
        weight=rng.normal(0, size, (4, 3)),
        bias=rng.normal(0, 1, 4),
        te=rng.normal(0, 0.05, (4, 6)),
        alpha=0.437,
        beta=0.913,
        theta0=0.3,
        lag=1,
        delay_shift=False,
    )
    return replace(values, **change)


def stack_of(values: FloatLayer) -> Stack:
    """A network of that one layer."""
    return Stack([values], None, values.te.shape[1], {})


def layer_format(
    values: FloatLayer, scale: float, fraction_bits: int, rule: str = "max", **formats
) -> LayerFormat:
    """Formats by a rule that needs no data."""
    asked = Formats(**formats).per_layer([values], readout=False)
    proposals = Proposals(stack_of(values), asked, scale)
    return proposals.layer_format(0, dict.fromkeys(proposals.places, rule), fraction_bits)


def choose(
    values: FloatLayer, input_max: int, x: np.ndarray | None, **formats
) -> tuple[CelifLayer, Choice]:
    """Integers of one layer for whole inputs ``x`` (batch, channel, time) up to ``input_max``."""
    encoding = Encoding(values.weight.shape[1], 1.0, input_max.bit_length(), signed=False)
    chosen = choose_network(stack_of(values), encoding, x, Formats(**formats))
    return chosen.fixed.layers[0], chosen.choices[0]
