"""The fit of every kind of layer: placed, and its operations counted synapse by synapse."""

import json
import math

import numpy as np
import pytest

from export.fit import fit
from export.fit.energy import fan_out
from export.fit.figures import CHIP
from hw_tests.golden.kit_cases import unit_cases
from hw_tests.golden.vectors import parameters_text, vectors
from hw_tests.tests.second_implementation import synapses

CASES = {case.name: case for case in unit_cases()}


@pytest.mark.parametrize("name", CASES)
def test_every_kind_of_layer_is_placed(name):
    case = CASES[name]
    placed = fit(case.net, x=case.x)
    assert placed.fits
    assert len(placed.placement.cores) == len(case.net.all_layers)
    for core, layer in zip(placed.placement.cores, case.net.all_layers, strict=True):
        assert core.neurons == layer.neurons
    assert placed.estimate.step_nj[0] > 0


@pytest.mark.parametrize("name", ["convolution", "recurrent", "readout", "delays", "sigma-delta"])
def test_operations_are_events_at_synapses(name):
    """Counted again from the synapses that the second implementation makes of the parameters."""
    case = CASES[name]
    layers = [synapses(layer) for layer in json.loads(parameters_text(case.net))["layers"]]
    for layer, reached in zip(case.net.all_layers, layers, strict=True):
        hits = np.zeros(layer.inputs, int)
        for row in reached:
            for i, _ in row:
                hits[i] += 1
        assert fan_out(layer).tolist() == hits.tolist()
    first = fit(case.net, x=case.x).estimate.layers[0]
    events = np.count_nonzero(case.x, axis=(0, 2)) @ fan_out(case.net.layers[0])
    if name == "recurrent":
        own = np.count_nonzero(vectors(case.net, case.x)["spikes/0"])
        assert own > 0
        events += own * case.net.layers[0].neurons
    steps = case.x.shape[0] * case.x.shape[2]
    assert first.synops * steps == pytest.approx(events)


def test_a_convolution_holds_its_kernels_once_a_core_and_its_rows_where_te_lies():
    case = CASES["convolution"]
    layer = case.net.layers[0]
    assert layer.positions > 1
    row = -(-case.net.steps // 8)
    # A core has the neurons of a whole block, whose width is a power of two. Each of them has its
    # own row in its state; in the pool, the neurons of a channel share one.
    shape = layer.output_shape
    assert (shape.width, shape.height) == (3, 2)
    block = shape.channels * 4 * 2
    for in_state, rows in ((1, block), (0, layer.rows)):
        (core,) = fit(case.net, CHIP.with_figures(te_in_state=in_state)).placement.cores
        assert core.held.synapses == layer.weight[0].size * math.ceil((layer.rows * 8 + 16) / 64)
        assert core.held.te == rows * row
        assert core.held.state == block
        assert core.held.axon_map == layer.neurons == core.neurons


def test_a_recurrent_layer_holds_its_own_weights_too():
    (core,) = fit(CASES["recurrent"].net).placement.cores
    assert core.held.axon_in == 3 + 3
    assert core.held.synapses == 2 * (3 + 3)  # 3 synapses of 20 bits and 16 besides: two words
    assert core.held.axon_map == 2 * 3
