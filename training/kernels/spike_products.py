"""Products with spikes: rows of the other factor added up where there is a spike.

Few neurons fire at a step, at first one in twenty, and a matrix product would mostly multiply by
zero. Rows are added in order; a product of torch's may sum in another.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from training.kernels.scans import DROPPED, SPIKED
from training.support import compiled

_prange = compiled.parallel_range()

FORWARD_BELOW, BACKWARD_BELOW = 0.25, 0.12
"""Firing rates up to which rows are added; above them a product is taken to be the faster."""

_PARTS = 64
"""Shares of the rows of a product; each row is on its own, so their number changes no bit."""


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
def product(flags, value, weight, out):  # type: ignore[no-untyped-def]
    """``value`` times the sums of ``weight`` (input, neuron) over what was sent.

    ``flags`` (row, input) are those of the layer before, ``out`` is (row, neuron).
    """
    rows, inputs = flags.shape
    for part in _prange(_PARTS):
        active = np.zeros(inputs + 1, np.int64)
        for row in range(part * rows // _PARTS, (part + 1) * rows // _PARTS):
            # No branch on a spike: which inputs fire cannot be predicted.
            count = 0
            for m in range(inputs):
                active[count] = m
                count += flags[row, m] & (SPIKED | DROPPED) == SPIKED
            add_rows(weight, active, count, out[row])
            if value != 1:
                for n in range(out.shape[1]):
                    out[row, n] *= value


@compiled.kernel()
def add_outer(flags, grad, sums, neurons_each):  # type: ignore[no-untyped-def]
    """Add every row of ``grad`` to that of ``sums`` whose input was sent.

    Both are by group: flags (group, row, input), grad (group, row, neuron), sums (group, input,
    neuron). Threads share groups and neurons, as in :mod:`training.kernels.scans`.
    """
    groups, rows, inputs = flags.shape
    neurons = grad.shape[2]
    parts = (neurons + neurons_each - 1) // neurons_each
    for task in _prange(groups * parts):
        g, first = task // parts, task % parts * neurons_each
        last = min(first + neurons_each, neurons)
        active = np.zeros(inputs + 1, np.int64)
        for row in range(rows):
            count = 0
            for m in range(inputs):
                active[count] = m
                count += flags[g, row, m] & (SPIKED | DROPPED) == SPIKED
            now = grad[g, row, first:last]
            for i in range(count):
                to = sums[g, active[i], first:last]
                for n in range(len(now)):
                    to[n] += now[n]
