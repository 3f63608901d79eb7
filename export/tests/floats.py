"""Float layers for the tests of quantisation, and formats for them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from export.convert.choose import Planner, choose_network
from export.convert.float_network import FloatLayer, FloatNetwork
from export.convert.formats import Choice, Formats
from export.convert.round import LayerFormat
from export.model.network import CelifLayer, Encoding


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


def network_of(values: FloatLayer) -> FloatNetwork:
    """A network of that one layer."""
    return FloatNetwork([values], None, values.te.shape[1], {})


def layer_format(
    values: FloatLayer, fraction_bits: int, rule: str = "max", **formats
) -> LayerFormat:
    """Formats by a rule that needs no data."""
    encoding = Encoding(values.weight.shape[1], 1.0, 1, signed=False)
    planner = Planner(network_of(values), Formats(**formats), encoding)
    return planner.layer_format(0, planner.propose(rule), fraction_bits)


def choose(
    values: FloatLayer, input_max: int, x: np.ndarray | None, **formats
) -> tuple[CelifLayer, Choice]:
    """Integers of one layer for whole inputs ``x`` (batch, channel, time) up to ``input_max``."""
    encoding = Encoding(values.weight.shape[1], 1.0, input_max.bit_length(), signed=False)
    fixed, choices = choose_network(network_of(values), encoding, x, Formats(**formats))
    return fixed.layers[0], choices[0]
