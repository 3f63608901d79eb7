"""Each layer's integer step over time, compiled, with threads over samples."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from export.loihi2 import STATE_MAX
from export.model.layer import Layer, SpikingLayer
from export.model.network import CelifLayer, CubaLayer, SigmaDeltaLayer
from export.steps import celif, cuba, sigma_delta
from export.steps.celif import IntParams, State
from export.steps.cuba import CubaParams, CubaState
from export.steps.sigma_delta import SigmaDeltaParams, SigmaDeltaState
from export.twin.sums import SPIKES, SUMS
from training.kernels.recurrent import feed_back
from training.support import compiled

_prange = compiled.parallel_range()
_celif_step, _cuba_step, _sigma_delta_step = celif.step, cuba.step, sigma_delta.step
_MESSAGE_MAX = sigma_delta.MESSAGE_MAX


@dataclass(frozen=True)
class Run:
    """What one layer did in one chunk of samples; arrays are (batch, time, neuron).

    Spikes are bytes; the messages of a sigma-delta layer are floats.
    """

    spikes: np.ndarray
    v: np.ndarray
    theta: np.ndarray | None
    saturated: int


@compiled.kernel()
def _scan_celif(  # type: ignore[no-untyped-def]
    acc, own, own_down, te, p, te_shift, shift, bias, keep, spikes, v, theta, saturated
):
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
                registers = IntParams(
                    p.alpha_mant, p.beta_mant, p.theta0_int, te_shift[n], shift[n], bias[n]
                )
                new = _celif_step(
                    np.int64(acc[b, t, n]) + fed_back[n],
                    te[t, n],
                    State(now_theta[n], now_v[n], now_s[n]),
                    registers,
                )
                now_theta[n], now_v[n], now_s[n] = new.theta, new.v, new.s
                spikes[b, t, n] = new.s
                ends[n] += (abs(new.v) == STATE_MAX) + (abs(new.theta) == STATE_MAX)
            if keep:
                v[b, t], theta[b, t] = now_v, now_theta
        saturated[b] = ends.sum()


@compiled.kernel()
def _scan_cuba(acc, own, own_down, p, bias, keep, spikes, v, saturated):  # type: ignore[no-untyped-def]
    batch, steps, neurons = acc.shape
    for b in _prange(batch):
        now_u = np.zeros(neurons, np.int64)
        now_v = np.zeros(neurons, np.int64)
        now_s = np.zeros(neurons, np.int64)
        fed_back = np.zeros(neurons, np.int64)
        count = 0
        for t in range(steps):
            row = t if keep else 0
            if own.size:
                feed_back(own, now_s, fed_back)
                fed_back >>= own_down
            for n in range(neurons):
                new = _cuba_step(
                    np.int64(acc[b, t, n]) + fed_back[n],
                    CubaState(now_u[n], now_v[n], now_s[n]),
                    CubaParams(p.du, p.dv, p.vth, bias[n]),
                )
                now_u[n], now_v[n], now_s[n] = new.u, new.v, new.s
                spikes[b, t, n] = new.s
                v[b, row, n] = new.v
                count += abs(new.v) == STATE_MAX
        saturated[b] = count


@compiled.kernel()
def _scan_sigma_delta(acc, p, bias, keep, messages, sigma, saturated):  # type: ignore[no-untyped-def]
    batch, steps, neurons = acc.shape
    for b in _prange(batch):
        now_sigma = np.zeros(neurons, np.int64)
        now_act = np.zeros(neurons, np.int64)
        now_residue = np.zeros(neurons, np.int64)
        count = 0
        for t in range(steps):
            row = t if keep else 0
            for n in range(neurons):
                total = np.int64(acc[b, t, n])
                new = _sigma_delta_step(
                    total,
                    SigmaDeltaState(now_sigma[n], now_act[n], now_residue[n], np.int64(0)),
                    SigmaDeltaParams(p.shift, bias[n], p.vth),
                )
                # A sum that wrapped, or a message that had to be cut, is what saturation is here.
                count += new.sigma != now_sigma[n] + (total << p.shift)
                count += abs(new.s) >= _MESSAGE_MAX
                now_sigma[n], now_act[n], now_residue[n] = new.sigma, new.act, new.residue
                messages[b, t, n] = new.s
                sigma[b, row, n] = new.sigma
        saturated[b] = count


def _own(layer: Layer) -> tuple[np.ndarray, int]:
    """Weights (from, to) by which a layer feeds back to itself, or none; a right shift of sums."""
    weight = np.zeros((0, 0)) if layer.weight_rec is None else layer.weight_rec.T
    up, down = max(layer.recurrent_shift, 0), max(-layer.recurrent_shift, 0)
    return np.ascontiguousarray(weight, dtype=np.int64) << up, down


# Each takes a layer, its sums, whether to keep every step, and the arrays of :class:`Run` to fill.
# What differs between neurons goes to the kernels as arrays, separately from the registers.


def _run_celif(layer: CelifLayer, acc: np.ndarray, keep: bool, out: Run, ends: np.ndarray) -> None:
    te = np.ascontiguousarray(layer.per_neuron(layer.te)[:, : acc.shape[1]].T.astype(np.int64))
    p, zero = layer.params, np.int64(0)
    each = (np.ascontiguousarray(a) for a in (p.te_exp, p.shift, p.bias))
    p = p._replace(te_exp=zero, shift=zero, bias=zero)
    _scan_celif(acc, *_own(layer), te, p, *each, keep, out.spikes, out.v, out.theta, ends)


def _run_cuba(layer: CubaLayer, acc: np.ndarray, keep: bool, out: Run, ends: np.ndarray) -> None:
    decays = layer.params._replace(bias=np.int64(0))
    _scan_cuba(acc, *_own(layer), decays, layer.params.bias, keep, out.spikes, out.v, ends)


def _run_sigma_delta(
    layer: SigmaDeltaLayer, acc: np.ndarray, keep: bool, out: Run, ends: np.ndarray
) -> None:
    plain = layer.params._replace(bias=np.int64(0))
    _scan_sigma_delta(acc, plain, layer.params.bias, keep, out.spikes, out.v, ends)


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


def _run_any(layer: SpikingLayer, acc: np.ndarray, keep: bool, out: Run, ends: np.ndarray) -> None:
    """Scan a layer by the step that its class names."""
    assert layer.step_at is not None
    batch, steps, neurons = acc.shape
    state = layer.start(np.zeros(neurons, np.int64))
    p = layer.params
    each = (np.broadcast_to(np.asarray(value, np.int64), neurons) for value in p)
    p = type(p)(*(np.ascontiguousarray(values) for values in each))
    states = np.empty((len(state), batch, steps if keep else 0, neurons), np.int32)
    scan = _scan_any(layer.step_at, len(state))
    scan(acc, *_own(layer), p, np.stack(state), out.spikes, states, ends)
    if keep:
        for name in set(layer.registers.values()) & {"v", "theta"}:
            getattr(out, name)[:] = states[state._fields.index(name)]


SCANS: dict[str, Callable[..., None]] = {
    CelifLayer.kind: _run_celif,
    CubaLayer.kind: _run_cuba,
    SigmaDeltaLayer.kind: _run_sigma_delta,
}
"""Scans that are written for one kind of neuron; the others run by :func:`_run_any`."""


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
    saturated = np.zeros(batch, np.int64)
    SCANS.get(layer.kind, _run_any)(layer, acc, keep, Run(spikes, v, theta, 0), saturated)
    return Run(spikes, v, theta, int(saturated.sum()))
