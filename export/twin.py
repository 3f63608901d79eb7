"""The batched twin: an exported network on the CPU, bit for bit as Lava's fixed models run it.

Layer by layer, one matrix product serves the whole sequence of a chunk of samples; the scan
over time is the integer step itself, compiled, with threads over samples. Products run through
float BLAS, which is exact while every partial sum stays below the mantissa.
"""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from export import cuba, fixed_point, loihi2, synapses
from export.cuba import CubaParams, CubaState
from export.fixed_point import IntParams, State
from export.loihi2 import CURRENT_SHIFT, STATE_MAX
from export.model import CelifLayer, CubaLayer, FixedNetwork, Layer
from export.netx_read import read_netx
from export.trace import Trace
from training import compiled

_prange = compiled.parallel_range()
_celif_step = fixed_point.step
_cuba_step = cuba.step
# Bytes of synaptic sums that a chunk of samples may take: few enough for the allocator to hand out
# the same memory again, because touching fresh pages costs as much as the arithmetic.
_CHUNK_BYTES = 32 << 20


@compiled.kernel(__file__, fixed_point.__file__, loihi2.__file__)
def _scan_celif(acc, te, p, te_shift, shift, bias, keep, spikes, v, theta, saturated):  # type: ignore[no-untyped-def]
    batch, steps, neurons = acc.shape
    for b in _prange(batch):
        now_theta = np.full(neurons, p.theta0_int, np.int64)
        now_v = np.zeros(neurons, np.int64)
        now_s = np.zeros(neurons, np.int64)
        count = 0
        for t in range(steps):
            row = t if keep else 0
            for n in range(neurons):
                registers = IntParams(
                    p.alpha_mant, p.beta_mant, p.theta0_int, te_shift[n], shift[n], bias[n]
                )
                new = _celif_step(
                    np.int64(acc[b, t, n]),
                    te[t, n],
                    State(now_theta[n], now_v[n], now_s[n]),
                    registers,
                )
                now_theta[n], now_v[n], now_s[n] = new.theta, new.v, new.s
                spikes[b, t, n] = new.s
                v[b, row, n] = new.v
                theta[b, row, n] = new.theta
                count += (abs(new.v) == STATE_MAX) + (abs(new.theta) == STATE_MAX)
        saturated[b] = count


@compiled.kernel(__file__, fixed_point.__file__, cuba.__file__, loihi2.__file__)
def _scan_cuba(acc, p, bias, keep, spikes, v, saturated):  # type: ignore[no-untyped-def]
    batch, steps, neurons = acc.shape
    for b in _prange(batch):
        now_u = np.zeros(neurons, np.int64)
        now_v = np.zeros(neurons, np.int64)
        now_s = np.zeros(neurons, np.int64)
        count = 0
        for t in range(steps):
            row = t if keep else 0
            for n in range(neurons):
                new = _cuba_step(
                    np.int64(acc[b, t, n]),
                    CubaState(now_u[n], now_v[n], now_s[n]),
                    CubaParams(p.du, p.dv, p.vth, bias[n]),
                )
                now_u[n], now_v[n], now_s[n] = new.u, new.v, new.s
                spikes[b, t, n] = new.s
                v[b, row, n] = new.v
                count += abs(new.v) == STATE_MAX
        saturated[b] = count


@dataclass(frozen=True)
class Run:
    """Outcome of one layer for one chunk, memory (batch, time, neuron)."""

    spikes: np.ndarray
    v: np.ndarray
    theta: np.ndarray | None
    saturated: int


def exact_type(layer: Layer, largest_input: int) -> torch.dtype:
    """The narrowest float in which every sum of the layer's weights times inputs is exact."""
    worst = layer.largest_sum(largest_input)
    # Torch can be told to multiply float32 in bfloat16, which is not exact.
    exact = torch.get_float32_matmul_precision() == "highest"
    return torch.float32 if exact and worst < 1 << 24 else torch.float64


def synaptic_sums(layer: Layer, inputs: np.ndarray, largest_input: int) -> np.ndarray:
    """Exact integer sums (batch, time, neuron) of weights times inputs, in a float type."""
    dtype = exact_type(layer, largest_input)
    return synapses.sums(layer.weight, layer.geometry, inputs, dtype)


