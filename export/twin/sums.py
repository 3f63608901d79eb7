"""Exact sums of weights times inputs, in 16 bits where that is proven to be enough.

Weights whose inputs spike are added up; with 8-bit weights a vector register then holds sixteen of
them. A few graded inputs are multiplied as integers, without a detour through floats.
"""

from __future__ import annotations

import numpy as np
import torch

from export.model import geometry
from export.model.layer import Layer
from training.kernels.spike_products import add_rows
from training.support import compiled

SPIKES = np.uint8
"""Type of an array of zeros and ones."""

SUMS = np.int32
"""Type of synaptic sums: Lava's own, and a network whose sums could pass it is refused."""

FEW = 8
"""Up to this many graded inputs, integer sums are faster than BLAS on exact floats."""

_prange = compiled.parallel_range()


@compiled.kernel()
def _sums(weight, spikes, out):  # type: ignore[no-untyped-def]
    batch, steps, inputs = spikes.shape
    for b in _prange(batch):
        active = np.zeros(inputs + 1, np.int64)
        for t in range(steps):
            count = 0
            for m in range(inputs):  # without a branch, as in training.kernels.spike_products
                active[count] = m
                count += spikes[b, t, m]
            add_rows(weight, active, count, out[b, t])


@compiled.kernel()
def _graded_sums(weight, x, out):  # type: ignore[no-untyped-def]
    batch, steps, inputs = x.shape
    for b in _prange(batch):
        for t in range(steps):
            out[b, t] = 0
            for m in range(inputs):
                value = x[b, t, m]
                for n in range(out.shape[2]):
                    out[b, t, n] += value * weight[m, n]


@compiled.kernel()
def _counts(spikes, out):  # type: ignore[no-untyped-def]
    batch, steps, neurons = spikes.shape
    for b in _prange(batch):
        row = np.zeros(neurons, np.int32)
        for t in range(steps):
            for n in range(neurons):
                row[n] += spikes[b, t, n]
        out[b] = row


def integer_sums(weight: np.ndarray, inputs: np.ndarray, largest: int) -> np.ndarray:
    """Sums (batch, time, neuron) of ``weight`` (neuron, input) times ``inputs``.

    Those are (batch, time, input): spikes if their type is :data:`SPIKES`, else graded. ``largest``
    bounds the magnitude of every sum, partial ones included, and so decides whether they have 16
    bits or those of :data:`SUMS`.
    """
    dtype = np.int16 if largest <= np.iinfo(np.int16).max else SUMS
    out = np.empty((*inputs.shape[:2], len(weight)), dtype)
    by_input = np.ascontiguousarray(weight.T, dtype=dtype)
    if inputs.dtype == SPIKES:
        _sums(by_input, inputs, out)
    else:
        _graded_sums(by_input, np.ascontiguousarray(inputs, SUMS), out)
    return out


def spike_counts(spikes: np.ndarray) -> np.ndarray:
    """Count the spikes of every neuron, (batch, neuron)."""
    out = np.empty((len(spikes), spikes.shape[2]), np.int64)
    _counts(spikes, out)
    return out


def exact_type(layer: Layer, input_max: int) -> torch.dtype:
    """The narrowest float in which every sum of the layer's weights times inputs is exact."""
    worst = layer.largest_sum(input_max)
    # Torch can be told to multiply float32 in bfloat16, which is not exact.
    exact = torch.get_float32_matmul_precision() == "highest"
    return torch.float32 if exact and worst < 1 << 24 else torch.float64


def synaptic_sums(layer: Layer, inputs: np.ndarray, input_max: int) -> np.ndarray:
    """Exact sums (batch, time, neuron) of weights times inputs, which are integers for spikes.

    They are before the right shift, and do not include what a recurrent layer feeds back.
    """
    few = inputs.shape[2] <= FEW and np.issubdtype(inputs.dtype, np.integer)
    if layer.geometry is None and compiled.AVAILABLE and (few or inputs.dtype == SPIKES):
        return integer_sums(layer.weight, inputs, layer.largest_sum(input_max))
    dtype = exact_type(layer, input_max)
    return geometry.sums(layer.weight, layer.geometry, inputs, dtype)


def arriving_sums(layer: Layer, inputs: np.ndarray, input_max: int) -> np.ndarray:
    """Sums that reach the layer's neurons from the layer before, shifted right if need be."""
    sums = synaptic_sums(layer, inputs, input_max)
    if layer.sum_right_shift == 0:
        return sums
    if np.issubdtype(sums.dtype, np.integer):
        return sums >> layer.sum_right_shift
    return np.floor(np.ldexp(sums, -layer.sum_right_shift))
