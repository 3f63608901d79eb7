"""The twin against the oracle, which shares no code with it, and against itself."""

from __future__ import annotations

from dataclasses import replace

import numba
import numpy as np
import pytest
import torch

from export import Trace, simulate, write_netx
from export.loihi2 import STATE_MAX
from export.model.network import CelifLayer, CubaLayer, Encoding, FixedNetwork
from export.steps.cuba import CubaParams
from export.twin import simulate as twin
from export.twin import slayer_scans
from export.twin.scans import run_layer, synaptic_sums
from hw_tests import oracle
from hw_tests.networks.random_nets import random_network
from hw_tests.worked.celif import WORKED_CASES
from hw_tests.worked.cuba import WORKED_CUBA_CASES

NAMES = {"spikes": "s", "v": "v", "theta": "theta"}


def oracle_sample(net: FixedNetwork, x: np.ndarray) -> tuple[list[dict], list[int]]:
    """Traces of every layer, and the logits, of one sample (channel, time)."""
    inputs, traces = x.tolist(), []
    for layer in net.layers:
        if isinstance(layer, CelifLayer):
            p = layer.params
            registers = {
                "te": layer.te.tolist(), "alpha_mant": p.alpha_mant, "beta_mant": p.beta_mant,
                "theta0_int": p.theta0_int, "te_exp": p.te_exp, "shift": p.shift,
                "bias_mant": layer.bias_mant.tolist(), "bias_exp": layer.bias_exp,
            }  # fmt: skip
            trace = oracle.celif_layer(layer.weight.tolist(), inputs, **registers)
        else:
            trace = oracle.cuba_layer(
                layer.weight.tolist(), inputs, du=layer.du, dv=layer.dv, vth=layer.vth,
                bias_mant=layer.bias_mant.tolist(), bias_exp=6,
            )  # fmt: skip
        traces.append(trace)
        inputs = [[0, *s[:-1]] if layer.delay_shift else s for s in trace["s"]]
    if net.readout is None:
        return traces, [sum(s) for s in inputs]
    return traces, oracle.readout(net.readout.weight.tolist(), inputs, net.readout.bias.tolist())


def assert_equals_oracle(trace: Trace, net: FixedNetwork, x: np.ndarray) -> None:
    for b, sample in enumerate(net.encode(x)):
        traces, logits = oracle_sample(net, sample)
        assert trace.logits[b].tolist() == logits
        for i, expected in enumerate(traces):
            for name, key in NAMES.items():
                if key in expected:
                    found = getattr(trace, name)[i][b]
                    np.testing.assert_array_equal(found, expected[key], f"layer {i} {name}")


# widths, steps, options of random_network, changes of its encoding
CASES = {
    "one-of-all": ((1,), 1, {"channels": 1}, {}),
    "deep": ((5, 9, 4), 30, {}, {}),
    "shifted": ((6, 5, 4), 25, {"delay_shift": True}, {}),
    "saturating": ((7, 5), 25, {"saturating": True}, {}),
    "signed": ((7, 5), 25, {"bits": 6}, {"signed": True}),
    "twelve-bit-inputs": ((7,), 25, {"bits": 12, "fraction_bits": 16}, {"signed": True}),
    "sixteen-bit-te": ((7, 5), 25, {"te_bits": 16}, {}),
    "spiking-input": ((7, 5), 25, {"bits": 1, "channels": 6}, {}),
}


def build(rng: np.random.Generator, name: str) -> tuple[FixedNetwork, np.ndarray]:
    """A network of that case, drawn until it does what the case is about, and three samples."""
    widths, steps, options, encoding = CASES[name]
    for _ in range(200):
        net = random_network(rng, widths, steps, **options)
        net = replace(net, encoding=replace(net.encoding, **encoding))
        low, high = net.encoding.range
        x = rng.integers(low, high + 1, (3, net.encoding.channels, steps))
        trace = simulate(net, x, trace=True)
        fires = all(0.02 <= spikes.mean() <= 0.9 for spikes in trace.spikes)
        if all(trace.saturations) if name == "saturating" else fires and not any(trace.saturations):
            return net, x
    raise AssertionError(f"{name}: no draw fires")


@pytest.mark.parametrize("case", CASES)
def test_twin_equals_the_oracle(rng, case):
    net, x = build(rng, case)
    trace = simulate(net, x, trace=True)
    assert_equals_oracle(trace, net, x)


