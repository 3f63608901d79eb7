"""Sums of the weights whose inputs spike: exact, in 16 bits where that is proven to be enough.

With 8-bit weights a vector register then holds sixteen of them.
"""

from __future__ import annotations

import numpy as np

from training import compiled, scans, sparse
from training.sparse import add_rows

SPIKES = np.uint8
"""Type of an array of zeros and ones."""

SUMS = np.int32
"""Type of synaptic sums: Lava's own, and a network whose sums could pass it is refused."""

_prange = compiled.parallel_range()


@compiled.kernel(__file__, sparse.__file__, scans.__file__)
def _sums(weight, spikes, out):  # type: ignore[no-untyped-def]
    batch, steps, inputs = spikes.shape
    for b in _prange(batch):
        active = np.zeros(inputs + 1, np.int64)
        for t in range(steps):
            count = 0
            for m in range(inputs):  # without a branch, as in training.sparse
                active[count] = m
                count += spikes[b, t, m]
            add_rows(weight, active, count, out[b, t])


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
