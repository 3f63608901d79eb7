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
from export.fit.words import Window
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
        channels = draw(st.integers(1, 300))
        width, height = draw(st.sampled_from([(1, 1), (1, 1), (3, 3), (20, 5)]))
        kernels = width > 1 or draw(st.booleans())
        size = draw(st.integers(1, 3))
        window = Window((size, size), (draw(st.integers(1, 2)), 1), (size // 2, 0))
        found.append(
            Demand(
                name=f"layer {i}",
                kind="CELIF",
                channels=channels,
                width=width,
                height=height,
                window=window if kernels else None,
                to_kernels=draw(st.booleans()),
                inputs=draw(st.integers(1, 300)),
                weights=draw(st.integers(1, 300)),
                recurrent=0 if kernels or draw(st.booleans()) else channels,
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
        pool_words=draw(st.integers(500, 20_000)),
        neuron_words=draw(st.integers(200, 4_095)),
        synapse_words=draw(st.integers(500, 16_000)),
        compiler=draw(st.sampled_from([2022, 2024])),
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
            check_core(core, layer, chip)
        if layer.te is not None and chip["te_in_state"]:
            assert layer.neuron_state(chip) <= chip["state_bytes"]
    said = placement.to_dict()
    for kind in ("synapses", "axon_in", "axon_map", "neurons", "te", "total"):
        over_layers = sum(layer["words"][kind] for layer in said["layers"])
        over_cores = sum(core["words"][kind] for core in said["placement"])
        assert over_layers == over_cores == sum(getattr(c.held, kind) for c in placement.cores)


def lists(count, bits):
    return math.ceil((count * bits + 16) / 64)


def check_core(core, layer, chip):
    """What a core holds, worked out from the layer's sizes without the code under test."""
    held, neurons = core.held, core.channels * core.positions
    assert neurons <= chip["neurons_per_core"]
    runs = 1
    if layer.kernels:
        runs = bin(math.ceil(core.channels / 4)).count("1")
        axons, synapses = runs, layer.weights * lists(core.channels, layer.weight_bits)
    else:
        axons = layer.inputs + layer.recurrent
        per_list = lists(core.channels, 12 + layer.weight_bits)
        synapses = (layer.weights + layer.recurrent) * per_list
    row = wave = 0
    if layer.te is not None and layer.te.form is COSINE:
        wave = 32 if layer.te.bits <= 8 else 64
    elif layer.te is not None:
        columns = math.ceil(layer.te.steps / layer.te.form.hold)
        width = 0.5 if layer.te.form.packed else 1 if layer.te.bits <= 8 else 2
        row = math.ceil(math.ceil(columns * width) / 8)
    # A core of a convolution has the words of a whole block, where others have their neurons'.
    each = math.ceil(layer.state_bits / 64)
    places = held.state // (core.channels * each)
    assert held.state == core.channels * places * each
    assert places == core.positions if not layer.kernels else places >= core.positions
    own = core.channels * places * row if chip["te_in_state"] else 0
    shared = wave + (0 if chip["te_in_state"] else core.channels * row)
    maps = neurons * (2 if layer.recurrent else 1)
    if layer.to_kernels:
        maps = core.positions * runs if layer.kernels else neurons
    memory = held.axon_mem
    targets = memory * 4 // maps  # 16 bits for each map and receiving core
    assert memory == 0 if not layer.to_kernels else targets >= 1
    assert (held.axon_in, held.synapses, held.axon_map) == (axons, synapses, maps)
    assert (held.te, held.neurons) == (own + shared, held.state + own)
    groups = runs if chip["compiler"] == 2024 else 1
    total = groups + axons + synapses + held.state + own + shared + maps + memory
    assert held.total == total <= chip["pool_words"]
    assert synapses <= chip["synapse_words"]
    assert held.state + own <= chip["neuron_words"]
    assert max(axons, maps, memory) <= 16_000


@settings(hypothesis_settings, max_examples=50)
@given(layers(most=2), chips())
def test_a_layer_is_cut_only_where_a_limit_is_passed(asked, chip):
    try:
        placement = place(asked, chip, 1 << 14)
    except DoesNotFit:
        return
    for i, layer in enumerate(asked):
        cores = placement.of_layer(i)
        if len(cores) == 1:
            continue
        # Blocks count with a width of a power of two; what they send depends on the next layer.
        wide = 1 << (layer.width - 1).bit_length()
        many = layer.channels * wide * layer.height > chip["neurons_per_core"]
        most = 1 if i + 1 == len(asked) else len(placement.of_layer(i + 1))
        block = layer.words(layer.channels, wide * layer.height, chip, most)
        share = not layer.kernels and chip["compiler"] == 2024
        full = share and block.synapses > chip["dense_synapse_words"]
        assert many or full or not block.fits(chip)
        if not layer.kernels:
            sizes = {core.channels for core in cores[:-1]}
            assert len(sizes) == 1, "parts are equal but for the last"


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
    "synapses": (dict(synapse_words=1_000, cores=4), "synapses", "layer 2", "4 chips"),
    "neuron words": (dict(cores=5), "neuron words", "layer 1", "TE of 4 bits, packed"),
    "pool": (dict(pool_words=2_000, cores=11), "pool", "layer 2", "a generated cosine"),
    "state bytes": (dict(state_bytes=700), "state bytes", "layer 0", "TE of at most 688 steps"),
    "cores": (dict(cores=10), "cores", "layer 1", "2 chips (Kapoho Point has 8)"),
}


@pytest.mark.parametrize("way", TOO_LARGE)
def test_a_network_too_large_is_refused_with_its_limit(way, asked):
    figures, limit, layer, remedy = TOO_LARGE[way]
    chip = CHIP.with_figures(**figures)
    if way == "synapses":  # otherwise TE would run short first
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
    "neuron words": (dict(channels=540_000, weights=1, inputs=1, te=None, state_bits=1), 1),
    "synapses": (dict(channels=12_000, weights=8_000, inputs=8_000, te=None), 1),
    "input axons": (dict(weights=16_001, inputs=16_001), 1),
    "state bytes": (dict(te=TeDemand(Table(), 5000, 8)), 1),
    "cores": (dict(te=None), 129),
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
    layer = replace(asked[2], weights=152, inputs=152)
    chip = CHIP.with_figures(cores=2, synapse_words=152 * 22)
    found = remedies((layer,), chip, 1, shortages((layer,), chip))
    assert ("TE of 4 bits, packed", "weights of 6 bits") in [remedy.changes for remedy in found]
    packed = with_te((layer,), TeDemand(Table(packed=True), 784, 4))
    assert not shortages(with_weight_bits(packed, 6), chip)
    for less in (packed, with_weight_bits(packed, 7), with_weight_bits((layer,), 6)):
        assert shortages(less, chip)


def test_no_offered_set_asks_for_more_than_another(asked):
    """As the documentation shows them; holding for 16 steps, say, would fit as well."""
    chip = CHIP.with_figures(cores=5)
    found = remedies(asked, chip, 1, shortages(asked, chip))
    assert [str(remedy) for remedy in found] == [
        "3 chips (Kapoho Point has 8)",
        "TE held for 4 steps",
        "a generated cosine for TE",
        "TE of at most 200 steps",
        "TE of 4 bits, packed and TE held for 2 steps",
    ]


def test_a_shared_table_is_held_by_every_core_that_uses_it(asked):
    rows = [core.held.te // 98 for core in place(asked, CHIP).cores]
    assert rows == [41, 23, *[41, 41, 41, 29] * 2, 0]
    in_pool = place(asked, CHIP.with_figures(te_in_state=0)).cores
    assert [core.held.te // 98 for core in in_pool] == [64, 152, 133, 19, 0]
    # 133 rows, 152 lists of 42 words, 152 and 133 axons, 133 of state and a group; 134 pass 20,000.
    assert in_pool[2].held.total == 133 * 98 + 152 * 42 + 152 + 133 + 133 + 1 == 19_837
    assert all(core.held.te_of_neurons == 0 for core in in_pool)


def test_a_neuron_with_too_many_inputs_is_refused(asked):
    wide = (*asked[:2], replace(asked[2], inputs=300_000, weights=300_000), asked[3])
    missing = shortages(wide, CHIP, 2)
    assert [(s.limit, s.layer, s.of_a_neuron) for s in missing] == [
        ("input axons", "layer 2", True)
    ]
    (remedy,) = remedies(wide, CHIP, 2, missing)
    # A word of synapses and an axon for each input, 98 of TE, 1 of state, an axon map and a group.
    assert str(remedy) == "layer 2 with at most 9,949 inputs"
    assert 2 * 9_949 + 101 <= CHIP["pool_words"] < 2 * 9_950 + 101
