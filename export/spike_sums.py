"""Sums of the weights whose inputs spike: exact, in 16 bits where that is proven to be enough.

A product with a matrix of spikes would multiply mostly by zero. Here the rows of weights that
count are added up, four at a time; with 8-bit weights they hold sixteen to a vector register.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from training import compiled

SPIKES = np.uint8
"""Type of an array of zeros and ones."""

SUMS = np.int32
"""Type of synaptic sums: Lava's own, and a network whose sums could pass it is refused."""

_prange = compiled.parallel_range()


@compiled.jitable
def _add_up(weight: Any, spikes: Any, active: Any, out: Any) -> None:
    """Set ``out`` to the sum of the rows of ``weight`` (input, neuron) whose inputs spike."""
    # No branch on a spike: which inputs fire cannot be predicted.
    count = 0
    for m in range(len(spikes)):
        active[count] = m
        count += spikes[m]
    out[:] = 0
    fours = count - count % 4
    for i in range(0, fours, 4):
        a, b = weight[active[i]], weight[active[i + 1]]
        c, d = weight[active[i + 2]], weight[active[i + 3]]
        for n in range(len(out)):
            out[n] += a[n] + b[n] + c[n] + d[n]
    for i in range(fours, count):
        a = weight[active[i]]
        for n in range(len(out)):
            out[n] += a[n]


@compiled.kernel(__file__)
def _sums(weight, spikes, out):  # type: ignore[no-untyped-def]
    batch, steps, inputs = spikes.shape
    for b in _prange(batch):
        active = np.zeros(inputs + 1, np.int64)
        for t in range(steps):
            _add_up(weight, spikes[b, t], active, out[b, t])


@compiled.kernel(__file__)
def _counts(spikes, out):  # type: ignore[no-untyped-def]
    batch, steps, neurons = spikes.shape
    for b in _prange(batch):
        row = np.zeros(neurons, np.int32)
        for t in range(steps):
            for n in range(neurons):
                row[n] += spikes[b, t, n]
        out[b] = row


def sums(weight: np.ndarray, spikes: np.ndarray, largest: int) -> np.ndarray:
    """Sums (batch, time, neuron) of ``weight`` (neuron, input) where there are ``spikes``.

    Those are (batch, time, input). ``largest`` bounds the magnitude of every sum, partial ones
    included, and so decides whether they have 16 bits or those of :data:`SUMS`.
    """
    dtype = np.int16 if largest <= np.iinfo(np.int16).max else SUMS
    out = np.empty((*spikes.shape[:2], len(weight)), dtype)
    _sums(np.ascontiguousarray(weight.T, dtype=dtype), spikes, out)
    return out


def counts(spikes: np.ndarray) -> np.ndarray:
    """Number of spikes (batch, neuron) of every neuron."""
    out = np.empty((len(spikes), spikes.shape[2]), np.int64)
    _counts(spikes, out)
    return out