def cuba_network(rng: np.random.Generator, steps: int, shifted: bool) -> FixedNetwork:
    """CUBA → CELIF → CUBA, without a readout."""
    celif = random_network(rng, (6,), steps, channels=8).layers[0]

    def cuba(name: str, neurons: int, inputs: int, lag: int, du: int) -> CubaLayer:
        weight = rng.integers(-110, 110, (neurons, inputs)) * 2
        bias = rng.integers(-40, 40, neurons)
        return CubaLayer(
            name=name, weight=weight, lag=lag, delay_shift=shifted, du=du, dv=900, vth=300,
            bias_mant=bias,
        )  # fmt: skip

    lags = (1, 1, 1) if shifted else (1, 2, 3)
    layers = (
        cuba("layer 0", 8, 5, lags[0], 2000),
        replace(celif, name="layer 1", lag=lags[1], delay_shift=shifted, weight_exp=8),
        cuba("layer 2", 4, 6, lags[2], 3000),
    )
    return FixedNetwork(layers, None, steps, int(shifted), Encoding(5, 1.0, 1, False), {})


@pytest.mark.parametrize("shifted", [False, True], ids=["unshifted", "shifted"])
def test_twin_equals_the_oracle_with_cuba_layers(rng, shifted):
    net = cuba_network(rng, 25, shifted)
    x = rng.integers(0, 2, (3, 5, 25))
    trace = simulate(net, x, trace=True)
    assert_equals_oracle(trace, net, x)
    rates = [float(spikes.mean()) for spikes in trace.spikes]
    assert all(0.02 < rate < 0.9 for rate in rates), rates
    assert trace.theta[0] is None
    assert trace.theta[1] is not None


@pytest.mark.parametrize("case", WORKED_CASES, ids=lambda case: case.name)
def test_twin_reproduces_the_worked_celif_neurons(case):
    a = case.arguments
    neurons = len(a["weight"])
    layer = CelifLayer(
        name="layer 0",
        weight=np.zeros((neurons, 1), int),  # some worked weights are −128, which files cannot hold
        lag=1,
        delay_shift=False,
        te=np.array(a["te"]),
        te_exp=a["te_exp"],
        te_bits=16,
        weight_exp=0,
        weight_bits=8,
        fraction_bits=a["shift"],
        alpha_mant=a["alpha_mant"],
        beta_mant=a["beta_mant"],
        theta0_int=a["theta0_int"],
        bias_mant=np.array(a["bias_mant"]),
        bias_exp=a["bias_exp"],
    )
    acc = (np.array(a["weight"]) @ np.array(a["inputs"])).T[None].astype(np.float64)
    run = run_layer(layer, acc, keep=True)
    assert run.v[0].T.tolist() == case.v
    assert run.theta[0].T.tolist() == case.theta
    assert run.spikes[0].T.tolist() == case.s
    ends = sum(abs(x) == STATE_MAX for rows in (*case.v, *case.theta) for x in rows)
    assert run.saturated == ends


@pytest.mark.parametrize("case", WORKED_CUBA_CASES, ids=lambda case: case.name)
def test_twin_reproduces_the_worked_cuba_neurons(case):
    a = case.arguments
    acc = (np.array(a["weight"]) @ np.array(a["inputs"])).T[None].astype(np.float64)
    # The compiled scan itself: a layer's bias exponent is always 6, the worked ones are smaller.
    bias = np.array(a["bias_mant"]) << a["bias_exp"]
    spikes, v = np.empty(acc.shape, np.float32), np.empty(acc.shape, np.int32)
    p = CubaParams(a["du"], a["dv"], a["vth"], np.int64(0))
    none = np.zeros((0, 0), np.int64)
    slayer_scans._scan_cuba(acc, none, 0, p, bias, True, spikes, v, np.zeros(1, np.int64))
    assert v[0].T.tolist() == case.v
    assert spikes[0].T.tolist() == case.s


def assert_same(a: Trace, b: Trace) -> None:
    np.testing.assert_array_equal(a.logits, b.logits)
    assert a.saturations == b.saturations
    for name in NAMES:
        for one, two in zip(getattr(a, name), getattr(b, name), strict=True):
            np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("case", ["deep", "shifted", "saturating"])
def test_size_of_a_chunk_does_not_matter(rng, monkeypatch, case):
    net, x = build(rng, case)
    x = np.concatenate([x, x[::-1], x])[:7]
    whole = simulate(net, x, trace=True)
    for samples in (1, 3):
        widest = max(layer.neurons for layer in net.all_layers)
        monkeypatch.setattr(twin, "_CHUNK_BYTES", 8 * x.shape[2] * widest * samples)
        assert_same(simulate(net, x, trace=True), whole)


