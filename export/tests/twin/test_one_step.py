"""The compiled step of one layer equals the plain one."""

import numpy as np
import pytest

from export.loihi2 import DECAY_ONE, STATE_MAX
from export.steps import celif
from export.twin.one_step import CelifStep


@pytest.mark.parametrize("each", [True, False], ids=["per neuron", "shared"])
def test_compiled_step_equals_plain_step(rng, each):
    neurons, many = 257, (257 if each else 1)
    p = celif.IntParams(
        alpha_mant=rng.integers(0, DECAY_ONE, 1),
        beta_mant=rng.integers(0, DECAY_ONE, 1),
        theta0_int=rng.integers(1, 1 << 12, 1),
        te_exp=rng.integers(0, 16, many),
        shift=rng.integers(0, 8, many),
        bias=rng.integers(-(1 << 12), 1 << 12, many),
    )
    step = CelifStep(neurons, p)
    plain = celif.State(
        rng.integers(-STATE_MAX, STATE_MAX + 1, neurons),
        rng.integers(-STATE_MAX, STATE_MAX + 1, neurons),
        rng.integers(0, 2, neurons),
    )
    ours = celif.State(*(value.copy() for value in plain))
    spikes = saturated = 0
    for _ in range(40):
        acc = rng.integers(-(1 << 20), 1 << 20, neurons).astype(np.int32)
        te = rng.integers(-(1 << 15), 1 << 15, neurons)
        plain = celif.step(acc.astype(np.int64), te, plain, p)
        ours = step(acc, te, ours)
        for expected, found in zip(plain, ours, strict=True):
            np.testing.assert_array_equal(found, expected)
            assert found.dtype == np.int64
        spikes += int(plain.s.sum())
        saturated += int((abs(plain.v) == STATE_MAX).sum())
    assert 0 < spikes < 40 * neurons
    assert saturated


def test_state_of_another_type_is_taken(rng):
    p = celif.IntParams(*(np.array([value]) for value in (4000, 3000, 100, 3, 2, 7)))
    acc, te = rng.integers(-50, 50, 9), rng.integers(-9, 9, 9)
    plain = celif.State(*(rng.integers(0, 2, 9) for _ in range(3)))
    narrow = celif.State(*(value.astype(np.int32) for value in plain))
    found = CelifStep(9, p)(acc, te, narrow)
    for expected, value in zip(celif.step(acc, te, plain, p), found, strict=True):
        np.testing.assert_array_equal(value, expected)
