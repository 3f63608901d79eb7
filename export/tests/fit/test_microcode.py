"""The listing, executed, is the step: for every neuron, TE form and corner."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from export.fit import microcode, programs
from export.loihi2 import DECAY_ONE, PHASE_BITS, STATE_MAX
from export.model.te import CosineTable, Table, pack
from export.steps import celif, cuba, sigma_delta
from export.tests.strategies import hypothesis_settings

ROOT = Path(__file__).parents[3]
states = st.integers(-STATE_MAX, STATE_MAX)
decays = st.integers(0, DECAY_ONE - 1)
sums = st.integers(-(1 << 30), 1 << 30)


@hypothesis_settings
@given(
    states, states, st.integers(0, 1), sums, st.integers(0, 24),
    st.integers(-(1 << 15), (1 << 15) - 1), st.integers(0, 31),
    decays, decays, states, st.integers(-4096, 4095), st.integers(0, 7),
)  # fmt: skip
def test_celif_listing_computes_the_step(
    theta, v, s, acc, shift, te, te_exp, alpha, beta, theta0, bias_mant, bias_exp
):
    p = celif.IntParams(alpha, beta, theta0, te_exp, shift, bias_mant << bias_exp)
    expected = celif.step(acc, te, celif.State(theta, v, s), p)
    memory = {"theta": theta, "v": v, "s": s, "bias_mant": bias_mant}
    constants = {
        "alpha_mant": alpha, "beta_mant": beta, "theta0_int": theta0, "te_exp": te_exp,
        "te_mask": (1 << te_exp) - 1, "shift": shift, "bias_exp": bias_exp, "acc": acc, "column": 0,
    }  # fmt: skip
    written = microcode.execute(programs.celif_step(), memory, constants, {"te_row": [te]})
    assert (memory["theta"], memory["v"], memory["s"]) == tuple(expected)
    assert written[-1] == expected.s  # what is sent


@hypothesis_settings
@given(
    states, states, st.integers(0, 1), st.integers(-(1 << 24), 1 << 24),
    st.integers(-1, DECAY_ONE - 1), st.integers(0, DECAY_ONE), st.integers(0, (1 << 17) - 1),
    st.integers(-4096, 4095),
)  # fmt: skip
@example(0, 0, 0, 1 << 17, DECAY_ONE - 1, 0, 0, 0)  # U of exactly 2²³, which does not wrap
def test_cuba_listing_computes_the_step(u, v, s, acc, du, dv, vth, bias_mant):
    p = cuba.CubaParams(du, dv, vth, bias_mant << 6)
    expected = cuba.step(acc, cuba.CubaState(u, v, s), p)
    memory = {"u": u, "v": v, "s": s, "bias_mant": bias_mant}
    constants = {"du": du, "dv": dv, "vth": vth, "acc": acc}
    microcode.execute(programs.cuba_step(), memory, constants)
    assert (memory["u"], memory["v"], memory["s"]) == tuple(expected)


@hypothesis_settings
@given(
    st.integers(-(1 << 31), (1 << 31) - 1), st.integers(0, 1 << 31),
    st.integers(-(1 << 18), 1 << 18), st.integers(-(1 << 18), 1 << 18),
    st.sampled_from([0, 12]), st.integers(0, 1 << 8),
    st.integers(-4096, 4095),
)  # fmt: skip
@example(0, 0, 0, 1, 12, 1, 0)  # a change of exactly the threshold, which is sent
def test_sigma_delta_listing_computes_the_step(sigma, act, residue, acc, shift, vth, bias_mant):
    p = sigma_delta.SigmaDeltaParams(shift, bias_mant << 12, vth << 12)
    expected = sigma_delta.step(acc, sigma_delta.SigmaDeltaState(sigma, act, residue, 0), p)
    memory = {"sigma": sigma, "act": act, "residue": residue, "bias_mant": bias_mant}
    microcode.execute(programs.sigma_delta_step(), memory, {"shift": shift, "vth": vth, "acc": acc})
    assert tuple(memory[name] for name in ("sigma", "act", "residue", "s")) == tuple(expected)


def fetched(form, wave_bits, steps, hold, memory, arrays):
    program = programs.fetch_te(form, wave_bits)
    place = [i for i, line in enumerate(program) if line.out == "te"][-1]
    return [
        microcode.execute(program, memory, {"column": k // hold}, arrays)[place]
        for k in range(steps)
    ]


@pytest.mark.parametrize("hold", [1, 3])
@pytest.mark.parametrize("packed", [False, True], ids=["table", "packed"])
def test_te_listing_reads_the_table(packed, hold, rng):
    form = Table(hold, packed)
    te = form.held(rng.integers(-7, 8, (1, 9)), 25)
    assert te.min() < 0 < te.max()
    row = form.stored(te)[0]
    assert fetched(form.encoding, 0, te.shape[1], hold, {}, {"te_row": row}) == te[0].tolist()


@pytest.mark.parametrize("increment", [0, 1, 12_345, 987_654, 1 << (PHASE_BITS - 1)])
def test_te_listing_generates_the_cosine(increment, rng):
    wave = np.arange(1, 65)
    te = CosineTable(np.array([increment]), wave).decode(np.array([increment]), 300)[0]
    memory = {"phase": 0, "increment": increment}
    assert fetched("cosine", 6, 300, 1, memory, {"wave": wave}) == te.tolist()


def test_packed_bytes_may_be_read_as_signed_or_not(rng):
    """A byte's sign does not matter: the wanted half is cut out."""
    row = pack(rng.integers(-7, 8, (1, 8)))[0]
    signed = [int(b) - 256 * (b > 127) for b in row]
    assert min(signed) < 0
    either = [fetched("packed", 0, 8, 1, {}, {"te_row": r}) for r in (row, signed)]
    assert either[0] == either[1]


