"""Hypothesis strategies for integer networks, and how to compare two of them."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from export.model import CelifLayer, CubaLayer, Encoding, FixedNetwork, Layer, ReadoutLayer

hypothesis_settings = settings(
    max_examples=50,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

seeds = st.integers(0, 1 << 32)


def integers(rng: np.random.Generator, limit: int, *shape: int) -> np.ndarray:
    """Integers over the whole of ±limit."""
    return rng.integers(-limit, limit + 1, shape)


# The ranges of a layer's scalars do not overlap, so that two that are swapped are noticed.


@st.composite
def celif_layers(draw, name: str, inputs: int, lag: int, shift: bool, te: np.ndarray | None):
    """A CE-LIF layer; its TE is the first rows of ``te``, if there is one."""
    rng = np.random.default_rng(draw(seeds))
    te_bits = draw(st.integers(9, 12))
    neurons = draw(st.integers(1, 4 if te is None else len(te)))
    steps = draw(st.integers(1, 5))
    return CelifLayer(
        name=name,
        weight=integers(rng, 63, neurons, inputs),
        lag=lag,
        delay_shift=shift,
        te=integers(rng, (1 << (te_bits - 1)) - 1, neurons, steps) if te is None else te[:neurons],
        te_exp=draw(st.integers(17, 25)),
        te_bits=te_bits if te is None else 12,
        weight_exp=draw(st.integers(-8, -1)),
        weight_bits=draw(st.integers(7, 8)),
        fraction_bits=draw(st.integers(13, 16)),
        alpha_mant=draw(st.integers(100, 999)),
        beta_mant=draw(st.integers(2000, 4095)),
        theta0_int=draw(st.integers(5000, 1 << 20)),
        bias_mant=rng.integers(-4096, 4096, neurons),
        bias_exp=draw(st.integers(0, 6)),
    )


@st.composite
def cuba_layers(draw, name: str, inputs: int, lag: int, shift: bool):
    """A CUBA layer, with or without biases."""
    rng = np.random.default_rng(draw(seeds))
    neurons = draw(st.integers(1, 4))
    return CubaLayer(
        name=name,
        weight=rng.integers(-127, 128, (neurons, inputs)) * 2,
        lag=lag,
        delay_shift=shift,
        du=draw(st.integers(-1, 999)),
        dv=draw(st.integers(1000, 4096)),
        vth=draw(st.integers(5000, (1 << 17) - 1)),
        bias_mant=rng.integers(-4096, 4096, neurons) * draw(st.integers(0, 1)),
    )


@st.composite
def networks(draw) -> FixedNetwork:
    """One to three layers of either kind, with or without readout, permutation and digests."""
    rng = np.random.default_rng(draw(seeds))
    channels = draw(st.integers(1, 3))
    layers: list[Layer] = []
    inputs, lag, table = channels, 1, None
    for i in range(draw(st.integers(1, 3))):
        shift = draw(st.booleans())
        if layers and isinstance(layers[-1], CubaLayer):
            kind = "celif"  # two shifted CUBA layers in a row are refused
        else:
            kind = draw(st.sampled_from(["celif", "cuba", "shared"]))
        if kind == "cuba":
            layer = draw(cuba_layers(f"layer {i}", inputs, lag, shift))
        else:
            shared = table if kind == "shared" else None
            layer = draw(celif_layers(f"layer {i}", inputs, lag, shift, shared))
            if table is not None and kind == "celif":
                layer = replace(layer, te=integers(rng, 255, layer.neurons, table.shape[1]))
            table = layer.te if table is None else table
        layers.append(layer)
        inputs, lag = layer.neurons, lag + 1 - shift
    steps = draw(st.integers(1, 5)) if table is None else table.shape[1]
    readout = None
    if draw(st.booleans()):
        classes = draw(st.integers(1, 3))
        readout = ReadoutLayer(
            name=f"layer {len(layers)}",
            weight=integers(rng, 127, classes, inputs),
            lag=lag,
            delay_shift=False,
            weight_exp=draw(st.integers(-9, 20)),
            weight_bits=8,
            bias=integers(rng, 1 << 20, classes),
        )
    return FixedNetwork(
        layers=tuple(layers),
        readout=readout,
        steps=steps,
        gap=draw(st.integers(1, 9)),
        encoding=Encoding(
            channels,
            draw(st.floats(1e-6, 1e6)),
            draw(st.integers(1, 12)),
            draw(st.booleans()),
            rng.permutation(steps) if draw(st.booleans()) else None,
        ),
        digests={name: name * 3 for name in draw(st.sets(st.sampled_from(["b.w", "a.w", "te"])))},
    )


def assert_same(found: Any, expected: Any, at: str = "network") -> None:
    """Equal in every field but the path, of whatever is inside."""
    assert type(found) is type(expected), at
    if isinstance(expected, np.ndarray):
        np.testing.assert_array_equal(found, expected, err_msg=at)
    elif isinstance(expected, tuple):
        assert len(found) == len(expected), at
        for i, (a, b) in enumerate(zip(found, expected, strict=True)):
            assert_same(a, b, f"{at}[{i}]")
    elif isinstance(expected, (Layer, Encoding, FixedNetwork)):
        for field in fields(expected):
            if field.name != "path":
                one, two = getattr(found, field.name), getattr(expected, field.name)
                assert_same(one, two, f"{at}.{field.name}")
    else:
        assert found == expected, at


def rich_network() -> FixedNetwork:
    """A network with every dataset that there is: CELIF, CUBA with biases, readout, the lot."""
    celif = CelifLayer(
        name="layer 0",
        weight=np.array([[1, -2], [3, 63], [-63, 5]]),
        lag=1,
        delay_shift=True,
        te=np.array([[7, -7, 6, -5], [4, 3, -2, 1], [0, 1, 2, -3]]),
        te_exp=9,
        te_bits=4,
        weight_exp=-3,
        weight_bits=7,
        fraction_bits=11,
        alpha_mant=2048,
        beta_mant=4055,
        theta0_int=614,
        bias_mant=np.array([-4096, 17, 4095]),
        bias_exp=2,
    )
    cuba = CubaLayer(
        name="layer 1",
        weight=np.array([[-256, 254, 2], [4, -6, 8]]),
        lag=1,
        delay_shift=False,
        du=1023,
        dv=127,
        vth=640,
        bias_mant=np.array([12, -34]),
    )
    readout = ReadoutLayer(
        name="layer 2",
        weight=np.array([[127, -127], [12, -13], [0, 1]]),
        lag=2,
        delay_shift=False,
        weight_exp=6,
        weight_bits=8,
        bias=np.array([100_000, -7, 0]),
    )
    encoding = Encoding(2, 0.0625, 5, True, np.array([2, 0, 3, 1]))
    digests = {"te": "0" * 64, "layers.0.weight": "1" * 64}
    return FixedNetwork((celif, cuba), readout, 4, 1, encoding, digests)