def run_layer(layer: Layer, acc: np.ndarray, keep: bool) -> Run:
    """Scan one layer over its synaptic sums; V and Θ of every step if ``keep``."""
    batch, steps, neurons = acc.shape
    spikes = np.empty(acc.shape, np.float32)
    v = np.empty((batch, steps if keep else 1, neurons), np.int32)
    saturated = np.zeros(batch, np.int64)
    if isinstance(layer, CelifLayer):
        te = np.ascontiguousarray(layer.te[:, :steps].T.astype(np.int64))
        theta = np.empty_like(v)
        # What differs between neurons goes beside the registers, as arrays.
        each = (np.ascontiguousarray(a) for a in (layer.te_shift, layer.shift, layer.bias))
        registers = layer.params._replace(te_exp=np.int64(0), shift=np.int64(0), bias=np.int64(0))
        _scan_celif(acc, te, registers, *each, keep, spikes, v, theta, saturated)
        return Run(spikes, v, theta, int(saturated.sum()))
    if isinstance(layer, CubaLayer):
        bias = layer.bias_mant.astype(np.int64) << CURRENT_SHIFT
        decays = CubaParams(layer.du, layer.dv, layer.vth, np.int64(0))
        _scan_cuba(acc, decays, bias, keep, spikes, v, saturated)
        return Run(spikes, v, None, int(saturated.sum()))
    raise TypeError(f"{layer.name}: expected a CELIF or CUBA layer, got {type(layer).__name__}")


def delayed(spikes: np.ndarray) -> np.ndarray:
    """The same spikes one step later; the last step's leave the sample."""
    out = np.zeros_like(spikes)
    out[:, 1:] = spikes[:, :-1]
    return out


def _chunk(net: FixedNetwork, x: np.ndarray, keep: bool) -> tuple[np.ndarray, list[Run]]:
    inputs, largest = np.ascontiguousarray(x.transpose(0, 2, 1)), max(map(abs, net.encoding.range))
    runs = []
    for layer in net.layers:
        run = run_layer(layer, synaptic_sums(layer, inputs, largest), keep)
        inputs, largest = (delayed(run.spikes) if layer.delay_shift else run.spikes), 1
        runs.append(run)
    counts = inputs.sum(1, dtype=np.float64).astype(np.int64)
    if net.readout is None:
        return counts, runs
    return counts @ net.readout.weight.T + net.readout.bias * x.shape[2], runs


def simulate(
    net: str | os.PathLike[str] | FixedNetwork, x: np.ndarray, trace: bool = False
) -> Trace:
    """Run ``net`` on samples and return its logits, and every state if ``trace``.

    Parameters
    ----------
    net
        A file that :func:`export.to_netx` wrote, or the network itself.
    x
        Samples (batch, channel, time): graded spikes as integers, or floats to be encoded.
    trace
        Also return spikes, V and Θ of every layer at every step; memory grows with all of them.
    """
    if not compiled.AVAILABLE:
        warnings.warn("simulate: numba is not installed; the twin runs slowly", stacklevel=2)
    if isinstance(net, (str, os.PathLike)):
        net = read_netx(net)
    elif not isinstance(net, FixedNetwork):
        raise TypeError(
            f"net: expected a FixedNetwork or the path of its file, got {type(net).__name__}; "
            "export the network with to_netx first"
        )
    x = net.encode(x)
    widest = max(layer.neurons for layer in net.all_layers)
    size = max(1, _CHUNK_BYTES // (8 * x.shape[2] * widest))
    logits: list[np.ndarray] = []
    parts: list[list[Run]] = []
    saturations = [0] * len(net.layers)
    for start in range(0, len(x), size):
        values, runs = _chunk(net, x[start : start + size], trace)
        logits.append(values)
        saturations = [n + run.saturated for n, run in zip(saturations, runs, strict=True)]
        if trace:
            parts.append(runs)

    def joined(name: str, dtype: Any) -> list[Any]:
        whole = []
        for i in range(len(net.layers)):
            arrays = [getattr(runs[i], name) for runs in parts]
            whole.append(
                None
                if arrays[0] is None
                else np.concatenate(arrays).astype(dtype, copy=False).transpose(0, 2, 1)
            )
        return whole

    states = (
        {n: joined(n, d) for n, d in (("spikes", np.int8), ("v", np.int32), ("theta", np.int32))}
        if trace
        else {}
    )
    return Trace(np.concatenate(logits), saturations=saturations, **states)
