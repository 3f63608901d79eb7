"""Hypothesis strategies for integer networks, and how to compare two of them."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from export.model import te as encodings
from export.model.geometry import Geometry
from export.model.network import CelifLayer, CubaLayer, Encoding, FixedNetwork, Layer, ReadoutLayer
from export.model.task_label import TaskLabel
from export.model.te import CosineTable, Table
from hw_tests.networks.random_nets import random_network
from hw_tests.networks.random_stacks import LayerSpec, random_stack
from training.slayer.mantissa import mantissa_max

hypothesis_settings = settings(
    max_examples=50,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

seeds = st.integers(0, 1 << 32)


@st.composite
def exponents(draw, low: int, high: int, rows: int):
    """One exponent for all rows, or one each."""
    one = st.integers(low, high)
    return draw(one | st.lists(one, min_size=rows, max_size=rows).map(np.array))


def integers(rng: np.random.Generator, limit: int, *shape: int) -> np.ndarray:
    """Integers over the whole of ±limit."""
    return rng.integers(-limit, limit + 1, shape)


# The ranges of a layer's scalars do not overlap, so that two that are swapped are noticed.


@st.composite
def encoded_te(draw, rows: int, steps: int) -> dict[str, Any]:
    """TE of a layer in any form: mantissas, their bits, and the form."""
    rng = np.random.default_rng(draw(seeds))
    if draw(st.integers(0, 3)) == 0:
        bits = draw(st.integers(9, 12))
        wave = integers(rng, mantissa_max(bits), 1 << draw(st.integers(0, 5)))
        cosine = CosineTable(rng.integers(0, encodings.PHASE_ONE // 2 + 1, rows), wave)
        table = cosine.decode(cosine.increment, steps)
        return {"te": table, "te_bits": bits, "te_form": cosine}
    form = Table(draw(st.integers(1, 3)), draw(st.booleans()))
    bits = draw(st.integers(3, 4) if form.packed else st.integers(9, 12))
    table = form.held(integers(rng, mantissa_max(bits), rows, -(-steps // form.hold)), steps)
    return {"te": table, "te_bits": bits, "te_form": form}


@st.composite
def celif_layers(draw, name: str, inputs: int, lag: int, shift: bool, te: dict, steps: int):
    """A CE-LIF layer; its TE is the first rows of ``te``, if there is one."""
    rng = np.random.default_rng(draw(seeds))
    neurons = draw(st.integers(1, len(te["te"]) if te else 4))
    encoded = te or draw(encoded_te(neurons, steps))
    return CelifLayer(
        name=name,
        weight=integers(rng, 63, neurons, inputs),
        lag=lag,
        delay_shift=shift,
        te=encoded["te"][:neurons],
        te_bits=encoded["te_bits"],
        te_form=encoded["te_form"].first(neurons),
        te_exp=draw(exponents(17, 25, neurons)),
        weight_exp=draw(exponents(-8, -1, neurons)),
        weight_bits=draw(st.integers(7, 8)),
        fraction_bits=draw(st.integers(13, 16)),
        alpha_mant=draw(exponents(100, 999, neurons)),
        beta_mant=draw(exponents(2000, 4095, neurons)),
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
    steps = draw(st.integers(1, 5))
    inputs, lag, table = channels, 1, {}
    for i in range(draw(st.integers(1, 3))):
        shift = draw(st.booleans())
        if layers and isinstance(layers[-1], CubaLayer):
            kind = "celif"  # two shifted CUBA layers in a row are refused
        else:
            kind = draw(st.sampled_from(["celif", "cuba", "shared"]))
        if kind == "cuba":
            layer = draw(cuba_layers(f"layer {i}", inputs, lag, shift))
        else:
            shared = table if kind == "shared" else {}
            layer = draw(celif_layers(f"layer {i}", inputs, lag, shift, shared, steps))
            names = ("te", "te_bits", "te_form")
            table = table or {name: getattr(layer, name) for name in names}
        layers.append(layer)
        inputs, lag = layer.neurons, lag + 1 - shift
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
    elif isinstance(expected, (Layer, Encoding, FixedNetwork, Geometry, Table, CosineTable)):
        for field in fields(expected):
            if field.name != "path":
                one, two = getattr(found, field.name), getattr(expected, field.name)
                assert_same(one, two, f"{at}.{field.name}")
    else:
        assert found == expected, at


def rich_networks() -> list[FixedNetwork]:
    """Networks that between them have every dataset that there is."""
    return [rich_network(), cosine_network(), *kinds_networks()]


def kinds_networks() -> list[FixedNetwork]:
    """Every kind of layer, with every option of its synapses."""
    rng = np.random.default_rng(0)
    image = [
        LayerSpec(2, "CUBA", kernel=(1, 1), options={"groups": 2}),
        LayerSpec(
            3, kernel=(2, 3), options={"stride": (2, 1), "padding": (1, 0), "dilation": (1, 1)}
        ),
        LayerSpec(2, "SDNN"),
        LayerSpec(4, recurrent=True, delay=5),
    ]
    alike = LayerSpec(2, kernel=(1, 1), options={"groups": 2})
    one_to_one = random_stack(rng, [alike, LayerSpec(3)], 4, shape=(2, 2, 1))
    first = one_to_one.layers[0]
    first = replace(first, weight=np.full_like(first.weight, 77))
    return [
        random_stack(rng, image, 4, shape=(2, 3, 4)),
        replace(one_to_one, layers=(first, *one_to_one.layers[1:])),
        random_stack(np.random.default_rng(1), [LayerSpec(3, "LIF"), LayerSpec(2, "ALIF")], 4),
    ]


def cosine_network() -> FixedNetwork:
    """Two layers that generate their TE, with exponents per output channel."""
    net = random_network(
        np.random.default_rng(0), (4, 3), 9, te_form="cosine", te_bits=7, per_channel=True
    )
    task = TaskLabel("digits", "8 × 8, a pixel a step")
    return replace(net, digests={"te.omega": "2" * 64}, task=task)


def rich_network() -> FixedNetwork:
    """CELIF, CUBA with biases, readout, the lot, as far as version 1 had it."""
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
