"""The bound: nothing exceeds it, and a simple case reaches it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from export import bounds
from export.loihi2 import STATE_MAX
from export.model import CelifLayer
from export.random_nets import random_network
from export.tests.strategies import hypothesis_settings, seeds
from export.twin import run_layer, synaptic_sums


def largest_states(layer: CelifLayer, x: np.ndarray) -> tuple[int, int]:
    """Largest |V| and |Θ| for inputs (batch, time, channel)."""
    run = run_layer(layer, synaptic_sums(layer, x, int(np.abs(x).max())), keep=True)
    return int(np.abs(run.v).max()), int(np.abs(run.theta).max())


def adversaries(layer: CelifLayer, low: int, high: int) -> np.ndarray:
    """Inputs that drive each neuron up, down, and to and fro, (case, time, channel)."""
    up = np.where(layer.weight > 0, high, low)
    down = np.where(layer.weight > 0, low, high)
    steps = layer.te.shape[1]
    turn = np.arange(steps)[:, None] % 2 == 0
    kinds = [
        pattern
        for a, b in zip(up, down, strict=True)
        for pattern in (np.tile(a, (steps, 1)), np.tile(b, (steps, 1)), np.where(turn, a, b))
    ]
    return np.array(kinds)


@hypothesis_settings
@given(
    seed=seeds,
    neurons=st.integers(1, 4),
    inputs=st.integers(1, 4),
    steps=st.integers(1, 12),
    signed=st.booleans(),
    te_exp=st.integers(4, 10),
)
def test_no_input_exceeds_the_bound(seed, neurons, inputs, steps, signed, te_exp):
    rng = np.random.default_rng(seed)
    network = random_network(rng, (neurons,), steps, channels=inputs)
    layer = replace(network.layers[0], te_exp=te_exp)
    low, high = (-15 if signed else 0), 15
    bound = bounds.worst_case(layer, low, high)
    random = rng.integers(low, high + 1, (20, steps, inputs))
    extreme = rng.choice([low, high], (20, steps, inputs))
    for x in (random, extreme, adversaries(layer, low, high)):
        v, theta = largest_states(layer, x)
        if bound.safe:
            assert v <= bound.v
            assert theta <= bound.theta


def worked_layer(**change) -> CelifLayer:
    """One neuron of weight 10, α = 1/2, that never spikes; Θ = Θ0 + the V before."""
    layer = CelifLayer(
        name="layer 0",
        weight=np.array([[10]]),
        lag=1,
        delay_shift=False,
        te=np.ones((1, 6), int),
        te_exp=0,
        te_bits=2,
        weight_exp=0,
        weight_bits=8,
        fraction_bits=0,
        alpha_mant=2048,
        beta_mant=0,
        theta0_int=1_000_000,
        bias_mant=np.array([0]),
        bias_exp=0,
    )
    return replace(layer, **change)


def test_bound_is_reached_in_a_case_worked_by_hand():
    # V = 10, 5+10, 7+10 (7.5 → 7), 8+10 (8.5 → 8), 9+10, 9+10 (9.5 → 9); Θ lags by a step.
    layer = worked_layer()
    assert bounds.worst_case(layer, 0, 1) == (19, 1_000_019)
    assert largest_states(layer, np.ones((1, 6, 1))) == (19, 1_000_019)


def test_bound_counts_negative_inputs():
    # V = −30, −15−30, −22−30, −26−30, −28−30, −29−30; Θ = Θ0 − the V before.
    layer = worked_layer(te=-np.ones((1, 6), int))
    assert bounds.worst_case(layer, -3, 1) == (59, 1_000_058)
    assert largest_states(layer, np.full((1, 6, 1), -3)) == (59, 1_000_058)


def test_bound_counts_the_bias():
    layer = worked_layer(weight=np.array([[-10]]), bias_mant=np.array([-1]), bias_exp=1)
    assert bounds.worst_case(layer, 0, 1).v == 23 == largest_states(layer, np.ones((1, 6, 1)))[0]


# A constant drive, so that only a spike's reset tells one V from another: a bound that forgot the
# reset would take V[2] for ±1500, and be 250 too small in the end.
#   Θ0, bias = 1000, 1000    V = 1000 S, 1000, 1500 S, 1000    Θ = 1000, 2000, 999, 2500
#   Θ0, bias = −2000, −1000  V = −1000 S, −1000, −1500, −1750  Θ = −2000, 2000, 999, 2498
RESETS = {
    "up": (1000, 1000, [0, 1, -1, 1], [1000, 2000, 999, 2500]),
    "down": (-2000, -1000, [0, -4, 1, -1], [-2000, 2000, 999, 2498]),
}


@pytest.mark.parametrize(("theta0", "bias", "te", "theta"), RESETS.values(), ids=RESETS.keys())
def test_bound_knows_that_a_spike_resets(theta0, bias, te, theta):
    layer = worked_layer(
        theta0_int=theta0, te=np.array([te]), te_bits=4, beta_mant=4095, bias_mant=np.array([bias])
    )
    run = run_layer(layer, np.zeros((1, 4, 1)), keep=True)
    assert run.theta[0, :, 0].tolist() == theta
    assert run.spikes[0, 0, 0] == 1
    assert bounds.worst_case(replace(layer, weight=layer.weight * 0), 0, 1).theta >= max(theta)


@pytest.mark.parametrize("saturating", [False, True], ids=["safe", "unsafe"])
def test_unsafe_layers_are_told_from_safe_ones(rng, saturating):
    network = random_network(rng, (5,), 20, channels=3, saturating=saturating)
    layer = network.layers[0]
    bound = bounds.worst_case(layer, *network.encoding.range)
    x = rng.integers(0, 16, (4, 20, 3))
    run = run_layer(layer, synaptic_sums(layer, x, 15), keep=True)
    assert bound.safe == (run.saturated == 0) == (not saturating)
    assert run.spikes.any()


def test_threshold_alone_can_be_unsafe():
    # V stays at 10, and Θ gains nearly as much at every step: TE = 1 and β ≈ 1.
    layer = worked_layer(
        te=np.full((1, 3000), 127),
        te_bits=8,
        beta_mant=4095,
        weight=np.array([[127]]),
        theta0_int=STATE_MAX - 300_000,
    )
    bound = bounds.worst_case(layer, 0, 1)
    assert bound.v < 300
    assert not bound.safe
