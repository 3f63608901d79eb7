"""The listing in published operations, executed, is the step; a cosine needs no indexed read."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from export.fit import published
from export.loihi2 import DECAY_ONE, PHASE_BITS, STATE_MAX
from export.model.te import CosineTable, Table, quarter_wave
from export.steps import celif
from export.tests.strategies import hypothesis_settings

states = st.integers(-STATE_MAX, STATE_MAX)
decays = st.integers(0, DECAY_ONE - 1)
WAVE = quarter_wave(120.0, 8).tolist()


@hypothesis_settings
@given(
    states, states, st.integers(0, 1), st.integers(-(1 << 30), 1 << 30), st.integers(0, 24),
    st.integers(-(1 << 15), (1 << 15) - 1), st.integers(0, 31), decays, decays, states,
    st.integers(-4096, 4095), st.integers(0, 7),
)  # fmt: skip
@example(0, -5, 0, 0, 0, 3, 2, 1, 1, 0, 0, 0)  # a negative product that is rounded
def test_published_listing_computes_the_step(
    theta, v, s, acc, shift, te, te_exp, alpha, beta, theta0, bias_mant, bias_exp
):
    p = celif.IntParams(alpha, beta, theta0, te_exp, shift, bias_mant << bias_exp)
    expected = celif.step(acc, te, celif.State(theta, v, s), p)
    memory = {"theta": theta, "v": v, "s": s, "bias_mant": bias_mant}
    constants = {
        "alpha_mant": alpha, "beta_mant": beta, "theta0_int": theta0, "minus_theta0": -theta0,
        "te_exp": te_exp, "shift": shift, "bias_exp": bias_exp, "acc": acc, "column": 0,
    }  # fmt: skip
    program = published.celif_step("table")
    registers, _ = published.execute(program, memory, constants, {"te_row": [te]})
    assert (memory["theta"], memory["v"], memory["s"]) == tuple(expected)
    assert registers["spikes"] == expected.s


@pytest.mark.parametrize("increment", [0, 1, 12_345, 987_654, 1 << (PHASE_BITS - 1)])
def test_a_cosine_is_generated_without_an_indexed_read(increment):
    form = CosineTable(np.array([increment]), np.array(WAVE))
    te = form.decode(np.array([increment]), 300)[0]
    program = published.fetch_te("cosine", WAVE)
    assert published.UNPUBLISHED not in published.counts(program)
    memory, found = {"phase": 0, "increment": increment}, []
    for _ in te:
        found.append(published.execute(program, memory, {})[0]["te"])
    assert found == te.tolist()


@pytest.mark.parametrize("wave", [[7], [1, 1, 1, 1], [9, 5, 5, 0], list(range(-128, 128))])
def test_a_tree_holds_every_value_of_a_wave(wave):
    tree = published.wave_tree(wave)
    for i, expected in enumerate(wave):
        registers, ran = published.execute(tree, {}, {"i": i})
        assert registers["te"] == expected
        # At most a comparison and a jump a level, the value, a jump and the end.
        assert ran <= 2 * (len(wave) - 1).bit_length() + 3


def test_packed_mantissas_are_cut_out(rng):
    form = Table(packed=True)
    te = rng.integers(-7, 8, (1, 9))
    row, program = form.stored(te)[0], published.fetch_te("packed")
    for k in range(9):
        registers, _ = published.execute(program, {}, {"column": k}, {"te_row": row})
        assert registers["te"] == te[0, k]


def test_only_tables_need_what_is_not_published():
    needs = {
        form: published.UNPUBLISHED in published.counts(published.celif_step(form, WAVE))
        for form in ("table", "packed", "cosine")
    }
    assert needs == {"table": True, "packed": True, "cosine": False}
    with pytest.raises(ValueError, match="expected table, packed or cosine, got 'wave'"):
        published.fetch_te("wave")


def test_every_published_operation_that_is_explained_is_used_and_counted():
    used = set()
    for form in ("table", "packed", "cosine"):
        program = published.celif_step(form, WAVE)
        counted = published.counts(program)
        assert counted.pop("all") == len(program) == sum(counted.values())
        used |= counted.keys()
    assert used == set(published.OPERATIONS)
    assert published.counts(published.celif_step("table"))["MUL_SHR"] == 3
