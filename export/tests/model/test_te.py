"""TE in its forms: what is kept gives the mantissas back, step by step as all at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from export.checks import ModelError
from export.model import te
from export.model.te import PHASE_ONE, CosineTable, Table
from export.tests.strategies import encoded_te, hypothesis_settings
from hw_tests import oracle
from hw_tests.networks.random_nets import random_network
from training.network import temporal_encoding


def test_every_pair_of_mantissas_is_packed_and_unpacked():
    pairs = np.array([[a, b] for a in range(-8, 8) for b in range(-8, 8)])
    packed = te.pack(pairs)
    assert packed.shape == (256, 1)
    assert sorted(packed[:, 0]) == list(range(256)), "a byte each"
    np.testing.assert_array_equal(te.unpack(packed, 2), pairs)


def test_earlier_mantissa_is_in_the_low_half():
    np.testing.assert_array_equal(te.pack(np.array([[1, -1, 7]])), [[0xF1, 0x07]])


@hypothesis_settings
@given(data=st.data(), rows=st.integers(1, 3), steps=st.integers(1, 9))
def test_generator_gives_the_table_step_by_step(data, rows, steps):
    encoded = data.draw(encoded_te(rows, steps))
    table, form = encoded["te"], encoded["te_form"]
    stored = form.stored(table)
    np.testing.assert_array_equal(form.decode(stored, steps), table)
    wave = form.wave if isinstance(form, CosineTable) else np.zeros(1, np.int64)
    phase = np.full(rows, 12345)  # of the sample before
    at = form.generator(stored, wave, phase)
    np.testing.assert_array_equal(np.stack([at(k) for k in range(steps)], 1), table)
    assert ((phase >= 0) & (phase < PHASE_ONE)).all() or isinstance(form, Table)


@hypothesis_settings
@given(data=st.data(), rows=st.integers(1, 3), steps=st.integers(1, 9))
def test_oracle_decodes_the_same(data, rows, steps):
    encoded = data.draw(encoded_te(rows, steps))
    form, stored = encoded["te_form"], encoded["te_form"].stored(encoded["te"]).tolist()
    if isinstance(form, CosineTable):
        found = oracle.cosine_te(stored, form.wave.tolist(), steps)
    elif form.packed:
        found = oracle.packed_te(stored, form.hold, steps)
    else:
        found = oracle.held_te(stored, form.hold, steps)
    assert found == encoded["te"].tolist()


@pytest.mark.parametrize("bits", [4, 8, 12])
def test_generated_cosine_follows_the_float_one(bits):
    wave = temporal_encoding.Cosine(40, 784)
    turns = wave.turns().detach().numpy()
    exp = {4: 6, 8: 10, 12: 14}[bits]
    form = CosineTable(
        te.increments(turns), te.quarter_wave(temporal_encoding.AMPLITUDE * 2**exp, bits)
    )
    table = form.decode(form.increment, 784) * 2.0**-exp
    # Half a mantissa; half a part of the wave, a quarter turn in 256; half a unit of phase a step.
    phase = 2 * np.pi * (0.5 / 1024 + 784 * 0.5 / PHASE_ONE)
    bound = 0.5 * 2.0**-exp + temporal_encoding.AMPLITUDE * phase
    error = np.abs(table - wave().detach().numpy())
    assert error.max() < bound
    assert error.max() > bound / 4, "a bound that is never approached says nothing"


@pytest.mark.parametrize("turns", [0.0, 0.25, 0.5, 0.75, 1.1, -0.3])
def test_any_frequency_is_one_of_half_a_turn_or_less(turns):
    (increment,) = te.increments(np.array([turns]))
    assert 0 <= increment <= PHASE_ONE // 2
    steps = np.arange(50)
    assert np.allclose(
        np.cos(2 * np.pi * increment / PHASE_ONE * steps),
        np.cos(2 * np.pi * turns * steps),
        atol=2 * np.pi * 50 / PHASE_ONE,
    )


def test_held_value_is_the_mean_of_its_steps():
    table = np.array([[1.0, 3.0, 5.0, 7.0, 10.0]])
    np.testing.assert_array_equal(te.block_means(table, 2), [[2.0, 6.0, 10.0]])
    np.testing.assert_array_equal(te.block_means(table, 1), table)


@pytest.mark.parametrize(
    ("form", "bits", "expected"),
    [
        (Table(), 8, 10 * 21),
        (Table(), 9, 2 * 10 * 21),
        (Table(packed=True), 4, 10 * 11),
        (Table(hold=2), 8, 10 * 11),
        (Table(hold=2, packed=True), 4, 10 * 6),
        (CosineTable(np.zeros(10), np.zeros(256)), 8, 10 * 3 + 256),
    ],
)
def test_bytes_are_those_of_what_is_kept(form, bits, expected):
    assert form.bytes(10, 21, bits) == expected


FORMS = {
    "hold": ({"te_form": Table(hold=2)}, "te: expected values that stay for 2 steps, got"),
    "hold-range": ({"te_form": Table(hold=65)}, r"te_hold: expected 1\.\.64, got 65"),
    "packed": ({"te_form": Table(packed=True)}, r"te_bits: expected 2\.\.4 for packed TE, got 8"),
    "cosine-rows": (
        {"te_form": CosineTable(np.zeros(2, int), np.ones(2, int))},
        "te_form: expected 5 values, one per neuron, got 2",
    ),
    "cosine-fast": (
        {"te_form": CosineTable(np.full(5, PHASE_ONE // 2 + 1), np.ones(2, int))},
        r"te_form: expected 0\.\.2097152",
    ),
    "cosine-wave": (
        {"te_form": CosineTable(np.zeros(5, int), np.ones(3, int))},
        "te_wave: expected a power of two up to 1024 of values, got 3",
    ),
    "cosine-range": (
        {"te_form": CosineTable(np.zeros(5, int), np.full(2, 128))},
        r"te_wave: expected -127\.\.127, got 128",
    ),
    "cosine-other": (
        {"te_form": CosineTable(np.zeros(5, int), np.ones(2, int))},
        "te: expected what its cosine generates, got something else",
    ),
}


@pytest.mark.parametrize(("change", "message"), FORMS.values(), ids=FORMS)
def test_form_that_does_not_fit_is_refused(rng, change, message):
    layer = random_network(rng, (5,), 6).layers[0]
    with pytest.raises(ModelError, match=message):
        replace(layer, **change)


def test_generator_starts_every_sample_at_phase_0():
    """A phase of 1 would be a 2²²nd of a turn, and hardly ever another mantissa."""
    cosine = CosineTable(np.array([3, 500_000]), np.array([100, 40]))
    phase = np.array([7, 9])
    next_te = cosine.generator(cosine.increment, cosine.wave, phase)
    assert phase.tolist() == [0, 0]
    next_te(0)
    assert phase.tolist() == [3, 500_000]


def test_a_quarter_wave_has_as_many_values_as_the_page_of_the_format_says():
    assert len(te.quarter_wave(1.0, 8)) == 2**8
