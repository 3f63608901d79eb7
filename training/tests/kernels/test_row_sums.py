"""Sums of listed rows in vector operations give the bits of the plain functions."""

import numba
import numpy as np
import pytest

from training.kernels import spike_products
from training.kernels.scans import row_sums
from training.kernels.scans.celif import BOXED, DROPPED, SPIKED

sum_rows = row_sums.sum_rows
list_spikes = row_sums.list_spikes


@numba.njit
def summed(rows, start, columns, listed, first, count, out, place, add):
    sum_rows(rows, start, columns, listed, first, count, out, place, add)


@numba.njit
def all_listed(flags, inputs, first, last, listed, counts):
    list_spikes(flags, inputs, first, last, listed, counts)


def sent_spikes(flags):
    return (flags & (SPIKED | DROPPED) == SPIKED).astype(float)


def some_flags(rng, shape):
    flags = rng.integers(0, 8, shape).astype(np.uint8)
    assert {BOXED, SPIKED, SPIKED | DROPPED} <= set(flags.ravel().tolist())
    return flags


@pytest.mark.parametrize("add", [False, True], ids=["set", "added"])
@pytest.mark.parametrize("vectors", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sum_of_rows_has_the_bits_of_the_plain_one(rng, dtype, vectors, add):
    columns = vectors * row_sums.LANES
    rows = rng.normal(size=(2, 40, columns)).astype(dtype)
    for listing in (np.uint8, np.uint32):
        listed = rng.integers(0, 40, (3, 30)).astype(listing)
        for count in (0, 1, 29):
            found, expected = (np.ones((2, 200), dtype) for _ in range(2))
            given = (rows, 40 * columns, columns, listed, 30, count)
            summed(*given, found, 205, add)
            row_sums.plain_sum_rows(*given, expected, 205, add)
            assert found.tobytes() == expected.tobytes()
            assert (found != 1).any() == (count > 0 or not add)


@pytest.mark.parametrize("inputs", [5, 63, 64, 65, 88, 136, 256])
def test_lists_hold_the_spikes_that_were_sent(rng, inputs):
    flags = some_flags(rng, (2, 10, inputs))
    listed, counts = np.zeros((7, inputs + 1), np.uint32), np.zeros(7, np.int64)
    all_listed(flags, inputs, 8, 15, listed, counts)
    for row, count, wanted in zip(listed, counts, flags.reshape(20, -1)[8:15], strict=True):
        assert row[:count].tolist() == np.flatnonzero(sent_spikes(wanted)).tolist()


def test_plain_masks_are_what_kernels_see(rng):
    flags = some_flags(rng, 200)
    mask = row_sums.plain_sent(flags, 70)
    expected = np.flatnonzero(sent_spikes(flags[70:134])).tolist()
    assert [i for i in range(64) if int(mask) >> i & 1] == expected
    assert row_sums.plain_lowest(mask) == expected[0]


@pytest.mark.parametrize("neurons", [3, 16, 88, 136, 200])
def test_products_with_spikes_are_matrix_products(rng, neurons):
    flags, weight = some_flags(rng, (300, 70)), rng.normal(size=(70, neurons))
    found = np.full((300, neurons), np.nan)
    spike_products.product(flags, 1.5, row_sums.packed(weight), found)
    np.testing.assert_allclose(found, 1.5 * sent_spikes(flags) @ weight, rtol=0, atol=1e-12)


@pytest.mark.parametrize("each", [16, 1000], ids=["shared", "alone"])
@pytest.mark.parametrize("neurons", [3, 16, 88, 136, 200])
def test_gradients_by_spikes_are_matrix_products(rng, neurons, each):
    flags, grad = some_flags(rng, (2, 150, 70)), rng.normal(size=(2, 150, neurons))
    sums = np.ones((2, *row_sums.packed_shape(70, neurons)))
    spike_products.add_outer(flags, grad, sums, each)
    found = sums.transpose(0, 2, 1, 3).reshape(2, 70, -1)[..., :neurons]
    expected = 1 + sent_spikes(flags).transpose(0, 2, 1) @ grad
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11)


def test_packed_weights_are_padded_as_little_as_possible(rng):
    for neurons, shape in (
        (256, (4, 7, 64)),
        (136, (3, 7, 48)),
        (152, (5, 7, 32)),
        (10, (1, 7, 16)),
    ):
        weight = rng.normal(size=(7, neurons))
        blocks = row_sums.packed(weight)
        assert blocks.shape == shape
        wide = blocks.transpose(1, 0, 2).reshape(7, -1)
        assert np.array_equal(wide[:, :neurons], weight)
        assert not wide[:, neurons:].any()


@pytest.mark.parametrize("inputs", [1, 17, 64])
def test_packed_weights_begin_a_cache_line(rng, inputs):
    # Held together, so that each lies elsewhere.
    found = [row_sums.packed(rng.normal(size=(inputs, 40)).astype(np.float32)) for _ in range(20)]
    assert {each.ctypes.data % 64 for each in found} == {0}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_aligned_zeros_of_kernels_begin_a_cache_line(dtype):
    @numba.njit
    def make(count, like):
        return row_sums.aligned_zeros(count, like.dtype)

    # Held together, so that each lies elsewhere.
    found = [make(count, np.empty(1, dtype)) for count in (1, 33, 100, 4096) for _ in range(10)]
    assert {each.ctypes.data % 64 for each in found} == {0}
    assert [len(each) for each in found[::10]] == [1, 33, 100, 4096]
    assert not any(each.any() for each in found)
