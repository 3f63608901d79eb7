"""Neurons that are plug-ins: every room reads their tables, for single kinds and mixed stacks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from export import read_netx, simulate, write_netx
from export.fit import fit, microcode, programs
from export.loihi2 import DECAY_ONE, STATE_MAX
from export.model.lif import DECAY, LeakyLayer
from export.model.network import KINDS as LAYERS
from export.model.network import FixedNetwork
from export.proof.attack import attack
from export.proof.certificate import certify
from export.proof.search import every_input
from export.tests.strategies import assert_same, hypothesis_settings
from hw_tests.networks.kinds import KINDS, LEAKY, Kind
from hw_tests.networks.random_stacks import LayerSpec, random_stack
from hw_tests.oracle.backend import run_oracle
from hw_tests.trace_difference import assert_same_trace, firing_rates

NETWORKS = {kind.name: kind for kind in KINDS if kind.name.partition("-")[0].upper() in LEAKY}


@pytest.fixture(params=NETWORKS)
def kind(request: pytest.FixtureRequest) -> Kind:
    return NETWORKS[request.param]


def one_layer(neuron: str, weight: list[list[int]], **fields) -> FixedNetwork:
    """A network of a single layer, which spikes reach, with two inputs and few fractional bits."""
    drawn = random_stack(
        np.random.default_rng(0), [LayerSpec(len(weight), neuron)], 6, bits=1, classes=0
    )
    layer = replace(
        drawn.layers[0], weight=np.array(weight), fraction_bits=6, weight_exp=3, **fields
    )
    return replace(drawn, layers=(layer,))


def test_there_are_kinds_to_test():
    assert {"LIF", "ALIF"} <= set(LEAKY)


def test_file_returns_the_same_network(kind, tmp_path):
    net, _ = kind.build()
    write_netx(net, tmp_path / "net.net")
    assert_same(read_netx(tmp_path / "net.net"), net)


def test_attack_stays_within_the_certificate(kind):
    net, x = kind.build()
    assert all(rate > 0 for rate in firing_rates(simulate(net, x, trace=True)))
    certificate = certify(net)
    report = attack(net, certificate, rounds=3)
    for bounds, layer, reached in zip(
        certificate.layers, net.all_layers, report.layers, strict=True
    ):
        names = {bound.register for bound in bounds.registers}
        assert names >= set(getattr(layer, "registers", {}))
        for found in reached.reached:
            for seen in (found.alone, found.network):
                assert seen is None or seen <= found.bound, (bounds.name, found)


@pytest.mark.parametrize("neuron", LEAKY)
@pytest.mark.parametrize("theta0", [40, 1, 0, -30])
def test_bounds_hold_for_every_input_and_are_reached(neuron, theta0):
    """Exhaustively: every sequence of spikes on two inputs for six steps."""
    net = one_layer(
        neuron, [[3, 5], [-4, 7], [-2, -6]], theta0_int=theta0, bias_mant=np.array([0, 3, -2])
    )
    bounds = {b.register: b.largest for b in certify(net).layers[0].registers}
    largest = dict.fromkeys(net.layers[0].registers, 0)
    spikes = 0
    for x in every_input(net.encoding, net.steps):
        trace = simulate(net, x, trace=True)
        spikes += int(trace.spikes[0].sum())
        for register, name in net.layers[0].registers.items():
            seen = int(np.abs(getattr(trace, name)[0]).max())
            largest[register] = max(largest[register], seen)
    assert spikes > 0
    for register, seen in largest.items():
        assert seen <= bounds[register]
    # Intervals forget how V and Θ belong together, but V alone they meet to within a quarter.
    assert largest["V"] * 5 >= bounds["V"] * 4


@pytest.mark.parametrize("neuron", LEAKY)
def test_registers_saturate_as_the_oracle_has_it(neuron, rng):
    drawn = random_stack(rng, [LayerSpec(5, neuron), LayerSpec(4, neuron)], 12)
    layers = tuple(replace(layer, weight_exp=-8, fraction_bits=16) for layer in drawn.layers)
    net = replace(drawn, layers=layers)
    x = rng.integers(0, 16, (3, 2, 12))
    trace = simulate(net, x, trace=True)
    assert all(trace.saturations)
    assert not certify(net).proven
    assert_same_trace(run_oracle(net, x), trace)


@pytest.mark.parametrize("neuron", LEAKY)
@hypothesis_settings
@given(data=st.data())
def test_listing_computes_the_step(neuron, data):
    kind = LAYERS[neuron]
    assert issubclass(kind, LeakyLayer)
    states = st.integers(-STATE_MAX, STATE_MAX)
    net = one_layer(neuron, [[1, 2]])
    constants = {
        name: data.draw(st.integers(0, DECAY_ONE - 1) if rounding == DECAY else states)
        for name, (_, rounding) in kind.constants.items()
    }
    bias_mant, acc = data.draw(st.integers(-4096, 4095)), data.draw(st.integers(-(2**20), 2**20))
    layer = replace(net.layers[0], bias_mant=np.array([bias_mant]), bias_exp=3, **constants)
    rest = layer.start(np.zeros(1, np.int64))
    values = {name: data.draw(states) for name in rest._fields[:-1]} | {
        "s": data.draw(st.integers(0, 1))
    }
    state = type(rest)(**{name: np.array([value]) for name, value in values.items()})
    expected = layer.advance(np.array([acc]), 0, state)
    memory = {**values, "bias_mant": bias_mant}
    given = {**constants, "shift": int(layer.shift[0]), "bias_exp": 3, "acc": acc}
    written = microcode.execute(programs.program_of(layer), memory, given)
    assert {name: memory[name] for name in values} == {
        name: int(value[0]) for name, value in expected._asdict().items()
    }
    assert written[-1] == memory["s"]


@pytest.mark.parametrize("neuron", LEAKY)
def test_listing_multiplies_as_often_as_the_layer_says(neuron):
    layer = one_layer(neuron, [[1, 2]]).layers[0]
    assert microcode.counts(layer.listing())["multiply"] == layer.multiplications


def test_network_is_placed_and_its_energy_estimated(kind):
    net, x = kind.build()
    placed = fit(net, x=x)
    assert placed.fits
    assert min(placed.estimate.step_nj) > 0
    assert {layer.name for layer in placed.estimate.layers} == {
        layer.name for layer in net.all_layers
    }
