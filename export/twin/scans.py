"""How one layer runs: exact sums of weights times inputs, then its integer step over time.

Weights whose inputs spike are added up, in 16 bits where that is proven to be enough; with 8-bit
weights a vector register then holds sixteen of them. A few graded inputs are multiplied as
integers, without a detour through floats. All loops are compiled, and threads share the samples.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from export.loihi2 import STATE_MAX
from export.model import geometry
from export.model.layer import Layer, SpikingLayer
from export.model.network import CelifLayer, CubaLayer, SigmaDeltaLayer
from export.model.trace import Run
from export.steps import celif
from export.steps.celif import IntParams, State
from export.twin.slayer_scans import run_cuba, run_sigma_delta
from training.kernels.recurrent import feed_back
from training.kernels.spike_products import add_rows
from training.support import compiled

SPIKES = np.uint8
"""Type of an array of zeros and ones."""

SUMS = np.int32
"""Type of synaptic sums: Lava's own, and a network whose sums could pass it is refused."""

FEW = 8
"""Up to this many graded inputs, integer sums are faster than BLAS on exact floats."""

Feedback = tuple[np.ndarray, int]
"""Weights (from, to) by which a layer feeds back to itself, or none, and a right shift."""

_prange = compiled.parallel_range()
_celif_step = celif.step


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


@compiled.kernel()
def _scan_celif(  # type: ignore[no-untyped-def]
    acc, own, own_down, te, p, decays, te_shift, shift, bias, keep, spikes, v, theta, saturated
):
    """``decays`` (2, neuron) has α and β of every neuron, or is None: then those of ``p`` count."""
    batch, steps, neurons = acc.shape
    for b in _prange(batch):
        now_theta = np.full(neurons, p.theta0_int, np.int64)
        now_v = np.zeros(neurons, np.int64)
        now_s = np.zeros(neurons, np.int64)
        fed_back = np.zeros(neurons, np.int64)
        ends = np.zeros(neurons, np.int64)  # by neuron, so that the loop over them is vectorised
        for t in range(steps):
            if own.size:
                feed_back(own, now_s, fed_back)
                fed_back >>= own_down
            for n in range(neurons):
                alpha, beta = p.alpha_mant, p.beta_mant
                if decays is not None:
                    alpha, beta = decays[0, n], decays[1, n]
                registers = IntParams(alpha, beta, p.theta0_int, te_shift[n], shift[n], bias[n])
                new = _celif_step(
                    np.int64(acc[b, t, n]) + fed_back[n],
                    te[t, n],
                    State(now_theta[n], now_v[n], now_s[n]),
                    registers,
                )
                now_theta[n], now_v[n], now_s[n] = new.theta, new.v, new.s
                spikes[b, t, n] = new.s
                # Not in one sum: without numba, two booleans would add up to one.
                ends[n] += abs(new.v) == STATE_MAX
                ends[n] += abs(new.theta) == STATE_MAX
            if keep:
                v[b, t], theta[b, t] = now_v, now_theta
        saturated[b] = ends.sum()


def _feedback(layer: Layer) -> Feedback:
    weight = np.zeros((0, 0)) if layer.weight_rec is None else layer.weight_rec.T
    up, down = max(layer.recurrent_shift, 0), max(-layer.recurrent_shift, 0)
    return np.ascontiguousarray(weight, dtype=np.int64) << up, down


def _run_celif(
    layer: CelifLayer, p: IntParams, own: Feedback, acc: np.ndarray, out: Run, ends: np.ndarray
) -> None:
    te = np.ascontiguousarray(layer.per_neuron(layer.te)[:, : acc.shape[1]].T.astype(np.int64))
    # What differs between neurons goes to the kernel as arrays, separately from the registers.
    each = (np.ascontiguousarray(a) for a in (p.te_exp, p.shift, p.bias))
    zero, decays = np.int64(0), None
    if layer.own_decays:  # both as arrays, so that numba compiles one version for them
        both = [np.broadcast_to(a, layer.neurons) for a in (p.alpha_mant, p.beta_mant)]
        decays = np.stack(both).astype(np.int64)
        p = p._replace(alpha_mant=0, beta_mant=0)
    p = p._replace(te_exp=zero, shift=zero, bias=zero)
    _scan_celif(acc, *own, te, p, decays, *each, out.kept, out.spikes, out.v, out.theta, ends)