@pytest.mark.parametrize("case", ["deep", "shifted", "saturating"])
def test_samples_together_equal_samples_alone(rng, case):
    net, x = build(rng, case)
    together = simulate(net, x, trace=True)
    alone = [simulate(net, x[b : b + 1], trace=True) for b in range(3)]
    assert any(not np.array_equal(a, b) for a, b in zip(alone[0].v, alone[1].v, strict=True))
    np.testing.assert_array_equal(together.logits, np.concatenate([a.logits for a in alone]))
    assert together.saturations == np.sum([a.saturations for a in alone], axis=0).tolist()
    for name in NAMES:
        for i, states in enumerate(getattr(together, name)):
            expected = np.concatenate([getattr(a, name)[i] for a in alone])
            np.testing.assert_array_equal(states, expected)


def test_shorter_sample_uses_the_first_steps(rng):
    net, x = build(rng, "deep")
    whole, short = simulate(net, x, trace=True), simulate(net, x[..., :17], trace=True)
    for a, b in zip(whole.spikes, short.spikes, strict=True):
        np.testing.assert_array_equal(a[..., :17], b)
    assert_equals_oracle(short, net, x[..., :17])


def test_result_does_not_depend_on_the_number_of_threads(rng):
    if numba.config.NUMBA_NUM_THREADS < 2:
        pytest.skip("needs two threads; this machine has one")
    net, x = build(rng, "deep")
    before, traces = numba.get_num_threads(), []
    try:
        for threads in (1, 2):
            numba.set_num_threads(threads)
            traces.append(simulate(net, x, trace=True))
    finally:
        numba.set_num_threads(before)
    assert_same(*traces)


def test_floats_are_encoded(rng):
    net, x = build(rng, "deep")
    floats = x * net.encoding.scale
    np.testing.assert_array_equal(simulate(net, floats).logits, simulate(net, x).logits)


def test_states_are_returned_on_request_only(rng):
    net, x = build(rng, "deep")
    plain, full = simulate(net, x), simulate(net, x, trace=True)
    assert (plain.spikes, plain.v, plain.theta) == (None, None, None)
    assert plain.saturations == full.saturations
    np.testing.assert_array_equal(plain.logits, full.logits)
    np.testing.assert_array_equal(plain.predictions, plain.logits.argmax(1))
    assert full.spikes[1].shape == (3, 9, 30)
    dtypes = {full.spikes[0].dtype, full.v[0].dtype, full.theta[0].dtype}
    assert dtypes == {np.dtype(np.int8), np.dtype(np.int32)}


def test_saturations_count_registers_at_their_end(rng):
    net, x = build(rng, "saturating")
    trace = simulate(net, x, trace=True)
    for count, v, theta in zip(trace.saturations, trace.v, trace.theta, strict=True):
        assert count == (np.abs(v) == STATE_MAX).sum() + (np.abs(theta) == STATE_MAX).sum() > 0


@pytest.mark.parametrize("largest", [1, 255, 65535], ids="up-to-{}".format)
def test_synaptic_sums_are_exact(rng, largest):
    layer = random_network(rng, (9,), 5, channels=700).layers[0]
    layer = replace(layer, weight=np.abs(layer.weight) | 1)
    x = np.full((2, 5, 700), largest) - rng.integers(0, 2, (2, 5, 700))
    sums = synaptic_sums(layer, x.astype(np.float32), largest)
    np.testing.assert_array_equal(sums, x @ layer.weight.T)
    assert sums.dtype == (np.float32 if largest < 65535 else np.float64)


def test_synaptic_sums_distrust_a_float32_that_is_not_one(rng, monkeypatch):
    layer = random_network(rng, (3,), 5, channels=4).layers[0]
    monkeypatch.setattr(torch, "get_float32_matmul_precision", lambda: "medium")
    assert synaptic_sums(layer, np.ones((1, 5, 4)), 1).dtype == np.float64


def test_network_may_be_a_file(rng, tmp_path):
    net, x = random_network(rng, (3,), 5), rng.integers(0, 16, (4, 2, 5))
    write_netx(net, tmp_path / "net.net")
    expected = simulate(net, x).logits
    assert expected.any()
    for path in (tmp_path / "net.net", str(tmp_path / "net.net")):
        np.testing.assert_array_equal(simulate(path, x).logits, expected)


def test_other_networks_are_refused_by_type(rng):
    with pytest.raises(TypeError, match=r"net: expected .* got Linear; export .* with to_netx"):
        simulate(torch.nn.Linear(2, 3), rng.integers(0, 16, (4, 2, 5)))


def test_other_layers_are_refused_by_name(rng):
    net = random_network(rng, (3,), 5)
    with pytest.raises(TypeError, match="layer 1: expected a layer that fires, got ReadoutLayer"):
        run_layer(net.readout, np.zeros((1, 5, 3)), keep=False)
