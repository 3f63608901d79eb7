"""run: the same Trace as the twin and torch, whatever the network and the samples."""

import itertools
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from export import FixedNetwork, ModelError, NetxError, Trace, simulate, write_netx
from export.model.network import CubaLayer, Encoding
from hw_tests.backends import run_torch
from hw_tests.networks.random_nets import random_network
from hw_tests.trace_difference import assert_same_trace, firing_rates
from lava_procs import run, run_stream

pytestmark = pytest.mark.usefixtures("leaves_nothing")


def cuba(rng, name, neurons, inputs, lag, delay_shift):
    return CubaLayer(
        name=name,
        weight=2 * rng.integers(-127, 128, (neurons, inputs)),
        lag=lag,
        delay_shift=delay_shift,
        du=1023,
        dv=400,
        vth=300,
        bias_mant=rng.integers(-50, 200, neurons),
    )


def assert_alive(trace: Trace) -> None:
    assert all(0.02 <= rate <= 0.9 for rate in firing_rates(trace)), firing_rates(trace)


@pytest.mark.parametrize("runtime", ["inline", "lava"])
def test_fixed_run_equals_twin(rng, tmp_path, runtime):
    net = random_network(rng, (9, 7, 5), 16)
    write_netx(net, tmp_path / "net.net")
    x = rng.integers(0, 16, (3, 2, 16))
    expected = simulate(net, x, trace=True)
    found = run(tmp_path / "net.net", x, runtime=runtime)
    assert_same_trace(expected, found)
    assert_alive(expected)
    assert found.logits.dtype == np.int64
    assert found.spikes[0].dtype == np.int8


def test_wide_layer_runs_after_torch_has_used_its_threads(rng):
    """The worker, a fork without these threads, checks sums of 3,000 inputs by a product."""
    net = random_network(rng, (3000, 24), 6)
    x = rng.integers(0, 16, (1, 2, 6))
    torch.mm(torch.rand(600, 600), torch.rand(600, 600))
    assert_same_trace(simulate(net, x, trace=True), run(net, x, heartbeat=30, runtime="lava"))


@pytest.mark.parametrize("runtime", ["inline", "lava"])
def test_float_run_equals_torch_bit_for_bit(rng, runtime):
    net = random_network(rng, (9, 7, 5), 16)
    x = rng.integers(0, 16, (2, 2, 16))
    expected = run_torch(net, x)
    found = run(net, x, "float", runtime=runtime)
    assert_same_trace(expected, found)
    assert_alive(expected)
    assert found.logits.dtype == np.float64
    assert found.v[0].dtype == np.float32


def test_samples_back_to_back_equal_samples_alone(rng):
    net = random_network(rng, (6, 5), 8)
    x = rng.random((3, 2, 8))
    together = run(net, x)
    for i in range(3):
        alone = run(net, x[i : i + 1])
        np.testing.assert_array_equal(together.logits[i : i + 1], alone.logits)
        for name in ("spikes", "v", "theta"):
            pairs = zip(getattr(together, name), getattr(alone, name), strict=True)
            for ours, theirs in pairs:
                np.testing.assert_array_equal(ours[i : i + 1], theirs)
    assert_alive(together)


@pytest.mark.parametrize("precision", ["fixed", "float"])
def test_shifted_blocks_and_short_samples_equal_the_other_side(rng, precision):
    net = random_network(rng, (6, 5, 4), 20, delay_shift=True)
    x = rng.integers(0, 16, (3, 2, 13))
    expected = simulate(net, x, trace=True) if precision == "fixed" else run_torch(net, x)
    assert_same_trace(expected, run(net, x, precision))
    assert_alive(expected)


