"""LIF and ALIF in integers: their steps by hand, and their listings against the steps."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from export.fit import microcode
from export.loihi2 import STATE_MAX
from export.steps import alif, lif
from export.tests.strategies import hypothesis_settings

states = st.integers(-STATE_MAX, STATE_MAX)
decays = st.integers(0, 4095)
spikes = st.integers(0, 1)
sums = st.integers(-(1 << 30), 1 << 30)
biases = st.integers(-4096, 4095)


def test_lif_fires_at_its_threshold_and_not_below():
    p = lif.LifParams(alpha_mant=2048, theta0_int=100, shift=1, bias=10)
    assert lif.step(20, lif.LifState(100, 0), p) == (100, 1)  # 50 + 40 + 10
    assert lif.step(20, lif.LifState(99, 0), p) == (99, 0)  # 49, towards zero
    assert lif.step(20, lif.LifState(-99, 0), p) == (1, 0)
    assert lif.step(20, lif.LifState(100, 1), p) == (50, 0)  # nothing is kept after a spike


def test_alif_fires_at_its_threshold_which_a_spike_raises():
    p = alif.AlifParams(2048, 1024, theta0_int=100, gamma_int=40, shift=0, bias=0)
    # Θ: a quarter of 20 and Θ0; V: half of 50 and the sum.
    assert alif.step(80, alif.AlifState(120, 50, 0), p) == (105, 105, 1)
    assert alif.step(79, alif.AlifState(120, 50, 0), p) == (105, 104, 0)
    assert alif.step(80, alif.AlifState(120, 50, 1), p) == (145, 80, 0)


@hypothesis_settings
@given(states, spikes, sums, st.integers(0, 24), decays, states, biases, st.integers(0, 7))
def test_lif_listing_computes_the_step(v, s, acc, shift, alpha, theta0, bias_mant, bias_exp):
    p = lif.LifParams(alpha, theta0, shift, bias_mant << bias_exp)
    expected = lif.step(acc, lif.LifState(v, s), p)
    memory = {"v": v, "s": s, "bias_mant": bias_mant}
    constants = {
        "alpha_mant": alpha, "theta0_int": theta0, "shift": shift, "bias_exp": bias_exp, "acc": acc,
    }  # fmt: skip
    written = microcode.execute(lif.listing(), memory, constants)
    assert (memory["v"], memory["s"]) == tuple(expected)
    assert written[-1] == expected.s


@hypothesis_settings
@given(
    states, states, spikes, sums, st.integers(0, 24), decays, decays, states, states, biases,
    st.integers(0, 7),
)  # fmt: skip
def test_alif_listing_computes_the_step(
    theta, v, s, acc, shift, alpha, beta, theta0, gamma, bias_mant, bias_exp
):
    p = alif.AlifParams(alpha, beta, theta0, gamma, shift, bias_mant << bias_exp)
    expected = alif.step(acc, alif.AlifState(theta, v, s), p)
    memory = {"theta": theta, "v": v, "s": s, "bias_mant": bias_mant}
    constants = {
        "alpha_mant": alpha, "beta_mant": beta, "theta0_int": theta0, "gamma_int": gamma,
        "shift": shift, "bias_exp": bias_exp, "acc": acc,
    }  # fmt: skip
    written = microcode.execute(alif.listing(), memory, constants)
    assert (memory["theta"], memory["v"], memory["s"]) == tuple(expected)
    assert written[-1] == expected.s
