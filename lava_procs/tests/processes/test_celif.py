"""CELIF: its models against the steps, the worked cases and torch; its place in time."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from lava.magma.core.run_conditions import RunSteps
from lava.magma.core.run_configs import Loihi2SimCfg
from lava.proc.io.source import RingBuffer

from export import ModelError
from hw_tests import oracle
from hw_tests.networks.random_nets import random_network
from hw_tests.worked.celif import WORKED_CASES
from lava_procs import CELIF
from lava_procs.processes.celif.models import PyCELIFModelFixed, PyCELIFModelFloat
from lava_procs.runner.supervise import GuardedJob, supervise
from lava_procs.tests.harness import drive, loop
from training.dynamics import Params
from training.kernels import reference

STATE = ("v", "theta", "s")


@pytest.fixture(params=[False, True], ids=["one-decay", "own-decays"])
def layer(rng, request):
    return random_network(rng, (6,), 20, own_decays=request.param).layers[0]


def sums(rng, layer, steps):
    """Synaptic sums of graded inputs."""
    return layer.weight @ rng.integers(0, 16, (layer.inputs, steps))


def delayed(acc, lag=1):
    """What arrives at a layer after ``lag`` synapses."""
    return np.concatenate([np.full((len(acc), lag), 99), acc], 1)


@pytest.mark.parametrize("case", WORKED_CASES, ids=lambda case: case.name)
def test_fixed_model_equals_worked_case_and_oracle(case):
    given = dict(case.arguments)
    acc = np.array(given.pop("weight")) @ np.array(given.pop("inputs"))
    shift = given.pop("shift")
    process = CELIF(shape=(len(acc),), fraction_bits=16, weight_exp=16 - shift, **given)
    run = drive(process, PyCELIFModelFixed, delayed(acc), STATE)
    expected = oracle.celif_layer(**case.arguments)
    for name in STATE:
        found = getattr(run, name)[:, 1:].tolist()
        assert found == getattr(case, name)
        assert found == expected[name]


def test_fixed_model_equals_step_loop(layer, rng):
    acc = sums(rng, layer, 20)
    run = drive(CELIF.from_layer(layer), PyCELIFModelFixed, delayed(acc), STATE)
    expected = loop(layer, acc)
    for name in STATE:
        np.testing.assert_array_equal(getattr(run, name)[:, 1:], getattr(expected, name))
    np.testing.assert_array_equal(run.sent[:, 1:], expected.s)
    assert 0.02 < expected.s.mean() < 0.9


@pytest.mark.parametrize("dense_exp", [0, 1])
def test_float_model_equals_torch_bit_for_bit(layer, rng, dense_exp):
    acc = sums(rng, layer, 20)
    process = CELIF.from_layer(layer, dense_exp=dense_exp)
    run = drive(process, PyCELIFModelFloat, delayed(acc * 2.0**dense_exp), STATE)
    unit = 2.0**-layer.fraction_bits
    current = torch.from_numpy((acc * 2.0**-layer.weight_exp).astype(np.float32))
    current += torch.from_numpy((layer.bias * unit).astype(np.float32))[:, None]
    te = torch.from_numpy((layer.te * 2.0**-layer.te_exp).astype(np.float32))
    decays = (layer.alpha_mant, layer.beta_mant)
    alpha, beta = (torch.from_numpy(np.float32(np.atleast_1d(each) / 4096)) for each in decays)
    p = Params(alpha, beta, layer.theta0_int * unit)
    expected = reference.scan(current[None], te, p, 0.2)
    assert run.v.dtype == run.theta.dtype == np.float32
    for name in STATE:
        np.testing.assert_array_equal(getattr(run, name)[:, 1:], getattr(expected, name)[0])
    assert 0.02 < run.sent.mean() < 0.9


@pytest.mark.parametrize("lag", [0, 1, 4])
@pytest.mark.parametrize("steps", [20, 7, 1], ids="T{}".format)
def test_samples_back_to_back_equal_samples_alone(layer, rng, lag, steps):
    period = steps + 2
    samples = [sums(rng, layer, period) for _ in range(3)]
    process = CELIF.from_layer(layer, lag=lag, steps=steps, period=period)
    run = drive(process, PyCELIFModelFixed, delayed(np.hstack(samples), lag), STATE)
    fired = 0
    for i, acc in enumerate(samples):
        alone = loop(layer, acc[:, :steps])
        at = slice(lag + i * period, lag + i * period + steps)
        for name in STATE:
            np.testing.assert_array_equal(getattr(run, name)[:, at], getattr(alone, name))
        fired += alone.s.sum()
    assert fired > 0


def test_layer_is_silent_before_its_lag_and_in_the_gap(layer, rng):
    layer = replace(layer, theta0_int=-1000)
    process = CELIF.from_layer(layer, lag=3, steps=5, period=8)
    run = drive(process, PyCELIFModelFixed, sums(rng, layer, 16), STATE)
    active = np.array([(t - 4) % 8 < 5 and t >= 4 for t in range(1, 17)])
    assert run.sent[:, active].any()
    assert not run.sent[:, ~active].any()
    # Nothing moves in the gap: after steps 4..8, V stands still until step 12.
    for name in STATE:
        np.testing.assert_array_equal(getattr(run, name)[:, 8:11], getattr(run, name)[:, [7] * 3])


def test_ignore_first_discards_only_what_arrives_at_step_zero(layer, rng):
    acc = np.hstack([sums(rng, layer, 6), sums(rng, layer, 6)]) + 50
    process = CELIF.from_layer(layer, steps=6, ignore_first=True)
    run = drive(process, PyCELIFModelFixed, delayed(acc), STATE)
    acc[:, [0, 6]] = 0
    expected = np.hstack([loop(layer, acc[:, :6]).v, loop(layer, acc[:, 6:]).v])
    np.testing.assert_array_equal(run.v[:, 1:], expected)
    assert run.sent.any()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"shape": (2, 3)}, r"shape: expected \(neurons,\), got \(2, 3\)"),
        ({"shape": (5,)}, "te: expected 5 rows, one per neuron, got 6"),
        ({"alpha_mant": 4096}, r"alpha_mant: expected 0\.\.4095, got 4096"),
        ({"te": np.ones((6, 4))}, "te: expected integers, got float64"),
        ({"bias_mant": [1, 2]}, "bias_mant: expected 6 values, one per neuron, got 2"),
        ({"steps": 21}, "steps: expected at most 20, the steps of its TE table, got 21"),
        ({"steps": 0}, "steps: expected 1 or more, got 0"),
        ({"period": 19}, "period: expected at least the sample's 20 steps, got 19"),
        ({"lag": -1}, "lag: expected 0 or more, got -1"),
        ({"dense_exp": -1}, "dense_exp: expected 0 or more, got -1"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_process_refuses_bad_arguments(layer, change, message):
    given = {
        "shape": (6,),
        "te": layer.te,
        "te_exp": 8,
        "alpha_mant": 2048,
        "beta_mant": 4000,
        "theta0_int": 1000,
        "fraction_bits": 12,
        "weight_exp": 6,
    }
    with pytest.raises(ModelError, match=message):
        CELIF(**{**given, **change})


@pytest.mark.parametrize("tag", ["fixed_pt", "floating_pt"])
def test_every_var_can_be_read_after_a_run_in_lava(layer, rng, tag, tmp_path):
    acc = sums(rng, layer, 7)

    def work():
        source = RingBuffer(data=delayed(acc)[:, 1:].astype(int))
        process = CELIF.from_layer(layer, lag=0)
        source.s_out.connect(process.a_in)
        process.run(condition=RunSteps(num_steps=7), run_cfg=Loihi2SimCfg(select_tag=tag))
        found = {var.name: var.get() for var in process.vars}
        process.v.set(np.arange(6))
        return found | {"v after set": process.v.get()}

    [found] = supervise([GuardedJob(work, "Var.get", 60, str(tmp_path))])
    expected = loop(layer, acc)
    if tag == "fixed_pt":
        np.testing.assert_array_equal(found["v"], expected.v[:, -1])
    else:
        # The integers lose up to two units of 2^−F at each of the 7 steps, which then decay.
        unit = 2.0**-layer.fraction_bits
        np.testing.assert_allclose(found["v"], expected.v[:, -1] * unit, atol=14 * unit)
    np.testing.assert_array_equal(found["s"], expected.s[:, -1])
    np.testing.assert_array_equal(found["te"], layer.te)
    for name in ("alpha_mant", "beta_mant", "theta0_int", "weight_exp", "te_exp", "bias_exp"):
        np.testing.assert_array_equal(np.ravel(found[name]), np.ravel(getattr(layer, name)))
    np.testing.assert_array_equal(found["bias_mant"], layer.bias_mant)
    np.testing.assert_array_equal(found["v after set"], np.arange(6))
    assert expected.s.any()