@pytest.mark.parametrize("shift", [False, True], ids=["plain", "shifted"])
def test_cuba_layers_among_ours_equal_twin(rng, shift):
    ours = random_network(rng, (5, 6), 16, channels=6, delay_shift=shift)
    lag = 1 - shift
    layers = (
        cuba(rng, "layer 0", 6, 2, 1, shift),
        replace(ours.layers[0], name="layer 1", lag=1 + lag),
        cuba(rng, "layer 2", 4, 5, 1 + 2 * lag, shift),
    )
    net = FixedNetwork(layers, None, 16, int(shift), Encoding(2, 1 / 15, 4, signed=True), {})
    x = rng.integers(-15, 16, (3, 2, 16))
    expected = simulate(net, x, trace=True)
    found = run(net, x)
    assert_same_trace(expected, found)
    assert_alive(expected)
    assert found.v[0] is not None, "V of CUBA neurons is compared, too"
    assert found.theta[2] is None


def test_weights_of_one_sign_and_single_neurons_are_exact(rng):
    net = random_network(rng, (1, 4, 4, 4, 1), 16, channels=1, classes=1)
    values = (127, -rng.integers(1, 128, (4, 1)), 0, rng.integers(0, 128, (4, 4)), -127)
    # Against weights of one sign, a bias keeps each layer between silence and firing at every step.
    biases = (-2000, 1500, 600, -3000, 1500)
    layers = tuple(
        replace(
            layer,
            weight=np.broadcast_to(value, layer.weight.shape).copy(),
            bias_mant=np.full(layer.neurons, bias),
        )
        for layer, value, bias in zip(net.layers, values, biases, strict=True)
    )
    net = replace(net, layers=layers)
    x = rng.integers(0, 16, (2, 1, 16))
    expected = simulate(net, x, trace=True)
    assert_same_trace(expected, run(net, x))
    assert_alive(expected)


def test_one_step_samples_of_plain_spikes_equal_twin(rng):
    net = random_network(rng, (5,), 1, bits=1)
    x = rng.integers(0, 2, (6, 2, 1))
    expected = simulate(net, x, trace=True)
    assert_same_trace(expected, run(net, x))
    assert_alive(expected)


@pytest.mark.parametrize("shift", [False, True], ids=["plain", "shifted"])
def test_logits_without_readout_are_spike_counts_with_or_without_trace(rng, shift):
    net = replace(random_network(rng, (6, 4), 10, delay_shift=shift), readout=None)
    x = rng.integers(0, 16, (2, 2, 10))
    found = run(net, x, trace=False)
    np.testing.assert_array_equal(found.logits, simulate(net, x).logits)
    assert found.spikes is None
    assert found.logits.any()


@pytest.mark.parametrize("runtime", ["inline", "lava"])
def test_networks_side_by_side_equal_one(rng, runtime):
    net = random_network(rng, (6, 5), 9)
    x = rng.integers(0, 16, (5, 2, 9))
    expected = simulate(net, x, trace=True)
    calls = []
    found = run(net, x, workers=2, progress=lambda *call: calls.append(call), runtime=runtime)
    assert_same_trace(expected, found)
    assert_alive(expected)
    # Each network has its own samples, and lets the last one through all layers.
    assert calls[-1] == (5 * 9 + 2 * 3,) * 2


