"""Placing layers: no limit is passed, every byte is counted, and what is missing is named."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from export.fit.demand import Demand, TeDemand, demands, with_te, with_weight_bits
from export.fit.figures import CHIP
from export.fit.placement import DoesNotFit, place, shortages
from export.fit.remedies import remedies
from export.model.te import CosineTable, Table
from export.tests.strategies import hypothesis_settings
from hw_tests.networks.random_nets import random_network

COSINE = CosineTable(np.zeros(0, np.int64), np.zeros(256, np.int64))


@st.composite
def te_demands(draw):
    bits = draw(st.integers(2, 16))
    packed = bits <= 4 and draw(st.booleans())
    table = Table(draw(st.integers(1, 8)), packed)
    form = draw(st.sampled_from([table, COSINE]))
    return TeDemand(form, draw(st.integers(1, 900)), bits)


@st.composite
def layers(draw, most=4):
    """Dense, recurrent and convolutional layers, not necessarily one after the other."""
    found = []
    for i in range(draw(st.integers(1, most))):
        channels, positions = draw(st.integers(1, 300)), draw(st.sampled_from([1, 1, 9, 100]))
        found.append(
            Demand(
                name=f"layer {i}",
                kind="CELIF",
                channels=channels,
                positions=positions,
                inputs=draw(st.integers(1, 300)),
                weights=draw(st.integers(1, 300)),
                recurrent=channels if positions == 1 and draw(st.booleans()) else 0,
                weight_bits=draw(st.integers(2, 8)),
                state_bits=draw(st.integers(1, 100)),
                te=draw(st.none() | te_demands()),
            )
        )
    return tuple(found)


@st.composite
def chips(draw):
    return CHIP.with_figures(
        cores=draw(st.integers(1, 40)),
        neurons_per_core=draw(st.integers(1, 500)),
        core_bytes=draw(st.integers(2_000, 200_000)),
        state_bytes=draw(st.sampled_from([100, 1000, 4096])),
        te_in_state=draw(st.booleans()),
    )


@settings(hypothesis_settings, max_examples=100)
@given(layers(), chips(), st.integers(1, 4))
def test_a_placement_passes_no_limit_and_counts_every_byte(asked, chip, boards):
    try:
        placement = place(asked, chip, boards)
    except DoesNotFit:
        return  # the refusals have their own tests
    assert len(placement.cores) <= boards * chip["cores"]
    assert [core.number for core in placement.cores] == list(range(len(placement.cores)))
    for i, layer in enumerate(asked):
        cores = placement.of_layer(i)
        assert sum(core.neurons for core in cores) == layer.channels * layer.positions
        for core in cores:
            assert core.neurons <= chip["neurons_per_core"]
            assert core.held.total <= chip["core_bytes"]
            # What the core holds, worked out anew from the layer's sizes.
            weights = core.channels * (layer.weights + layer.recurrent)
            te = 0
            if layer.te is not None and layer.te.form is COSINE:
                te = 3 * core.channels + 256 * (1 if layer.te.bits <= 8 else 2)
            elif layer.te is not None:
                columns = math.ceil(layer.te.steps / layer.te.form.hold)
                width = 0.5 if layer.te.form.packed else 1 if layer.te.bits <= 8 else 2
                te = core.channels * math.ceil(columns * width)
            assert core.held.synapses == math.ceil(weights * layer.weight_bits / 8)
            assert core.held.axons == 4 * (layer.inputs + layer.recurrent)
            assert core.held.te == te
            assert core.held.state == core.neurons * math.ceil(layer.state_bits / 8)
        if layer.te is not None and layer.positions == 1 and chip["te_in_state"]:
            assert layer.neuron_state(chip) <= chip["state_bytes"]
    said = placement.to_dict()
    for kind in ("synapses", "axons", "te", "state"):
        over_layers = sum(layer["bytes"][kind] for layer in said["layers"])
        over_cores = sum(core["bytes"][kind] for core in said["placement"])
        assert over_layers == over_cores == sum(getattr(c.held, kind) for c in placement.cores)


@settings(hypothesis_settings, max_examples=50)
@given(layers(most=2), chips())
def test_a_layer_takes_no_core_that_it_could_do_without(asked, chip):
    try:
        placement = place(asked, chip, 1 << 14)
    except DoesNotFit:
        return
    for i, layer in enumerate(asked):
        cores = placement.of_layer(i)
        if layer.positions > 1 or len(cores) == 1:
            continue
        fewer = math.ceil(layer.channels / (len(cores) - 1))
        overfull = layer.held(fewer, 1, chip).total > chip["core_bytes"]
        assert overfull or fewer > chip["neurons_per_core"]


@settings(hypothesis_settings, max_examples=30)
@given(layers(most=3), chips())
def test_remedies_fit_and_none_contains_another(asked, chip):
    missing = shortages(asked, chip)
    if not missing:
        return
    found = remedies(asked, chip, 1, missing)
    for remedy in found:
        assert len(place(remedy.layers, chip, remedy.chips).cores) == remedy.cores
    sets = [frozenset(remedy.changes) for remedy in found]
    assert not any(a < b for a in sets for b in sets)


@pytest.fixture
def asked(rng):
    """What the paper's network asks."""
    return demands(random_network(rng, (64, 152, 152), 784, channels=1, classes=10))


