"""The integer primitives against plain definitions, and one step in every arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from export.loihi2 import STATE_MAX
from export.model.network import CelifLayer
from export.steps import celif, cuba
from export.steps.arithmetic import saturate, saturate_scalar, shift_to_zero
from export.steps.celif import IntParams, State
from export.steps.cuba import CubaParams, CubaState
from export.tests.strategies import hypothesis_settings
from export.twin.scans import run_layer
from hw_tests import oracle
from hw_tests.oracle.cuba import _wrap_current

# The largest that occurs: TE of 16 bits times V of 24, and acc of 2^40 before its shift is added.
wide = st.integers(-(1 << 62), 1 << 62)
shifts = st.integers(0, 31)


def rounded_towards_zero(x: int, bits: int) -> int:
    """By the magnitude, as the sentence says."""
    return (1 if x >= 0 else -1) * (abs(x) // 2**bits)


@hypothesis_settings
@given(x=wide, bits=shifts)
def test_shift_to_zero_divides_and_rounds_towards_zero(x, bits):
    expected = rounded_towards_zero(x, bits)
    assert shift_to_zero(x, bits) == expected
    assert shift_to_zero(np.int64(x), bits) == expected
    assert shift_to_zero(torch.tensor(x), bits).item() == expected


def test_shift_to_zero_holds_for_every_small_number():
    x = np.arange(-600, 601)
    for bits in range(12):
        expected = [rounded_towards_zero(int(value), bits) for value in x]
        assert shift_to_zero(x, bits).tolist() == expected


@hypothesis_settings
@given(x=st.integers(-(1 << 61), 1 << 61) | st.integers(STATE_MAX - 2, STATE_MAX + 2))
def test_saturate_clips_at_both_ends(x):
    for value in (x, -x):
        expected = max(-STATE_MAX, min(STATE_MAX, value))
        assert saturate(value) == expected
        assert saturate(np.int64(value)) == expected
        assert saturate(torch.tensor(value)).item() == expected


def test_saturate_holds_around_the_ends():
    x = np.concatenate([end + np.arange(-300, 301) for end in (-STATE_MAX, 0, STATE_MAX)])
    assert saturate(x).tolist() == np.clip(x, -STATE_MAX, STATE_MAX).tolist()
    assert [saturate_scalar(int(value)) for value in x] == saturate(x).tolist()


@st.composite
def steps(draw) -> tuple[int, int, State, IntParams]:
    """A step from anywhere in the registers: acc, te, state, parameters."""
    register = st.integers(-STATE_MAX, STATE_MAX)
    decay = st.integers(0, 4095)
    return (
        draw(st.integers(-(1 << 24), 1 << 24)),
        draw(st.integers(-(1 << 15) + 1, (1 << 15) - 1)),
        State(draw(register), draw(register), draw(st.integers(0, 1))),
        IntParams(
            draw(decay), draw(decay), draw(register), draw(shifts), draw(st.integers(0, 24)),
            draw(st.integers(-4096, 4095)) << draw(st.integers(0, 7)),
        ),
    )  # fmt: skip


def by_the_equations(acc: int, te: int, state: State, p: IntParams) -> State:
    rz, sat = oracle.rz, oracle.saturate
    change = rz(te * state.v, p.te_exp)
    theta = sat(rz(p.beta_mant * (state.theta - p.theta0_int), 12) + change + p.theta0_int)
    v = sat(rz(p.alpha_mant * state.v, 12) * (1 - state.s) + (acc << p.shift) + p.bias)
    return State(theta, v, int(v >= theta))


@hypothesis_settings
@given(case=steps())
def test_step_is_the_equations_in_every_arithmetic(case):
    acc, te, state, p = case
    expected = by_the_equations(acc, te, state, p)
    for number in (int, np.int64, torch.tensor):

        def convert(values: Any, number: Any = number) -> Any:
            return type(values)(*map(number, values))

        found = celif.step(number(acc), number(te), convert(state), convert(p))
        assert tuple(map(int, found)) == tuple(expected)


@pytest.mark.parametrize("saturating", [False, True], ids=["within", "saturating"])
def test_compiled_step_equals_the_plain_one(rng, saturating):
    """Over time, so that every state is one that the compiled loop itself came to."""
    neurons, length = 11, 50
    layer = CelifLayer(
        name="layer 0",
        weight=np.zeros((neurons, 1), np.int64),
        lag=1,
        delay_shift=False,
        te=rng.integers(-127, 128, (neurons, length)),
        te_exp=6 if saturating else 9,
        te_bits=8,
        weight_exp=0,
        weight_bits=8,
        fraction_bits=12,
        alpha_mant=3000,
        beta_mant=4055,
        theta0_int=1200,
        bias_mant=rng.integers(-4096, 4096, neurons),
        bias_exp=1,
    )
    acc = rng.integers(-4, 5, (2, length, neurons)) * (1000 if saturating else 1)
    run = run_layer(layer, acc.astype(np.float64), keep=True)
    zero = np.zeros((2, neurons), np.int64)
    state = State(zero + layer.theta0_int, zero, zero)
    for t in range(length):
        state = celif.step(acc[:, t], layer.te[:, t], state, layer.params)
        np.testing.assert_array_equal(run.theta[:, t], state.theta)
        np.testing.assert_array_equal(run.v[:, t], state.v)
        np.testing.assert_array_equal(run.spikes[:, t], state.s)
    assert 0.02 < run.spikes.mean() < 0.98
    assert (run.saturated > 0) == saturating


@hypothesis_settings
@given(
    acc=st.integers(-(1 << 20), 1 << 20),
    u=st.integers(-(1 << 23), 1 << 23),
    v=st.integers(-STATE_MAX, STATE_MAX),
    s=st.integers(0, 1),
    du=st.integers(-1, 4095),
    dv=st.integers(0, 4096),
    vth=st.integers(0, (1 << 17) - 1),
    bias=st.integers(-4096, 4095),
)
def test_cuba_step_is_the_equations_in_every_arithmetic(acc, u, v, s, du, dv, vth, bias):
    u_new = _wrap_current(oracle.rz(u * (4095 - du), 12) + acc * 64)
    v_new = oracle.saturate(oracle.rz(v * (1 - s) * (4096 - dv), 12) + u_new + bias * 64)
    expected = (u_new, v_new, int(v_new > vth * 64))
    for number in (int, np.int64, torch.tensor):
        state = CubaState(*map(number, (u, v, s)))
        p = CubaParams(*map(number, (du, dv, vth, bias * 64)))
        assert tuple(map(int, cuba.step(number(acc), state, p))) == expected
