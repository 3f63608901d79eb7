"""The float recurrence: its order, its comparison, and one result in every arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from training.dynamics import Params, State, step
from training.kernels import reference, scans
from training.tests.cases import PARAMS, WIDTH, inputs

# Worked by hand with α = β = 1/2, Θ0 = 1; every number is exact in float32.
#   t=1  Θ = 0 + 0 + 1 = 1                         V = 0 + 1.5 = 1.5            S 1
#   t=2  Θ = 0 + 2·1.5 + 1 = 4  (V before reset)   V = 0 + 0.5 = 0.5            S 0
#   t=3  Θ = 1.5 − 1·0.5 + 1 = 2                   V = 0.25 + 1 = 1.25          S 0
#   t=4  Θ = 0.5 + 0 + 1 = 1.5                     V = 0.625 + 0.875 = 1.5      S 1, on equality
#   t=5  Θ = 0.25 − 0.5·1.5 + 1 = 0.5              V = 0 + 0.25 = 0.25          S 0
WORKED_PARAMS = Params(alpha=0.5, beta=0.5, theta0=1.0)
CURRENT = [1.5, 0.5, 1.0, 0.875, 0.25]
TE = [9.0, 2.0, -1.0, 0.0, -0.5]
THETA = [1.0, 4.0, 2.0, 1.5, 0.5]
V = [1.5, 0.5, 1.25, 1.5, 0.25]
S = [1, 0, 0, 1, 0]


def numpy_scan(current: np.ndarray, te: np.ndarray, p: Params) -> State:
    """Loop of ``step`` over (batch, neuron, time) arrays; states stacked along time."""
    rest = np.zeros_like(current[..., 0])
    state, states = State(rest + p.theta0, rest, rest), []
    for t in range(current.shape[-1]):
        state = step(current[..., t], te[:, t], state, p, np.greater_equal)
        states.append(state)
    return State(*(np.stack(each, -1) for each in zip(*states, strict=True)))


def fused_scan(current: np.ndarray, te: np.ndarray, p: Params) -> State:
    """The compiled forward pass, which keeps no Θ."""
    # One group of all samples: (group, time, sample, neuron).
    x = np.ascontiguousarray(current.transpose(2, 0, 1))[None]
    v, flags, bias = np.empty_like(x), np.empty(x.shape, np.uint8), np.zeros(x.shape[3], x.dtype)
    p, width, te = p.cast(x.dtype), x.dtype.type(WIDTH), np.ascontiguousarray(te.T)
    scans.forward(x, bias, te, p, width, v, flags, x.shape[3])  # currents become spikes
    return State(None, v[0].transpose(1, 2, 0), x[0].transpose(1, 2, 0))


def torch_scan(current: np.ndarray, te: np.ndarray, p: Params) -> State:
    states = reference.scan(torch.from_numpy(current), torch.from_numpy(te), p, WIDTH)
    return State(states.theta.numpy(), states.v.numpy(), states.s.numpy())


SCANS = {"numpy": numpy_scan, "compiled": fused_scan, "torch": torch_scan}


@pytest.mark.parametrize("scan", SCANS.values(), ids=SCANS.keys())
def test_step_reproduces_the_worked_neuron(scan):
    current, te = np.array([[CURRENT]], np.float32), np.array([TE], np.float32)
    state = scan(current, te, WORKED_PARAMS)
    assert state.v[0, 0].tolist() == V
    assert state.s[0, 0].tolist() == S
    assert state.theta is None or state.theta[0, 0].tolist() == THETA


def test_step_serves_plain_numbers():
    state = State(1.0, 0.0, 0)
    for x, te, theta, v, s in zip(CURRENT, TE, THETA, V, S, strict=True):
        state = step(x, te, state, WORKED_PARAMS, lambda v, theta: v >= theta)
        assert state == (theta, v, s)


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
def test_numpy_compiled_and_torch_agree_in_every_bit(rng, dtype):
    current, te = (t.numpy() for t in inputs(rng, 5, 13, 40, getattr(torch, dtype.__name__)))
    expected = numpy_scan(current, te, PARAMS)
    assert expected.v.dtype == dtype
    assert 0.05 < expected.s.mean() < 0.95
    for scan in (fused_scan, torch_scan):
        found = scan(current, te, PARAMS)
        np.testing.assert_array_equal(found.v, expected.v, strict=True)
        np.testing.assert_array_equal(found.s, expected.s)
        assert found.theta is None or np.array_equal(found.theta, expected.theta)