TOO_LARGE = {
    # way: (figures of a smaller chip, the limit, the layer, a remedy that must be there)
    "neurons": (dict(neurons_per_core=20, cores=18), "neurons", "layer 1", "2 chips"),
    "synapses": (dict(core_bytes=8_000, cores=4, axon_bytes=0), "synapses", "layer 2", "2 chips"),
    "TE bytes": (dict(core_bytes=70_000, cores=4), "TE bytes", "layer 1", "TE of 4 bits, packed"),
    "state bytes": (dict(state_bytes=700), "state bytes", "layer 0", "TE of at most 692 steps"),
    "cores": (dict(cores=3), "cores", "layer 0", "2 chips (Kapoho Point has 8)"),
}


@pytest.mark.parametrize("way", TOO_LARGE)
def test_a_network_too_large_is_refused_with_its_limit(way, asked):
    figures, limit, layer, remedy = TOO_LARGE[way]
    chip = CHIP.with_figures(**figures)
    if way == "synapses":  # otherwise TE would be the larger part
        asked = with_te(asked, TeDemand(Table(hold=64), 784, 8))
    with pytest.raises(DoesNotFit) as error:
        place(asked, chip)
    first = error.value.shortages[0]
    assert (first.limit, first.layer) == (limit, layer)
    assert first.needed > first.available
    assert str(first) in str(error.value)
    found = remedies(asked, chip, 1, error.value.shortages)
    assert any(str(one).startswith(remedy) for one in found), [str(one) for one in found]


ON_LOIHI2 = {
    # The chip as it is described, and a network that grows in one direction only.
    "neurons": (dict(channels=1_100_000, weights=1, inputs=1, te=None, state_bits=1), 1),
    "synapses": (dict(channels=20_000, weights=20_000, inputs=20_000, te=None), 1),
    "TE bytes": (dict(channels=40_000, weights=1, inputs=1), 1),
    "state bytes": (dict(te=TeDemand(Table(), 5000, 8)), 1),
    "cores": ({}, 129),
}


@pytest.mark.parametrize("limit", ON_LOIHI2)
def test_loihi2_refuses_what_is_too_large_for_it(limit, asked):
    fields, count = ON_LOIHI2[limit]
    grown = tuple(replace(asked[1], name=f"layer {i}", **fields) for i in range(count))
    missing = shortages(grown, CHIP)
    assert [shortage.limit for shortage in missing] == [limit]
    assert remedies(grown, CHIP, 1, missing)


@pytest.mark.parametrize(
    ("fields", "limit"),
    [
        (dict(weight_bits=9), "weight bits"),
        (dict(message_bits=33), "message bits"),
        (dict(delay=64), "delay bits"),
    ],
    ids=["weight", "message", "delay"],
)
def test_what_is_too_wide_is_refused(fields, limit, asked):
    wide = (replace(asked[0], **fields), *asked[1:])
    missing = shortages(wide, CHIP)
    assert [(s.limit, s.layer) for s in missing] == [(limit, "layer 0")]
    assert remedies(wide, CHIP, 1, missing)


def test_several_changes_are_offered_only_where_one_is_not_enough(asked):
    """Synapses and TE have to shrink together, and each no further than it must."""
    layer = replace(asked[2], weights=700, inputs=1)
    chip = CHIP.with_figures(cores=1, core_bytes=layer.held(152, 1, CHIP).total * 3 // 5)
    found = remedies((layer,), chip, 1, shortages((layer,), chip))
    assert ("TE of 4 bits, packed", "weights of 5 bits") in [remedy.changes for remedy in found]
    packed = with_te((layer,), TeDemand(Table(packed=True), 784, 4))
    assert not shortages(with_weight_bits(packed, 5), chip)
    for less in (packed, with_weight_bits(packed, 6), with_weight_bits((layer,), 5)):
        assert shortages(less, chip)


def test_no_offered_set_asks_for_more_than_another(asked):
    """As the documentation shows them; holding for 16 steps, say, would fit as well."""
    chip = CHIP.with_figures(core_bytes=40_000, cores=4)
    found = remedies(asked, chip, 1, shortages(asked, chip))
    assert [str(remedy) for remedy in found] == [
        "3 chips (Kapoho Point has 8)",
        "TE held for 8 steps",
        "a generated cosine for TE",
        "TE of at most 99 steps",
        "TE held for 4 steps and weights of 2 bits",
        "TE of 4 bits, packed and TE held for 4 steps",
        "TE of 4 bits, packed and TE held for 2 steps and weights of 2 bits",
    ]


def test_a_shared_table_is_held_by_every_core_that_uses_it(asked):
    placement = place(asked, CHIP)
    rows = [core.held.te // 784 for core in placement.cores]
    assert rows == [64, 152, 152, 0]


def test_a_neuron_with_too_many_inputs_is_refused(asked):
    wide = (*asked[:2], replace(asked[2], inputs=300_000, weights=300_000), asked[3])
    missing = shortages(wide, CHIP, 2)
    assert [(s.limit, s.layer, s.of_a_neuron) for s in missing] == [("synapses", "layer 2", True)]
    assert [str(r) for r in remedies(wide, CHIP, 2, missing)] == [
        "layer 2 with at most 39,163 inputs"
    ]
    # 5 bytes for each input (a weight, its axon), 784 of TE and 8 of state.
    assert 5 * 39_163 + 792 <= CHIP["core_bytes"] < 5 * 39_164 + 792


def test_a_large_channel_is_cut_by_positions_each_with_its_kernel(asked):
    conv = replace(asked[1], channels=3, positions=1000, weights=25, inputs=1, te=None)
    chip = CHIP.with_figures(neurons_per_core=400)
    cores = place((conv,), chip).cores
    assert [(core.channels, core.positions) for core in cores] == [(1, 334)] * 3 + [(1, 333)] * 6
    assert all(core.held.synapses == 25 for core in cores)
