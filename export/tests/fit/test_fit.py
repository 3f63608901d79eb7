"""The fit of whole networks, and the operations that an estimate counts."""

from dataclasses import replace

import numpy as np
import pytest

from export import read_netx, simulate, to_netx
from export.fit import energy
from export.fit.demand import TeDemand, demands, with_te
from export.fit.figures import CHIP
from export.fit.fit import fit
from export.fit.split import cores_of
from export.model.geometry import Geometry, Shape
from export.model.te import CosineTable, Table
from hw_tests.networks.random_nets import random_network
from training import Network

COSINE = CosineTable(np.zeros(0, np.int64), np.zeros(256, np.int64))


@pytest.fixture
def paper(rng):
    """The paper's network of 153,962 parameters, with random weights."""
    return random_network(rng, (64, 152, 152), 784, channels=1, classes=10)


def test_the_papers_network_is_placed(paper):
    placed = fit(paper)
    assert placed.fits
    said = placed.to_dict()["placement"]
    assert (said["cores"], said["of_cores"]) == (11, 128)
    assert said["binding"]["limit"] == "neuron words, mostly TE"
    for layer, m, n, cores in zip(
        said["layers"], (1, 64, 152, 152), (64, 152, 152, 10), (2, 4, 4, 1), strict=True
    ):
        held, part = layer["words"], n // cores
        te = 98 * n * (m != 152 or n != 10)  # 784 bytes a row; the readout has none
        assert held["synapses"] == cores * m * (part * 20 // 64 + 1)
        assert (held["axon_in"], held["axon_map"], held["te"]) == (cores * m, n, te)
        assert held["neurons"] == n + te
        assert held["total"] == cores * (1 + m) + held["synapses"] + 2 * n + te


@pytest.mark.parametrize(
    ("form", "bits", "in_state", "cores"),
    [
        (Table(), 8, 1, (2, 4, 4)),
        (Table(packed=True), 4, 1, (1, 2, 2)),
        (COSINE, 8, 1, (1, 1, 1)),
        (Table(), 8, 0, (1, 1, 2)),
        (Table(packed=True), 4, 0, (1, 1, 1)),
        (COSINE, 8, 0, (1, 1, 1)),
    ],
    ids=["table", "packed", "cosine", "table in the pool", "packed in the pool", "cosine too"],
)
def test_cores_of_the_papers_layers_by_form_and_place_of_te(form, bits, in_state, cores, paper):
    chip = CHIP.with_figures(te_in_state=in_state)
    layers = with_te(demands(paper), TeDemand(form, 784, bits))
    assert tuple(cores_of(layer, chip) for layer in layers[:3]) == cores


def test_both_readings_of_where_te_lies_are_given(paper):
    assert fit(paper).readings == {"neuron words": (2, 4, 4, 1), "pool": (1, 1, 2, 1)}
    assert fit(paper).to_dict()["te_readings"]["pool"] == [1, 1, 2, 1]


def test_a_network_that_does_not_fit_says_why_and_what_would_help(paper):
    refused = fit(paper, CHIP.with_figures(cores=10))
    assert not refused.fits
    said = refused.to_dict()
    assert said["shortages"][0]["limit"] == "cores"
    assert said["remedies"][0]["changes"][0].startswith("2 chips")


@pytest.mark.parametrize("figure", ["state_bytes", "pool_words"])
def test_what_a_remedy_asks_of_an_export_makes_it_fit(figure, rng, tmp_path):
    net = Network(in_features=2, hidden=(9, 8), classes=3, steps=64)
    x = rng.random((4, 2, 64), np.float32)
    written = {"rule": "max", "weight_bits": 6}

    def fitted(chip, **formats):
        to_netx(net, tmp_path / "a.net", calibration=x, **{**written, **formats})
        return fit(read_netx(tmp_path / "a.net"), chip)

    small = CHIP.with_figures(cores=3, **{figure: {"state_bytes": 40, "pool_words": 60}[figure]})
    refused = fitted(small)
    asked = [remedy for remedy in refused.remedies if remedy.formats]
    assert len({frozenset(remedy.formats) for remedy in asked}) > 1
    assert all("te_bits" not in r.formats or r.formats["te_bits"] != 8 for r in asked)
    for remedy in asked:
        placed = fitted(small, **remedy.formats).placement
        assert placed is not None, remedy
        assert len(placed.cores) == remedy.cores


def test_more_chips_have_more_cores(paper):
    chip = CHIP.with_figures(cores=6)
    assert not fit(paper, chip).fits
    assert fit(paper, chip, chips=2).fits


def test_fit_refuses_a_board_without_chips(paper):
    with pytest.raises(ValueError, match="chips: expected 1 or more, got 0"):
        fit(paper, chips=0)


def test_operations_are_counted_spike_by_spike(rng):
    net = random_network(rng, (6, 5), 20, channels=3)
    x = rng.integers(0, 3, (4, 3, 20))
    trace = simulate(net, x, trace=True)
    spikes = trace.spikes
    assert all(s.any() for s in spikes)
    first, second, last = energy.count(net, x, trace)
    steps = 4 * 20
    # Each event meets every neuron of the next layer.
    assert first.synops * steps == pytest.approx(6 * np.count_nonzero(x))
    assert second.synops * steps == pytest.approx(5 * spikes[0].sum())
    assert last.synops * steps == pytest.approx(3 * spikes[1].sum())
    assert second.rate == pytest.approx(spikes[1].mean())


def test_an_estimate_prices_what_was_counted(rng):
    net = random_network(rng, (6, 5), 20, channels=3)
    x = rng.integers(0, 3, (4, 3, 20))
    free = dict(synop_pj=0, update_pj=0, synop_ns=0, update_ns=0, barrier_ns=0)

    def priced(**figures):
        return fit(net, CHIP.with_figures(**{**free, **figures}), x=x).estimate

    whole = priced(synop_pj=2).synop_nj * 1000 / 2
    assert whole == pytest.approx(sum(layer.synops for layer in priced().layers))
    assert priced(barrier_ns=1500).step_us == pytest.approx(1.5)
    # The busiest core, here that of the layer with the most operations.
    busiest = max(layer.synops for layer in priced().layers)
    assert priced(synop_ns=1).step_us == pytest.approx(busiest / 1000)
    assert priced(update_pj=36).update_nj == pytest.approx((11 * 37 + 3 * 5) / 1000)
    assert priced(synop_pj=2).sample_uj == pytest.approx(whole * 2 * 20 / 1e6)


def test_a_short_sample_costs_its_own_steps(rng):
    net = random_network(rng, (6, 5), 20, channels=3)
    x = rng.integers(0, 3, (4, 3, 20))
    whole, short = fit(net, x=x).estimate, fit(net, x=x[:, :, :5]).estimate
    assert (whole.steps, short.steps) == (20, 5)
    assert short.sample_uj == pytest.approx(short.step_nj * 5 / 1e3)


def test_fan_out_of_a_large_image_takes_no_matrix(rng):
    """Its 32,768 inputs squared would be 4 GB."""
    layer = random_network(rng, (2,), 4, channels=2).layers[0]
    shape = Shape(2, 128, 128)
    kernels = rng.integers(-9, 9, (2, 2, 3, 3))
    large = replace(layer, weight=kernels, geometry=Geometry(shape, (2, 2), (1, 1)))
    reached = energy.fan_out(large)
    assert reached.sum() == 2 * 2 * (64 * 3 - 1) ** 2
    assert set(reached.tolist()) == {2, 4, 8}


def test_splitting_a_layer_shortens_its_step(rng):
    net = random_network(rng, (64, 40), 30, channels=3)
    x = rng.integers(0, 3, (2, 3, 30))
    fast = fit(net, CHIP.with_figures(neurons_per_core=8), x=x).estimate
    assert fast.step_us < fit(net, x=x).estimate.step_us
    assert fast.step_nj == fit(net, x=x).estimate.step_nj


def test_the_papers_count_of_arithmetic(rng):
    """(mn·Fr_in + n·Fr_out)·E_AC + 3n·E_MAC for each layer, as the paper has it."""
    net = random_network(rng, (6, 5), 20, channels=3)
    net = replace(net, readout=None)
    x = rng.integers(0, 3, (4, 3, 20))
    spikes = simulate(net, x, trace=True).spikes
    rates = [np.mean(x != 0), *(s.mean() for s in spikes)]
    expected = sum(
        (m * n * rates[i] + n * rates[i + 1]) * 0.9 + 3 * n * 4.6
        for i, (m, n) in enumerate([(3, 6), (6, 5)])
    )
    assert fit(net, x=x).estimate.arithmetic_nj == pytest.approx(expected / 1000)


def test_the_first_layer_receives_graded_spikes(rng):
    net = random_network(rng, (6, 5), 20, bits=7)
    assert [layer.message_bits for layer in demands(net)] == [7, 1, 1]
