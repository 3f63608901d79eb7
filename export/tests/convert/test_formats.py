"""What is asked of an export: one for all or one for each, and errors that say what is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from export import Formats, ModelError
from export.convert.float_network import FloatNetwork
from export.model.te import Table
from export.tests.floats import float_layer, network_of

REFUSED = {
    "weight-bits": ({"weight_bits": 9}, r"weight_bits: expected 2\.\.8, got 9"),
    "one-of-them": ({"weight_bits": (8, 1)}, r"weight_bits: expected 2\.\.8, got 1"),
    "te-bits": ({"te_bits": 17}, r"te_bits: expected 2\.\.16, got 17"),
    "fraction": (
        {"te_bits": 4.5},
        r"te_bits: expected an integer 2\.\.16, .* got 4\.5 of type float",
    ),
    "words": ({"te_bits": "8"}, r"te_bits: expected an integer 2\.\.16, .* got '8' of type str"),
    "input-bits": ({"input_bits": 0}, r"input_bits: expected 1\.\.16, got 0"),
    "fraction-bits": ({"fraction_bits": 17}, r"fraction_bits: expected 0\.\.16, got 17"),
    "hold": ({"te_hold": 0}, r"te_hold: expected 1\.\.64, got 0"),
    "rule": ({"rule": "worst"}, "rule: expected one of best, max, percentile, mse, got 'worst'"),
    "encoding": ({"te_encoding": "zip"}, "te_encoding: expected one of table, packed, cosine"),
}


@pytest.mark.parametrize(("change", "message"), REFUSED.values(), ids=REFUSED)
def test_format_out_of_range_is_refused(change, message):
    with pytest.raises(ModelError, match=message):
        Formats(**change)


def two_layers(rng: np.random.Generator) -> FloatNetwork:
    """Two layers and a readout."""
    readout = rng.normal(0, 1, (2, 4)), np.zeros(2)
    return FloatNetwork([float_layer(rng)] * 2, readout, 6, {})


def test_one_number_is_for_all_and_the_readout(rng):
    *asked, readout = Formats(weight_bits=5, te_bits=3).per_layer(two_layers(rng))
    assert [(each.weight_bits, each.te_bits) for each in asked] == [(5, 3), (5, 3)]
    assert readout.weight_bits == 5


def test_numbers_of_their_own_are_taken_in_order(rng):
    formats = Formats(weight_bits=(4, 6, 8), te_bits=[2, 16], fraction_bits=np.array([12, 9]))
    *asked, readout = formats.per_layer(two_layers(rng))
    found = [(each.weight_bits, each.te_bits, each.fraction_bits) for each in asked]
    assert found == [(4, 2, 12), (6, 16, 9)]
    assert readout.weight_bits == 8


@pytest.mark.parametrize("bits", [(4, 4), (4, 4, 4, 4)], ids=len)
def test_wrong_number_of_numbers_is_refused(rng, bits):
    message = rf"weight_bits: expected one number, or one for each of 2 .* readout, got {len(bits)}"
    with pytest.raises(ModelError, match=message):
        Formats(weight_bits=bits).per_layer(two_layers(rng))


def test_block_keeps_its_own_bits(rng):
    (asked,) = Formats(weight_bits=4).per_layer(network_of(float_layer(rng, weight_bits=7)))
    assert asked.weight_bits == 7


def test_cosine_is_generated_unless_a_table_is_asked_for(rng):
    wave = float_layer(rng, turns=np.full(4, 0.1))
    assert Formats().te_form(wave) is None
    assert Formats(te_encoding="table", te_hold=3).te_form(wave) == Table(hold=3)
    with pytest.raises(ModelError, match=r"te_hold: expected 1 for a generated cosine, got 2; or"):
        Formats(te_hold=2).te_form(wave)


def test_packed_needs_few_bits_and_cosine_a_cosine(rng):
    with pytest.raises(ModelError, match=r"layer 0 te_bits: expected 2\.\.4 with te_encoding='pac"):
        Formats(te_encoding="packed").te_form(float_layer(rng))
    with pytest.raises(ModelError, match=r"expected table or packed for a learnt table, got cosin"):
        Formats(te_encoding="cosine").te_form(float_layer(rng))
