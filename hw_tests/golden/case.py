"""What cases are made of.

The membrane is driven directly: a weight of 1 and no shift put the input's integer into V.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from export import loihi2
from export.model.network import CelifLayer, Encoding, FixedNetwork, ReadoutLayer

FRACTION_BITS = 12


@dataclass(frozen=True)
class KitCase:
    """A network, its samples (batch, channel, time) and what they show."""

    name: str
    about: str
    net: FixedNetwork
    x: np.ndarray


def celif(te: Any, **fields: Any) -> CelifLayer:
    """A CE-LIF layer of one neuron for each row of ``te``, driven by one input each."""
    te = np.array(te, np.int64)
    rows = len(te)
    registers: dict[str, Any] = {
        "name": "layer 0",
        "weight": np.eye(rows, dtype=np.int64),
        "lag": 1,
        "delay_shift": False,
        "te": te,
        "te_exp": 4,
        "te_bits": 8,
        "weight_exp": FRACTION_BITS,
        "weight_bits": 8,
        "fraction_bits": FRACTION_BITS,
        "alpha_mant": loihi2.DECAY_ONE // 2,
        "beta_mant": loihi2.DECAY_ONE * 3 // 4,
        "theta0_int": 100,
        "bias_mant": np.zeros(rows, np.int64),
        "bias_exp": 0,
    }
    return CelifLayer(**{**registers, **fields})


def network(layers: Sequence[Any], channels: int, steps: int, gap: int = 0) -> FixedNetwork:
    """Layers without a readout, for 16-bit inputs of either sign."""
    encoding = Encoding(channels, 1.0, loihi2.MESSAGE_BITS_MAX, signed=True)
    readout = None
    if isinstance(layers[-1], ReadoutLayer):
        *layers, readout = layers
    return FixedNetwork(tuple(layers), readout, steps, gap, encoding, {})


def one_layer(name: str, about: str, x: Any, te: Any = None, **fields: Any) -> KitCase:
    """A case of one layer; ``x`` is (channel, time) of its only sample, or has samples first."""
    x = np.array(x, np.int64)
    x = x[None] if x.ndim == 2 else x
    te = np.zeros(x.shape[1:]) if te is None else te
    layer = celif(te, **fields)
    return KitCase(name, about, network([layer], x.shape[1], layer.te.shape[1], layer.gap), x)
