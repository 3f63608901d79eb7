"""Random integer networks of every kind of layer, in any order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from export import loihi2
from export.model.geometry import Geometry, Shape
from export.model.layer import Layer
from export.model.lif import DECAY, LeakyLayer
from export.model.network import (
    KINDS,
    CelifLayer,
    CubaLayer,
    Encoding,
    FixedNetwork,
    ReadoutLayer,
    SigmaDeltaLayer,
    SpikingLayer,
    needed_gap,
)
from hw_tests.networks.random_nets import with_own_decays
from training.slayer.mantissa import EXPONENT_MAX


@dataclass(frozen=True)
class LayerSpec:
    """A layer to be drawn: ``rows`` neurons or output channels of some kind of neuron.

    With ``kernel``, a convolution whose :class:`export.model.geometry.Geometry` has the
    ``options``; a
    kernel of ``(1, 1)`` in as many groups as channels has one input for each neuron. ``delay`` is
    the longest axonal delay. With ``own_decays``, every row has its own.
    """

    rows: int
    neuron: str = "CELIF"
    kernel: tuple[int, int] | None = None
    options: dict[str, Any] = field(default_factory=dict)
    recurrent: bool = False
    shift: bool = False
    delay: int = 0
    own_decays: bool = False


def random_stack(
    rng: np.random.Generator,
    parts: Sequence[LayerSpec],
    steps: int,
    *,
    shape: tuple[int, int, int] = (2, 1, 1),
    bits: int = 4,
    signed: bool = False,
    classes: int = 3,
    te_bits: int = 8,
) -> FixedNetwork:
    """A network of ``parts`` for inputs of some shape; without ``classes``, it has no readout."""
    encoding = Encoding(Shape(*shape).size, 1.0, bits, signed)
    input_shape, size = Shape(*shape), max(map(abs, encoding.range)) / 2
    layers: list[SpikingLayer] = []
    lag, unit = 1, 0
    for i, part in enumerate(parts):
        common = _synapses(rng, part, input_shape)
        if part.recurrent and issubclass(KINDS[part.neuron], LeakyLayer):
            # As an export does it: full-scale inputs count about as much as spikes.
            unit = max(unit, int(np.log2(max(size, 1))))
        common |= {"name": f"layer {i}", "lag": lag, "input_exp": unit}
        layer = _draw(part.neuron, rng, common, size, steps, te_bits)
        if part.own_decays and isinstance(layer, LeakyLayer):
            layer = with_own_decays(rng, layer)
        layers.append(layer)
        input_shape, lag, unit = layer.output_shape, lag + 1 - layer.delay_shift, layer.output_exp
        size = 0.5 if layer.output_range == (0, 1) else 2.0**layer.output_exp / 4
    readout = _readout(rng, layers, lag, classes) if classes else None
    return FixedNetwork(tuple(layers), readout, steps, needed_gap(layers), encoding, {})


def _synapses(rng: np.random.Generator, part: LayerSpec, input_shape: Shape) -> dict[str, Any]:
    fields: dict[str, Any] = {"delay_shift": part.shift}
    if part.kernel is None:
        shape: tuple[int, ...] = (part.rows, input_shape.size)
    else:
        fields["geometry"] = geometry = Geometry(input_shape, **part.options)
        shape = (part.rows, input_shape.channels // geometry.groups, *part.kernel)
    limit = loihi2.WEIGHT_MAX
    # SLAYER's weights are even, twice as large as ours.
    factor = 1 if KINDS[part.neuron].requantisable else 2
    fields["weight"] = rng.integers(-limit, limit + 1, shape) * factor
    if part.recurrent:
        fields["weight_rec"] = rng.integers(-limit, limit + 1, (part.rows, part.rows)) * factor
    if part.delay:
        fields["delay"] = rng.integers(0, part.delay + 1, part.rows)
        fields["delay"][0] = part.delay
    return fields


def _typical(fields: dict[str, Any], size: float) -> float:
    """Standard deviation of a synaptic sum, for inputs about as large as ``size``."""
    fan_in = fields["weight"][0].size * size**2
    fan_in += 0 if "weight_rec" not in fields else len(fields["weight"]) / 4
    return float(np.abs(fields["weight"]).mean() * np.sqrt(fan_in))


def _leaky(
    rng: np.random.Generator, fields: dict[str, Any], size: float, kind: type[LeakyLayer]
) -> dict[str, Any]:
    """What every leaky neuron has, with constants over a range in which the layer fires."""
    rows, fraction_bits = len(fields["weight"]), 12
    # Sums of about one in the unit of the threshold.
    exp = int(np.ceil(np.log2(_typical(fields, size)))) - fields["input_exp"]
    return {
        **fields,
        "weight_exp": int(np.clip(exp, loihi2.WEIGHT_EXP_MIN, EXPONENT_MAX)),
        "weight_bits": loihi2.WEIGHT_BITS,
        "fraction_bits": fraction_bits,
        "bias_mant": rng.integers(-200, 1200, rows),
        "bias_exp": 1,
        **{
            name: int(rng.integers(1024, 4096))
            if rounding == DECAY
            else int(0.3 * (1 << fraction_bits))
            for name, (_, rounding) in kind.constants.items()
        },
    }


def _any_leaky(
    rng: np.random.Generator, fields: dict[str, Any], size: float, kind: type[LeakyLayer]
) -> LeakyLayer:
    return kind(**_leaky(rng, fields, size, kind))


def _celif(
    rng: np.random.Generator, fields: dict[str, Any], size: float, steps: int, te_bits: int
) -> CelifLayer:
    limit = (1 << (te_bits - 1)) - 1
    common = _leaky(rng, fields, size, CelifLayer)
    common["beta_mant"] = int(rng.integers(3000, 4096))
    return CelifLayer(
        **common,
        te=rng.integers(-limit, limit + 1, (len(fields["weight"]), steps)),
        te_exp=te_bits + 2,
        te_bits=te_bits,
    )


def _cuba(
    rng: np.random.Generator, fields: dict[str, Any], size: float, steps: int, te_bits: int
) -> CubaLayer:
    typical = _typical(fields, size) / (1 << fields["input_exp"])
    return CubaLayer(
        **fields,
        du=int(rng.integers(1000, 4096)),
        dv=int(rng.integers(100, 2000)),
        vth=int(np.clip(typical, 1, loihi2.CUBA_VTH_MAX)),
        bias_mant=rng.integers(-20, 40, len(fields["weight"])),
    )


def _sigma_delta(
    rng: np.random.Generator, fields: dict[str, Any], size: float, steps: int, te_bits: int
) -> SigmaDeltaLayer:
    typical = _typical(fields, size) / (1 << fields["input_exp"])
    return SigmaDeltaLayer(
        **fields,
        vth=int(np.clip(typical / 4, 1, loihi2.CUBA_VTH_MAX)),
        bias_mant=rng.integers(-20, 40, len(fields["weight"])),
    )


def _draw(kind: str, rng: np.random.Generator, *arguments: Any) -> SpikingLayer:
    if kind in _NEURONS:
        return _NEURONS[kind](rng, *arguments)
    found = KINDS[kind]
    assert issubclass(found, LeakyLayer)
    fields, size, _, _ = arguments
    return _any_leaky(rng, fields, size, found)


_NEURONS: dict[str, Callable[..., SpikingLayer]] = {
    CelifLayer.kind: _celif,
    CubaLayer.kind: _cuba,
    SigmaDeltaLayer.kind: _sigma_delta,
}


def _readout(
    rng: np.random.Generator, layers: Sequence[Layer], lag: int, classes: int
) -> ReadoutLayer:
    return ReadoutLayer(
        name=f"layer {len(layers)}",
        weight=rng.integers(-127, 128, (classes, layers[-1].neurons)),
        lag=lag,
        delay_shift=False,
        weight_exp=7,
        weight_bits=loihi2.WEIGHT_BITS,
        bias=rng.integers(-1000, 1000, classes),
    )