@functools.cache
def _scan_any(step_at: Callable[..., Any], registers: int) -> Callable[..., None]:
    """Compile a scan for a kind of neuron with these ``registers``, the last of which is its spike.

    It is some six times slower than a scan with the registers written out, as those above have.
    """
    spike = registers - 1

    @compiled.kernel()
    def scan(acc, own, own_down, p, start, spikes, states, saturated):  # type: ignore[no-untyped-def]
        batch, steps, neurons = acc.shape
        keep = states.size > 0
        for b in _prange(batch):
            now = np.empty((registers, neurons), np.int64)
            fed_back = np.zeros(neurons, np.int64)
            ends = np.zeros(neurons, np.int64)
            # Loops instead of slices: numba would compile those to parallel code, for many seconds.
            for i in range(registers):
                for n in range(neurons):
                    now[i, n] = start[i, n]
            for t in range(steps):
                if own.size:
                    feed_back(own, now[spike], fed_back)
                    for n in range(neurons):
                        fed_back[n] >>= own_down
                for n in range(neurons):
                    new = step_at(np.int64(acc[b, t, n]) + fed_back[n], now, p, n)
                    for i in range(registers):
                        now[i, n] = new[i]
                        ends[n] += abs(new[i]) == STATE_MAX
                    spikes[b, t, n] = now[spike, n]
                if keep:
                    for i in range(registers):
                        for n in range(neurons):
                            states[i, b, t, n] = now[i, n]
            saturated[b] = ends.sum()

    return scan


def _run_any(
    layer: SpikingLayer, p: Any, own: Feedback, acc: np.ndarray, out: Run, ends: np.ndarray
) -> None:
    """Scan a layer by the step that its class names."""
    assert layer.step_at is not None
    batch, steps, neurons = acc.shape
    state = layer.start(np.zeros(neurons, np.int64))
    each = (np.broadcast_to(np.asarray(value, np.int64), neurons) for value in p)
    p = type(p)(*(np.ascontiguousarray(values) for values in each))
    states = np.empty((len(state), batch, steps if out.kept else 0, neurons), np.int32)
    scan = _scan_any(layer.step_at, len(state))
    scan(acc, *own, p, np.stack(state), out.spikes, states, ends)
    if out.kept:
        for name in set(layer.registers.values()) & {"v", "theta"}:
            getattr(out, name)[:] = states[state._fields.index(name)]


SCANS: dict[str, Callable[..., None]] = {
    CelifLayer.kind: _run_celif,
    CubaLayer.kind: run_cuba,
    SigmaDeltaLayer.kind: run_sigma_delta,
}
"""Scans that are written for one kind of neuron; the others run by :func:`_run_any`.

Each takes a layer, its constants, its feedback, its sums, and the arrays to fill: those of a
:class:`Run`, and the number of saturated registers of every sample.
"""


def run_layer(layer: SpikingLayer, acc: np.ndarray, keep: bool) -> Run:
    """Scan one layer over its synaptic sums (batch, time, neuron).

    ``keep`` keeps V and Θ of every step; of a sigma-delta layer, V is σ and spikes are messages.
    """
    if not isinstance(layer, SpikingLayer):
        raise TypeError(f"{layer.name}: expected a layer that fires, got {type(layer).__name__}")
    batch, steps, neurons = acc.shape
    if acc.dtype != np.int16:  # a kernel for each type would take seconds to compile
        acc = acc.astype(SUMS, copy=False)
    spikes = np.empty(acc.shape, SPIKES if layer.output_range == (0, 1) else np.float32)
    v = np.empty((batch, steps if keep else 1, neurons), np.int32)
    theta = np.empty_like(v) if "theta" in layer.registers.values() else None
    out, saturated = Run(spikes, v, theta, kept=keep), np.zeros(batch, np.int64)
    scan = SCANS.get(layer.kind, _run_any)
    scan(layer, layer.params, _feedback(layer), acc, out, saturated)
    return replace(out, saturated=int(saturated.sum()))
