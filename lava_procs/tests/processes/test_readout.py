"""Readout: sums, in time with the samples, in both arithmetics."""

import numpy as np
import pytest

from export import ModelError
from hw_tests import oracle
from lava_procs import Readout
from lava_procs.processes.readout.models import PyReadoutModelFixed, PyReadoutModelFloat
from lava_procs.tests.harness import drive

MODELS = [(PyReadoutModelFixed, 0), (PyReadoutModelFloat, 1)]


@pytest.mark.parametrize(("model", "dense_exp"), MODELS, ids=["fixed", "float"])
def test_sums_equal_oracle_and_start_anew_with_each_sample(rng, model, dense_exp):
    weight, bias = rng.integers(-127, 128, (3, 4)), rng.integers(-50, 50, 3)
    spikes = rng.integers(0, 2, (2, 4, 6))
    # Four steps of the gap and of the lag carry noise, which must not count.
    noise = np.full((3, 2), 777)
    arrivals = np.hstack([noise, *(np.hstack([weight @ s, noise]) for s in spikes)])
    arrivals = arrivals.astype(model.acc.d_type) * 2**dense_exp
    process = Readout(shape=(3,), steps=6, bias=bias, lag=2, period=8, dense_exp=dense_exp)
    run = drive(process, model, arrivals, ("acc",))
    for i, sample in enumerate(spikes):
        expected = oracle.readout(weight.tolist(), sample.tolist(), bias.tolist())
        assert run.acc[:, 2 + 8 * i + 5].tolist() == expected
        assert run.sent[:, 2 + 8 * i + 5].tolist() == expected
    assert run.acc.dtype == model.acc.d_type
    assert not run.sent[:, [0, 1, 8, 9, 16, 17]].any()


def test_sums_are_32_bits_wide(rng):
    arrivals = np.full((1, 785), 152 * 127, np.int32)
    run = drive(Readout(shape=(1,), steps=784), PyReadoutModelFixed, arrivals, ("acc",))
    assert run.acc[0, -1] == 784 * 152 * 127 > 2**23


def test_ignore_first_discards_what_arrives_at_step_zero():
    process = Readout(shape=(1,), steps=3, lag=0, ignore_first=True, bias=1)
    run = drive(process, PyReadoutModelFixed, np.array([[5, 5, 5, 7, 7, 7]]), ("acc",))
    assert run.acc.tolist() == [[1, 7, 13, 1, 9, 17]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"shape": ()}, r"shape: expected \(neurons,\), got \(\)"),
        ({"bias": [1, 2]}, "bias: expected 3 values, one per neuron, got 2"),
        ({"steps": 0}, "steps: expected 1 or more, got 0"),
    ],
    ids=["shape", "bias", "steps"],
)
def test_process_refuses_bad_arguments(change, message):
    with pytest.raises(ModelError, match=message):
        Readout(**{"shape": (3,), "steps": 4, **change})
