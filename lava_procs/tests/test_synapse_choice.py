"""Which synapses a layer gets, and that ours give the twin's sums."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from lava.proc.conv.process import Conv
from lava.proc.dense.process import DelayDense, Dense
from lava.proc.sparse.process import DelaySparse, Sparse

from hw_tests.networks.random_stacks import LayerSpec, random_stack
from lava_procs.processes.shifted_dense.models import (
    PyShiftedDenseModelFixed,
    PyShiftedDenseModelFloat,
)
from lava_procs.processes.shifted_dense.process import ShiftedDense
from lava_procs.synapse_choice import input_synapse, own_synapse
from lava_procs.tests.harness import drive

IMAGE = {"shape": (2, 3, 4)}
CASES = {
    "dense": (LayerSpec(4), {}, {}, Dense),
    "sparse": (LayerSpec(4), {}, {"sparse": True}, Sparse),
    "kernels": (LayerSpec(4, kernel=(2, 2)), IMAGE, {}, Conv),
    "wide-sums": (LayerSpec(4, kernel=(2, 2)), IMAGE | {"bits": 16}, {}, Sparse),
    "one-to-one": (LayerSpec(2, kernel=(1, 1), options={"groups": 2}), IMAGE, {}, Sparse),
    "late": (LayerSpec(4), {}, {"delay": np.array([0, 3])}, DelayDense),
    "late-images": (LayerSpec(4, kernel=(2, 2)), IMAGE, {"delay": np.arange(24) % 4}, DelaySparse),
    "late-and-shifted": (LayerSpec(4), {"bits": 16}, {"delay": np.array([0, 3])}, ShiftedDense),
}


@pytest.mark.parametrize(("part", "options", "given", "kind"), CASES.values(), ids=CASES.keys())
def test_stock_synapses_serve_where_they_are_exact(rng, part, options, given, kind):
    net = random_stack(rng, [part], 5, **options)
    input_max = max(map(abs, net.encoding.range))
    arguments = {"delay": None, "sparse": False, "message_bits": net.encoding.bits} | given
    found = input_synapse(net.layers[0], input_max, **arguments)
    assert type(found.process) is kind


@pytest.mark.parametrize(
    ("bits", "kind"), [(1, Dense), (8, ShiftedDense)], ids=["spikes", "graded"]
)
def test_own_spikes_beside_graded_inputs_need_synapses_of_ours(rng, bits, kind):
    net = random_stack(rng, [LayerSpec(4, recurrent=True)], 5, bits=bits)
    assert type(own_synapse(net.layers[0], sparse=False)) is kind
    on_chip = own_synapse(net.layers[0], sparse=False, fixed_only=True)
    assert type(on_chip) is Dense
    # Weights are twice their mantissas.
    assert on_chip.proc_params["weight_exp"] == net.layers[0].recurrent_shift - 1


def sums(process, model, arrivals):
    """What the synapses send for ``arrivals`` (input, step), one step later."""
    return drive(process, model, arrivals, (), ("s_in", "a_out")).sent


@pytest.mark.parametrize("exp", [-3, 0, 4])
@pytest.mark.parametrize("bits", [0, 5], ids=["spikes", "graded"])
def test_synapses_delay_sum_and_shift(rng, exp, bits):
    weight, delays = rng.integers(-127, 128, (4, 3)), np.array([0, 5, 2])
    arrivals = rng.integers(0, 32, (3, 20))
    options = {"weights": weight, "exp": exp, "delays": delays, "num_message_bits": bits}
    fixed = sums(ShiftedDense(dense_exp=0, **options), PyShiftedDenseModelFixed, arrivals)
    values = arrivals if bits else arrivals > 0
    late = [np.roll(row, d) * (np.arange(20) >= d) for row, d in zip(values, delays, strict=True)]
    whole = weight @ np.array(late, int)
    expected = whole << exp if exp > 0 else whole >> -exp
    np.testing.assert_array_equal(fixed[:, 1:], expected[:, :-1])
    assert not fixed[:, 0].any()
    floating = sums(ShiftedDense(dense_exp=6, **options), PyShiftedDenseModelFloat, arrivals)
    np.testing.assert_array_equal(floating[:, 1:], whole[:, :-1] * 2.0 ** (exp + 6))


def test_shifted_sums_of_late_inputs_are_rounded_once(rng):
    """Lava's DelayDense would round those of each delay apart."""
    net = random_stack(rng, [LayerSpec(3, delay=3), LayerSpec(4)], 6)
    coarse = replace(net.layers[1], fraction_bits=3, theta0_int=2, bias_exp=0)
    assert coarse.sum_right_shift > 0
    synapse = input_synapse(coarse, 1, 0, net.layers[0].delay, False)
    assert isinstance(synapse.process, ShiftedDense)
    arrivals = rng.integers(0, 2, (3, 12))
    found = sums(synapse.process, PyShiftedDenseModelFixed, arrivals)
    late = np.array(
        [
            np.roll(row, d) * (np.arange(12) >= d)
            for row, d in zip(arrivals, net.layers[0].delay, strict=True)
        ]
    )
    np.testing.assert_array_equal(
        found[:, 1:], (coarse.weight @ late >> coarse.sum_right_shift)[:, :-1]
    )
