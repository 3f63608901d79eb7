"""The fit of whole networks, and the operations that an estimate counts."""

import math
from dataclasses import replace

import numpy as np
import pytest

from export import read_netx, simulate, to_netx
from export.fit import energy, fit
from export.fit.demand import TeDemand, demands, with_te
from export.fit.energy.measured import MEASUREMENTS
from export.fit.energy.prices import at_rest, price_lists
from export.fit.figures import CHIP
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
    # 41 neurons with 98 words of TE and one of state are 4,059 of 4,095 words.
    parts = ([41, 23], [41, 41, 41, 29], [41, 41, 41, 29], [10])
    for layer, m, of in zip(said["layers"], (1, 64, 152, 152), parts, strict=True):
        held, n, cores = layer["words"], sum(of), len(of)
        te = 98 * n * (n != 10)  # 784 bytes a row; the readout has none
        assert held["synapses"] == m * sum(math.ceil((part * 20 + 16) / 64) for part in of)
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
    assert cores_of(layers, chip)[:3] == cores


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


FREE = {
    name: 0
    for name, figure in CHIP.figures.items()
    if name.endswith(("_pj", "_ns", "_ns_min")) and not figure.whole
}


def test_an_estimate_prices_what_was_counted(rng):
    net = random_network(rng, (6, 5), 20, channels=3)
    x = rng.integers(0, 3, (4, 3, 20))

    def priced(**figures):
        return fit(net, CHIP.with_figures(**{**FREE, **figures}), x=x).estimate

    activity = priced().layers
    whole = sum(layer.synops for layer in activity)
    davies, sana_fe, scaled = priced(synop_pj=2, sana_synop_pj=3).priced
    assert (davies.prices, sana_fe.prices, scaled.prices) == ("Davies", "SANA-FE", "scaled")
    found = [one.synop_nj * 1000 for one in (davies, sana_fe, scaled)]
    assert found == pytest.approx([2 * whole, 3 * whole, 2 * whole])
    assert priced(barrier_ns=1500, barrier_ns_min=1500).priced[0].step_us == pytest.approx(1.5)
    # The busiest core, here that of the layer with the most operations.
    busiest = max(layer.synops for layer in activity)
    assert priced(synop_ns=1).priced[0].step_us == pytest.approx(busiest / 1000)
    updates = (11 * 37 + 3 * 5) / 36
    assert priced(update_pj=36).priced[0].update_nj == pytest.approx(36 * updates / 1000)
    # Every spike is made once and sent to the one core of the next layer; the readout sends none.
    spikes = sum(layer.spikes for layer in activity)
    assert spikes > 0
    assert priced(sana_spike_pj=7).priced[1].spike_nj == pytest.approx(7 * spikes / 1000)
    assert priced(sana_message_pj=7).priced[1].spike_nj == pytest.approx(7 * spikes / 1000)
    assert priced(synop_pj=2).sample_uj == pytest.approx((0, whole * 2 * 20 / 1e6))


def test_what_is_published_of_loihi_2_makes_times_shorter_and_leaves_energies(rng):
    net = random_network(rng, (6, 5), 20, channels=3)
    x = rng.integers(0, 3, (4, 3, 20))
    one = fit(net, x=x).estimate
    davies, sana_fe, scaled = one.priced
    assert scaled.step_nj == davies.step_nj < sana_fe.step_nj
    assert scaled.busy_us < sana_fe.busy_us
    assert scaled.sync_us == sana_fe.sync_us > davies.sync_us
    assert one.step_nj == (davies.step_nj, sana_fe.step_nj)
    assert one.step_us[1] == sana_fe.step_us


def test_synchronisation_grows_with_the_cores():
    davies, sana_fe, _ = price_lists(CHIP)
    assert [sana_fe.sync(n, 128) for n in (1, 128, 500)] == [600, 1800, 1800]
    assert davies.sync(1, 128) == 113 < davies.sync(64, 128) < davies.sync(128, 128) == 465


