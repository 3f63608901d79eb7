"""How layers are cut into cores, and what that means for the axons between them."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from export.fit.demand import Demand
from export.fit.figures import CHIP
from export.fit.placement import DoesNotFit, place
from export.fit.split import cuts
from export.fit.words import Window
from export.tests.strategies import hypothesis_settings

CONV = Demand("a", "LIF", 3, 1, 25, 0, weight_bits=8, state_bits=64, window=Window())


def lists(count, bits):
    return math.ceil((count * bits + 16) / 64)


@pytest.mark.parametrize(
    ("channels", "inputs", "filled", "by_ratio"),
    [
        (128, 784, [50, 50, 28], [43, 43, 42]),
        (152, 64, [152], [152]),
        (300, 300, [133, 133, 34], [150, 150]),
    ],
)
def test_a_dense_layer_is_cut_as_each_compiler_cuts_it(channels, inputs, filled, by_ratio):
    """To 12,800 words of synapses in 2024; by how often a limit is passed in 2022."""
    layer = Demand("a", "LIF", channels, inputs, inputs, 0, weight_bits=8, state_bits=64)
    assert [core.channels for core in place((layer,), CHIP).cores] == filled
    old = CHIP.with_figures(compiler=2022)
    assert [core.channels for core in place((layer,), old).cores] == by_ratio
    assert inputs * lists(filled[0], 20) <= 16_000
    if len(filled) > 1:
        assert inputs * lists(filled[0] + 1, 20) > 12_800


def test_a_neuron_with_more_synapses_than_a_dense_core_is_filled_to_still_fits():
    layer = Demand("a", "LIF", 3, 9_000, 15_000, 0, weight_bits=8, state_bits=64)
    room = CHIP.with_figures(pool_words=40_000)
    assert [core.channels for core in place((layer,), room).cores] == [1, 1, 1]


def seen_by_hand(first, last, window, tiles, side):
    """Tiles of a convolution with an output that has an input of first..last in its window."""
    kernel, stride, pad = window.kernel[side], window.stride[side], window.padding[side]
    return sum(
        any(
            first <= out * stride - pad + i <= last
            for out in range(low, high)
            for i in range(kernel)
        )
        for low, high in tiles
    )


@settings(hypothesis_settings, max_examples=40)
@given(
    st.integers(1, 60), st.integers(1, 60), st.integers(1, 4), st.integers(1, 3),
    st.integers(0, 2), st.sampled_from([1, 8, 100]), st.sampled_from([16, 200]),
)  # fmt: skip
def test_axon_memory_counts_the_cores_that_see_a_pixel_of_the_block(
    width, height, kernel, stride, pad, channels, limit
):
    """Worked out output by output, without the code under test."""
    window = Window((kernel, kernel), (stride, stride), (pad, pad))
    out = [(n + 2 * pad - kernel) // stride + 1 for n in (width, height)]
    if min(out) < 1:
        return
    first = Demand(
        "first", "LIF", 4, 1, 9, 0, weight_bits=8, state_bits=64, width=width, height=height,
        window=Window(), to_kernels=True,
    )  # fmt: skip
    second = replace(
        first, name="second", channels=channels, width=out[0], height=out[1], window=window,
        to_kernels=False,
    )  # fmt: skip
    chip = CHIP.with_figures(neurons_per_core=limit)
    try:
        cores = place((first, second), chip, 1 << 14).cores
    except DoesNotFit:
        return
    found = sorted(core.held.axon_mem for core in cores if core.layer == 0)
    blocks = [one.block for one in cuts((first, second), chip)]
    tiles = [
        [
            [(a, min(a + size, total)) for a in range(0, total, size)]
            for total, size in ((one.height, block.height), (one.width, block.width))
        ]
        for one, block in zip((first, second), blocks, strict=True)
    ]
    depth = math.ceil(channels / blocks[1].channels)
    expected = []
    for low, high in tiles[0][0]:
        for left, right in tiles[0][1]:
            rows = max(1, seen_by_hand(low, high - 1, window, tiles[1][0], 0))
            columns = max(1, seen_by_hand(left, right - 1, window, tiles[1][1], 1))
            pixels = (high - low) * (right - left)
            expected += [math.ceil(pixels * rows * columns * depth / 4)] * math.ceil(
                4 / blocks[0].channels
            )
    assert found == sorted(expected)


@pytest.mark.parametrize(
    ("compiler", "parts"),
    [(2022, [8 * 25] * 5), (2024, [16 * 13] * 2 + [16 * 12] * 2 + [8 * 13, 8 * 12])],
)
def test_a_large_image_is_cut_each_part_with_its_kernel(compiler, parts):
    """By its width alone in 2022; in 2024 a block of 3,000 / 700, so 5, is also cut in height."""
    conv = replace(CONV, width=40, height=25)
    chip = CHIP.with_figures(neurons_per_core=700, compiler=compiler)
    cores = place((conv,), chip).cores
    assert [(core.channels, core.positions) for core in cores] == [(3, n) for n in parts]
    assert all(core.held.synapses == 25 for core in cores)
    assert {core.held.state for core in cores} == {3 * parts[0]}, "a whole block on every core"


def test_channels_are_halved_until_the_synapses_of_a_block_fit():
    conv = replace(
        CONV, channels=512, width=14, height=14, window=Window((3, 3)), weights=9 * 256,
        weight_bits=5, to_kernels=True,
    )  # fmt: skip
    cores = place((conv,), CHIP).cores
    assert len(cores) == 32
    assert (cores[0].channels, cores[0].positions) == (64, 4 * 14)


def test_a_dense_layer_sends_each_neuron_to_every_core_of_a_convolution():
    """Nothing public shows such a network: the most that it could take is counted."""
    conv = replace(CONV, width=40, height=25)
    dense = replace(CONV, name="dense", channels=100, window=None, to_kernels=True)
    chip = CHIP.with_figures(neurons_per_core=700)
    cores = place((dense, conv), chip).cores
    (sender,) = (core for core in cores if core.layer == 0)
    assert len(cores) == 1 + 6
    assert (sender.held.axon_map, sender.held.axon_mem) == (100, 100 * 6 // 4)


def test_a_convolution_that_no_core_can_serve_is_refused_by_its_axon_memory():
    """One pixel that goes to 40 cores takes 10 words of axon memory."""
    wide = replace(CONV, channels=40, weights=1)
    sender = replace(CONV, name="sender", channels=1, weights=1, to_kernels=True)
    chip = CHIP.with_figures(neurons_per_core=1, axon_mem_words=9)
    with pytest.raises(DoesNotFit, match="sender, axon memory: 10 needed, 9 there"):
        place((sender, wide), chip)
    assert len(place((sender, wide), CHIP.with_figures(neurons_per_core=1)).cores) == 1 + 40