@hypothesis_settings
@given(states, states, st.integers(0, 1), st.integers(-9999, 9999), st.integers(-127, 127))
def test_no_value_is_wider_than_the_listing_says(theta, v, s, acc, te):
    state, whole = (-STATE_MAX, STATE_MAX), (0, DECAY_ONE - 1)
    memory = {"theta": state, "v": state, "s": (0, 1), "bias_mant": (-4096, 4095)}
    one = {"te_exp": 9, "te_mask": 511, "shift": 6, "bias_exp": 3, "column": 0, "theta0_int": 77}
    ranges = {name: (value, value) for name, value in one.items()}
    ranges |= {"alpha_mant": whole, "beta_mant": whole, "acc": (-9999, 9999)}
    program = programs.celif_step()
    bits = microcode.widths(program, memory, ranges, {"te_row": (-127, 127)})
    values = {"theta": theta, "v": v, "s": s, "bias_mant": -4096}
    given = {**one, "alpha_mant": DECAY_ONE - 1, "beta_mant": DECAY_ONE - 1, "acc": acc}
    written = microcode.execute(program, values, given, {"te_row": [te]})
    for value, width in zip(written, bits, strict=True):
        assert -(1 << (width - 1)) <= value < 1 << (width - 1)


def test_widths_are_those_of_the_products():
    """β·(Θ−Θ0) is 12 + 24 bits and a sign, α·V 12 + 23 and a sign."""
    state, whole = (-STATE_MAX, STATE_MAX), (0, DECAY_ONE - 1)
    memory = {"theta": state, "v": state, "s": (0, 1), "bias_mant": (0, 0)}
    names = ("te_exp", "te_mask", "shift", "bias_exp", "column", "acc")
    ranges = {**dict.fromkeys(names, (0, 0)), "theta0_int": state}
    ranges |= {"alpha_mant": whole, "beta_mant": whole}
    program = programs.celif_step()
    bits = microcode.widths(program, memory, ranges, {"te_row": (-127, 127)})
    products = [width for line, width in zip(program, bits, strict=True) if line.op == "MUL"]
    assert products == [12 + 24 + 1, 7 + 23 + 1, 12 + 23 + 1]


def test_counts_add_up_to_the_listing():
    for program in (programs.celif_step(), programs.celif_step("cosine", 8), programs.cuba_step()):
        counted = microcode.counts(program)
        assert counted.pop("all") == len(program) == sum(counted.values())
    assert microcode.counts(programs.celif_step())["multiply"] == 3


def test_lengths_are_those_that_the_documentation_gives():
    text = " ".join((ROOT / "docs" / "golden.md").read_text(encoding="utf-8").split())
    table, stock = len(programs.celif_step()), len(programs.cuba_step())
    packed, cosine = (len(programs.celif_step(form, 8)) - table for form in ("packed", "cosine"))
    assert f"takes {table} generic instructions" in text
    assert f"stock LIF takes {stock}. Packed TE adds {packed}, a generated cosine {cosine}." in text


def test_every_operation_is_explained_and_counted():
    used = {line.op for form in ("table", "packed") for line in programs.celif_step(form)}
    used |= {line.op for line in (*programs.celif_step("cosine", 4), *programs.cuba_step())}
    classed = {op for members in microcode.CLASSES.values() for op in members}
    assert used == set(microcode.OPERATIONS) == classed
