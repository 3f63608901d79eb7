"""The bound: nothing exceeds it, and cases worked by hand reach it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from export import FixedNetwork, simulate
from export.loihi2 import STATE_MAX
from export.model.network import CelifLayer
from export.proof.intervals import Intervals, _depth, intervals, worst_case
from export.proof.search import alone, every_input, search_layer
from export.tests.strategies import hypothesis_settings, seeds
from hw_tests.networks.random_nets import random_network
from hw_tests.networks.random_stacks import LayerSpec, random_stack


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


def assert_within(ends: Intervals, v: np.ndarray, theta: np.ndarray) -> None:
    """Every state (batch, neuron, time) in its neuron's and step's interval, put into registers."""
    for low, high, values in (
        (ends.v_low, ends.v_high, v),
        (ends.theta_low, ends.theta_high, theta),
    ):
        assert (values >= np.clip(low, -STATE_MAX, STATE_MAX)[ends.lane]).all()
        assert (values <= np.clip(high, -STATE_MAX, STATE_MAX)[ends.lane]).all()


def largest_states(layer: CelifLayer, x: np.ndarray) -> tuple[int, int]:
    """Largest |V| and |Θ| for one input of ``x`` at each step."""
    low, high = min(int(x.min()), 0), max(int(x.max()), 1)
    trace = simulate(alone(layer, low, high, len(x)), x[None, None, :], trace=True)
    return int(np.abs(trace.v[0]).max()), int(np.abs(trace.theta[0]).max())


ALPHAS, BETAS = (0, 1, 2048, 3700, 4095), (0, 2000, 4055, 4095)
REGIMES = st.fixed_dictionaries(
    {
        "alpha_mant": st.sampled_from(ALPHAS),
        "beta_mant": st.sampled_from(BETAS),
        "te_exp": st.integers(4, 12),
        "weight_exp": st.sampled_from([-8, 1, 9]),  # from always saturating to never
        "theta0_int": st.sampled_from([-3000, -1, 0, 1, 1229, 60_000]),
    }
)


@hypothesis_settings
@given(
    seed=seeds,
    neurons=st.integers(1, 4),
    inputs=st.integers(1, 4),
    steps=st.integers(1, 24),
    signed=st.booleans(),
    regime=REGIMES,
)
def test_no_input_leaves_its_interval(seed, neurons, inputs, steps, signed, regime):
    rng = np.random.default_rng(seed)
    layer = replace(
        random_network(rng, (neurons,), steps, channels=inputs).layers[0],
        **regime,
        bias_mant=rng.integers(-1200, 1200, neurons),
    )
    low, high = (-15 if signed else 0), 15
    ends = intervals(layer, low, high)
    peaks = search_layer(layer, low, high, steps, rng)
    x = np.stack([*peaks.inputs.values(), *rng.integers(low, high + 1, (20, inputs, steps))])
    trace = simulate(peaks.net, x, trace=True)
    assert_within(ends, trace.v[0], trace.theta[0])
    bound = worst_case(layer, low, high)
    assert not bound.safe or peaks.saturations == 0
    assert peaks.largest[0, "V"] <= bound.v
    assert peaks.largest[0, "Θ"] <= bound.theta


@hypothesis_settings
@given(seed=seeds, inputs=st.integers(1, 2), signed=st.booleans(), regime=REGIMES)
def test_no_input_at_all_leaves_its_interval(seed, inputs, signed, regime):
    rng = np.random.default_rng(seed)
    steps = {(1, False): 9, (2, False): 5, (1, True): 6, (2, True): 3}[inputs, signed]
    layer = random_network(rng, (3,), steps, channels=inputs).layers[0]
    layer = replace(layer, **regime, bias_mant=rng.integers(-1200, 1200, 3))
    low, high = (-1 if signed else 0), 1
    ends, net = intervals(layer, low, high), alone(layer, low, high, steps)
    for x in every_input(net.encoding, steps):
        trace = simulate(net, x, trace=True)
        assert_within(ends, trace.v[0], trace.theta[0])
    assert trace.v[0].any()


@hypothesis_settings
@given(seed=seeds, signed=st.booleans(), regime=REGIMES)
def test_no_input_at_all_leaves_the_interval_of_a_neuron_with_own_decays(seed, signed, regime):
    rng = np.random.default_rng(seed)
    steps = 6 if signed else 9
    layer = random_network(rng, (6,), steps, channels=1).layers[0]
    decays = {
        name: rng.permutation(np.resize(rng.permutation(values), 6))
        for name, values in (("alpha_mant", ALPHAS), ("beta_mant", BETAS))
    }
    layer = replace(layer, **regime | decays, bias_mant=rng.integers(-1200, 1200, 6))
    low, high = (-1 if signed else 0), 1
    ends, net = intervals(layer, low, high), alone(layer, low, high, steps)
    for x in every_input(net.encoding, steps):
        trace = simulate(net, x, trace=True)
        assert_within(ends, trace.v[0], trace.theta[0])
    assert trace.v[0].any()
    # Each neuron has the ends of a layer in which all have its decays, looked back as far.
    depth = _depth(layer.alpha_mant)
    for n in range(6):
        one = {name: int(values[n]) for name, values in decays.items()}
        alike = intervals(replace(layer, **one), low, high, depth)
        assert all(np.array_equal(a[n], b[n]) for a, b in zip(ends[:4], alike[:4], strict=True))


def test_tiny_layers_reach_every_end():
    """Θ0 high enough that no spike ever resets: the whole past is one linear form."""
    layer = worked_layer(
        te=np.array([[1, -1, 1, 1, -1, 1]]), beta_mant=2048, alpha_mant=3072, weight_exp=-8
    )
    net = alone(layer, 0, 1, 6)
    trace = simulate(net, np.concatenate(list(every_input(net.encoding, 6))), trace=True)
    ends = intervals(layer, 0, 1)
    assert ends.v_high[0].tolist() == trace.v[0].max((0, 1)).tolist()
    assert ends.v_low[0].tolist() == trace.v[0].min((0, 1)).tolist()
    # Rounding is bounded, not followed: less than a unit for each of three roundings a step, of
    # thousands. A box that forgot the past would be thousands off.
    assert np.abs(ends.theta_high[0] - trace.theta[0].max((0, 1))).max() < 3 * 6
    assert np.abs(ends.theta_low[0] - trace.theta[0].min((0, 1))).max() < 3 * 6


def test_bound_is_reached_in_a_case_worked_by_hand():
    # V = 10, 5+10, 7+10 (7.5 → 7), 8+10 (8.5 → 8), 9+10, 9+10 (9.5 → 9); Θ lags by a step.
    layer = worked_layer()
    assert worst_case(layer, 0, 1) == (19, 1_000_019)
    assert largest_states(layer, np.ones(6, int)) == (19, 1_000_019)


def test_bound_counts_negative_inputs():
    # V = −30, −15−30, −22−30, −26−30, −28−30, −29−30; Θ = Θ0 − the V before.
    layer = worked_layer(te=-np.ones((1, 6), int))
    assert worst_case(layer, -3, 1) == (59, 1_000_058)
    assert largest_states(layer, np.full(6, -3)) == (59, 1_000_058)


def test_bound_counts_the_bias():
    layer = worked_layer(weight=np.array([[-10]]), bias_mant=np.array([-1]), bias_exp=1)
    assert worst_case(layer, 0, 1).v == 23 == largest_states(layer, np.ones(6, int))[0]


def test_bound_knows_that_a_high_membrane_spikes():
    # Θ stays at 12 (TE = 0): V = 10 is silent, 5 + 10 spikes, and what is silent is at most 11.
    layer = worked_layer(te=np.zeros((1, 6), int), theta0_int=12)
    assert worst_case(layer, 0, 1).v == 5 + 10 == largest_states(layer, np.ones(6, int))[0]


def test_bound_knows_that_a_low_threshold_is_passed():
    # Θ falls with V ≤ 0 far below it, so each step spikes and V = −10, not −10 / (1 − α).
    layer = worked_layer(
        weight=np.array([[-10]]), te=np.full((1, 6), 7), te_bits=4, theta0_int=0, beta_mant=4095
    )
    attained = largest_states(layer, np.ones(6, int))[1]
    # Before Θ has fallen V is silent once, at −10, and −15 a step later.
    assert attained <= worst_case(layer, 0, 1).theta <= attained * 1.2


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
    trace = simulate(alone(layer, 0, 1, 4), np.zeros((1, 1, 4), int), trace=True)
    assert trace.theta[0][0, 0].tolist() == theta
    assert trace.spikes[0][0, 0, 0] == 1
    assert worst_case(replace(layer, weight=layer.weight * 0), 0, 1).theta >= max(theta)


@pytest.mark.parametrize("saturating", [False, True], ids=["safe", "unsafe"])
def test_unsafe_layers_are_told_from_safe_ones(rng, saturating):
    network = random_network(rng, (5,), 20, channels=3, saturating=saturating)
    bound = worst_case(network.layers[0], *network.encoding.range)
    trace = simulate(network, rng.integers(0, 16, (4, 3, 20)), trace=True)
    assert bound.safe == (trace.saturations == [0]) == (not saturating)
    assert trace.spikes[0].any()


def test_unrolling_ends_where_a_register_saturates():
    # V gains 4095 « 7 a step and saturates at the 17th; at the next, Θ = Θ0 − V = 0, where the
    # unclipped V would make it −0.5 million: below what the layer reaches.
    steps = 18
    te = np.zeros((1, steps), int)
    te[0, -1] = -1
    layer = worked_layer(
        te=te,
        alpha_mant=4095,
        theta0_int=STATE_MAX,
        weight=np.array([[0]]),
        bias_mant=np.array([4095]),
        bias_exp=7,
    )
    trace = simulate(alone(layer, 0, 1, steps), np.zeros((1, 1, steps), int), trace=True)
    assert trace.saturations[0] > 0
    assert trace.theta[0][0, 0, -1] == 0
    assert_within(intervals(layer, 0, 1), trace.v[0], trace.theta[0])


def test_threshold_alone_can_be_unsafe():
    # V stays at 10, and Θ gains nearly as much at every step: TE = 1 and β ≈ 1.
    layer = worked_layer(
        te=np.full((1, 3000), 127),
        te_bits=8,
        beta_mant=4095,
        weight=np.array([[127]]),
        theta0_int=STATE_MAX - 300_000,
    )
    bound = worst_case(layer, 0, 1)
    assert bound.v < 300
    assert not bound.safe


def small_network(seed: int, own_decays: bool = False) -> FixedNetwork:
    """Two neurons with one input, whose thresholds move about as much as their membranes."""
    rng = np.random.default_rng(seed)
    steps = int(rng.integers(6, 9))
    drawn = random_stack(rng, [LayerSpec(2)], steps, shape=(1, 1, 1), bits=1, classes=0)
    layer = replace(
        drawn.layers[0],
        weight=rng.integers(-60, 61, (2, 1)),
        weight_exp=4,
        fraction_bits=6,
        theta0_int=int(rng.integers(-60, 61)),
        te_exp=int(rng.integers(5, 8)),
        alpha_mant=int(rng.integers(1000, 4096)),
        beta_mant=int(rng.integers(2000, 4096)),
        bias_mant=rng.integers(-40, 41, 2),
        bias_exp=0,
    )
    if own_decays:
        decays = rng.integers((1000, 2000), 4096, (2, 2))
        layer = replace(layer, alpha_mant=decays[:, 0], beta_mant=decays[:, 1])
    return replace(drawn, layers=(layer,))


@pytest.mark.parametrize("own_decays", [False, True], ids=["one-decay", "own-decays"])
def test_no_input_of_small_networks_leaves_the_unrolled_intervals(own_decays):
    """Every sequence of spikes there is; a wrong line in the proof's point 3 is passed by some."""
    spikes = narrower = 0
    for seed in range(40):
        net = small_network(seed, own_decays)
        ends = intervals(net.layers[0], 0, 1)
        boxes = intervals(net.layers[0], 0, 1, depth=0)
        narrower += int((ends.theta_high < boxes.theta_high).sum())
        narrower += int((ends.theta_low > boxes.theta_low).sum())
        for x in every_input(net.encoding, net.steps):
            trace = simulate(net, x, trace=True)
            spikes += int(trace.spikes[0].sum())
            assert_within(ends, trace.v[0], trace.theta[0])
    assert spikes > 10_000
    assert narrower > 100
