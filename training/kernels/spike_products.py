"""Products with spikes: rows of the other factor added up where there is a spike.

Few neurons fire at a step, at first one in twenty, and a matrix product would mostly multiply by
zero. Rows are added in order; a product of torch's may sum in another. How the sums are made is in
:mod:`training.kernels.scans.row_sums`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from training.kernels.scans.row_sums import (
    add_products,
    aligned_zeros,
    list_spikes,
    sum_rows,
)
from training.support import compiled

_prange = compiled.parallel_range()

_BELOW, _BELOW_IN_SMALL, _SMALL = 0.3, 0.1, 1 << 14
"""Firing rates below which rows are added, the one for small weights, and values of a weight below
which it is small."""
_ROWS, _LONG = 64, 128
"""Rows whose spikes are listed together, for a product and for a gradient."""
_PARTS = 64
"""Shares of the rows of a product; each row is on its own, so their number changes no bit."""


def pays(rate: float, inputs: int, neurons: int) -> bool:
    """Whether rows are added: above some firing rate a product is taken to be the faster.

    ``python -m benchmarks.speed.crossover`` measures where both are equally fast, with products by
    AVX-512 (:mod:`training.support.avx512`): at rates of 0.25 to 0.45 with weights of 136 × 136 to
    256 × 256, at 0.05 to 0.25 with those of 64 × 136 and 88 × 88.
    """
    return rate < (_BELOW if inputs * neurons >= _SMALL else _BELOW_IN_SMALL)


@compiled.jitable
def add_rows(rows: Any, active: Any, count: Any, out: Any) -> None:
    """Set ``out`` to the sum of the first ``count`` of the ``active`` rows, in order."""
    out[:] = 0
    fours = count - count % 4
    for i in range(0, fours, 4):
        a, b = rows[active[i]], rows[active[i + 1]]
        c, d = rows[active[i + 2]], rows[active[i + 3]]
        for n in range(len(out)):
            out[n] = out[n] + a[n] + b[n] + c[n] + d[n]
    for i in range(fours, count):
        a = rows[active[i]]
        for n in range(len(out)):
            out[n] += a[n]


@compiled.kernel()
def product(flags, value, blocks, out):  # type: ignore[no-untyped-def]
    """``value`` times the sums of a weight over what was sent.

    ``flags`` (row, input) are those of the layer before, ``blocks`` the weight of
    :func:`training.kernels.scans.row_sums.packed`, ``out`` is (row, neuron).
    """
    rows, inputs = flags.shape
    for part in _prange(_PARTS):
        listed, counts = np.empty((_ROWS, inputs + 1), np.uint32), np.empty(_ROWS, np.int64)
        ends = np.empty(blocks.shape[2], out.dtype)
        low, high = part * rows // _PARTS, (part + 1) * rows // _PARTS
        for row in range(low, high, _ROWS):
            size = min(_ROWS, high - row)
            add_products(flags, row, blocks, listed, counts, ends, out, row, size, False)
        if value != 1:
            for row in range(low, high):
                for n in range(out.shape[1]):
                    out[row, n] *= value


@compiled.kernel()
def add_outer(flags, grad, sums, neurons_each):  # type: ignore[no-untyped-def]
    """Add every row of ``grad`` to that of ``sums`` whose input was sent.

    Both are by group: flags (group, row, input), grad (group, row, neuron), sums (group, block,
    input, column) as :func:`training.kernels.scans.row_sums.packed` has it. Threads share groups
    and neurons, as in :mod:`training.kernels.scans`.
    """
    groups, rows, inputs = flags.shape
    _, blocks, _, columns = sums.shape
    neurons = grad.shape[2]
    each = (neurons_each + columns - 1) // columns
    parts = (blocks + each - 1) // each
    for task in _prange(groups * parts):
        g, first = task // parts, task % parts * each
        last = min(first + each, blocks)
        sent, found = np.empty((_LONG, inputs + 1), np.uint32), np.empty(_LONG, np.int64)
        # By input, the rows at which it was sent.
        listed, counts = np.empty((inputs, _LONG), np.uint8), np.empty(inputs, np.int64)
        near = aligned_zeros(blocks * _LONG * columns, grad.dtype).reshape(blocks, _LONG, columns)
        itself = np.zeros(1, np.uint8)
        for start in range(0, rows, _LONG):
            size = min(_LONG, rows - start)
            from_row = g * rows + start
            list_spikes(flags, inputs, from_row, from_row + size, sent, found)
            counts[:] = 0
            for row in range(size):
                for i in range(np.uint64(found[row])):
                    m = sent[row, i]
                    count = np.uint64(counts[m])
                    listed[m, count] = row
                    counts[m] = count + np.uint64(1)
                for b in range(first, last):
                    low, to = b * columns, (b * _LONG + row) * columns
                    if low + columns <= neurons:
                        place = (from_row + row) * neurons + low
                        sum_rows(grad, place, columns, itself, 0, 1, near, to, False)
                    else:
                        for n in range(neurons - low):
                            near[b, row, n] = grad[g, start + row, low + n]
            for b in range(first, last):
                begin = b * _LONG * columns
                for m in range(inputs):
                    if counts[m]:
                        to, of = ((g * blocks + b) * inputs + m) * columns, m * _LONG
                        sum_rows(near, begin, columns, listed, of, counts[m], sums, to, True)