def test_stream_yields_each_sample_as_run_does_and_takes_no_more_than_it_must(rng):
    net = random_network(rng, (6, 5), 9)
    samples = [rng.integers(0, 16, (2, steps)) for steps in (9, 9, 9, 5, 5, 9)]
    taken = []

    def stream():
        for i, sample in enumerate(samples):
            taken.append(i)
            yield sample

    traces = run_stream(net, stream(), chunk=2, workers=2)
    assert taken == []
    for i, trace in enumerate(traces):
        expected = simulate(net, samples[i][None], trace=True)
        assert_same_trace(expected, trace)
        assert any(spikes.any() for spikes in trace.spikes)
        # On disk, what two networks write and no more.
        folders = [f for f in Path(tempfile.gettempdir()).glob("celif-*/*") if f.is_dir()]
        assert len(folders) <= 2
        # Two networks of two, and the sample that shows where the second one's shape ends.
        assert len(taken) <= (i // 2) * 2 + 5
    assert taken == list(range(6))


def test_stream_in_one_process_yields_each_sample_as_run_does(rng):
    net = random_network(rng, (6, 5), 9)
    samples = [rng.integers(0, 16, (2, steps)) for steps in (9, 9, 9, 5)]
    traces = list(run_stream(net, samples, chunk=2))
    assert len(traces) == 4
    for sample, trace in zip(samples, traces, strict=True):
        assert_same_trace(simulate(net, sample[None], trace=True), trace)
        assert any(spikes.any() for spikes in trace.spikes)


def test_stream_left_early_and_wrong_samples_leave_nothing(rng):
    net = random_network(rng, (4,), 6)
    endless = (rng.integers(0, 16, (2, 6)) for _ in itertools.count())
    traces = run_stream(net, endless, chunk=1, workers=2, trace=False)
    assert next(traces).logits.shape == (1, 3)
    traces.close()
    with pytest.raises(ModelError, match=r"sample 0: expected \(channel, time\), got shape"):
        list(run_stream(net, rng.integers(0, 16, (1, 3, 2, 6))))


@pytest.mark.parametrize(
    ("options", "seen"),
    [
        ({"probe": ("s",)}, {"spikes": [0, 1]}),
        ({"probe": ("v", "theta"), "layers": [1]}, {"v": [1], "theta": [1]}),
        ({"trace": False}, {}),
    ],
    ids=["spikes", "states of one layer", "nothing"],
)
def test_only_what_was_asked_for_is_seen(rng, options, seen):
    net = replace(random_network(rng, (6, 5), 9), readout=None)
    x = rng.integers(0, 16, (2, 2, 9))
    expected = simulate(net, x, trace=True)
    found = run(net, x, **options)
    np.testing.assert_array_equal(found.logits, expected.logits)
    assert found.logits.any()
    for name in ("spikes", "v", "theta"):
        values = getattr(found, name)
        assert (values is not None) == (name in seen)
        for i, value in enumerate(values or ()):
            assert (value is not None) == (i in seen[name])
            if value is not None:
                np.testing.assert_array_equal(value, getattr(expected, name)[i])


@pytest.mark.parametrize("runtime", ["inline", "lava"])
def test_progress_reaches_the_end(rng, runtime):
    net = random_network(rng, (4,), 30)
    calls = []

    def progress(*call):
        calls.append(call)

    run(net, rng.integers(0, 16, (4, 2, 30)), progress=progress, runtime=runtime)
    done = [call[0] for call in calls]
    assert done == sorted(done)
    assert all(0 <= steps <= 122 for steps in done)
    assert calls[-1] == (4 * 30 + 2, 4 * 30 + 2)


def test_bad_arguments_are_refused_before_anything_starts(rng, tmp_path):
    net = random_network(rng, (4,), 5)
    x = rng.integers(0, 16, (1, 2, 5))
    with pytest.raises(ValueError, match="precision: expected 'fixed' or 'float', got 'double'"):
        run(net, x, "double")
    with pytest.raises(ValueError, match=r"probe: expected some of v, theta, s, got \['u'\]"):
        run(net, x, probe=["u"])
    with pytest.raises(ValueError, match=r"layers: expected some of 0\.\.0, got \[1\]"):
        run(net, x, layers=[0, 1])
    with pytest.raises(ValueError, match="runtime: expected 'inline' or 'lava', got 'other'"):
        run(net, x, runtime="other")
    with pytest.raises(ValueError, match="workers: expected 1 or more, or None"):
        run(net, x, workers=0)
    with pytest.raises(ValueError, match="chunk: expected 1 or more, got 0"):
        run_stream(net, x, chunk=0)
    with pytest.raises(ModelError, match=r"with 1\.\.5 time steps"):
        run(net, np.zeros((1, 2, 6), int))
    with pytest.raises(NetxError, match="no such file"):
        run(tmp_path / "none.net", x)


@pytest.mark.parametrize("seconds", [float("nan"), 0, -1])
@pytest.mark.parametrize("name", ["timeout", "heartbeat"])
@pytest.mark.parametrize("runtime", ["inline", "lava"])
def test_time_that_never_comes_is_refused(rng, name, seconds, runtime):
    net = random_network(rng, (3,), 4)
    x = rng.integers(0, 16, (1, 2, 4))
    with pytest.raises(ValueError, match=f"{name}: expected seconds, more than 0, or None, got"):
        run(net, x, runtime=runtime, **{name: seconds})