def test_the_model_is_of_the_size_of_what_was_measured():
    """The time of LSNN's step is left out: it is that of x86 processors, as its row says."""
    lsnn, pilotnet = (one.to_dict() for one in MEASUREMENTS)
    for one, name in ((pilotnet, "step_nj"), (pilotnet, "step_us"), (lsnn, "step_nj")):
        low, high = one["model"][name]
        assert low < one["measured"][name] < high
    assert sum(layer.cores for layer in MEASUREMENTS[1].layers) == 74
    assert lsnn["measured"]["step_nj"] == pytest.approx(26.3, abs=0.05)
    # 240 neurons, 100 of them in two compartments: 340 idle updates of 52 pJ, and one spike or
    # input in a hundred at 48 synapses of 23.6 pJ; a hop of 4 pJ for each spike.
    least = 340 * 52 + 3.2 * 48 * 23.6 + 2.4 * 4
    assert lsnn["model"]["step_nj"][0] == pytest.approx(least / 1e3)
    assert lsnn["model"]["step_us"][1] < lsnn["measured"]["step_us"]
    assert lsnn["why"].startswith("time: ")
    assert not pilotnet["why"]


def test_idle_neurons_are_priced_as_idle_only_where_others_were_measured():
    davies, sana_fe, scaled = price_lists(CHIP)
    assert [at_rest(prices).update_pj for prices in (davies, sana_fe, scaled)] == [52, 51.2, 52]
    assert [prices.update_pj for prices in (davies, sana_fe, scaled)] == [81, 72.8, 81]
    assert {"Davies", "Davies, idle"} < set(MEASUREMENTS[0].model(0.01))


def test_neurobenchs_metrics_counted_one_by_one(rng):
    net = random_network(rng, (6, 5), 20, channels=3)
    net.layers[0].weight[0, :] = 0
    x = rng.integers(0, 3, (4, 3, 20))
    trace = simulate(net, x, trace=True)
    found = energy.neurobench(net, x, trace)
    acs = macs = dense = updates = zeros = 0
    inputs = net.encode(x)
    for i, layer in enumerate(net.all_layers):
        operations = 0
        for sample in range(4):
            for k in range(20):
                arriving = inputs[sample, :, k]
                operations += sum(np.count_nonzero(row * arriving) for row in layer.weight)
                dense += layer.weight.size
        if i:
            acs += operations
        else:
            macs += operations
        if i == 2:
            break
        spikes, v = trace.spikes[i], trace.v[i]
        zeros += np.count_nonzero(spikes == 0)
        for sample in range(4):
            for n in range(layer.neurons):
                before = None
                for k in range(20):
                    updates += before is None or v[sample, n, k] != before
                    before = v[sample, n, k]
        inputs = spikes
    operations = found["synaptic_operations"]
    assert acs > 0
    assert (operations["Effective_ACs"], operations["Effective_MACs"]) == (acs / 4, macs / 4)
    assert (operations["Dense"], found["membrane_updates"]) == (dense / 4, updates / 4)
    assert found["activation_sparsity"] == zeros / (4 * 20 * 11)
    weights = np.concatenate([layer.weight.ravel() for layer in net.all_layers])
    assert found["connection_sparsity"] == round(np.count_nonzero(weights == 0) / weights.size, 4)
    assert found["footprint"] == weights.size + 11 * 20 + 2 * (11 + 3)


def test_a_short_sample_costs_its_own_steps(rng):
    net = random_network(rng, (6, 5), 20, channels=3)
    x = rng.integers(0, 3, (4, 3, 20))
    whole, short = fit(net, x=x).estimate, fit(net, x=x[:, :, :5]).estimate
    assert (whole.steps, short.steps) == (20, 5)
    assert short.sample_uj[0] == pytest.approx(short.step_nj[0] * 5 / 1e3)


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
    slow = fit(net, x=x).estimate
    for few, many in zip(slow.priced, fast.priced, strict=True):
        assert many.busy_us < few.busy_us
        assert (many.synop_nj, many.update_nj) == (few.synop_nj, few.update_nj)
        assert many.spike_nj > few.spike_nj, "more cores receive each spike"


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
