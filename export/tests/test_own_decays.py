"""Decays that differ between neurons: rounded, written, read, trained and placed as they are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch
from torch.nn import functional as F

from export import ModelError, NetxError, quantize, read_netx, simulate, to_netx, write_netx
from export.convert.round import decay_mantissas
from export.fit import microcode, programs, published
from export.fit.demand import demand
from export.loihi2 import DECAY_BITS
from export.netx import integrity
from export.steps import celif
from hw_tests.networks.random_nets import random_network
from hw_tests.networks.random_stacks import LayerSpec, random_stack
from hw_tests.oracle.backend import run_oracle
from hw_tests.trace_difference import assert_same_trace
from training import Network


@pytest.fixture
def x():
    return (torch.rand(12, 2, 20, generator=torch.Generator().manual_seed(3)) < 0.5).float()


def network(**options) -> Network:
    torch.manual_seed(1)
    net = Network(2, (9, 7), 3, 20, width=0.5, **options)
    with torch.no_grad():
        for layer in net.layers:
            layer.weight.mul_(3)
        for p in net.decays.parameters():
            p.add_(torch.linspace(-1.5, 0.5, p.numel()))
    return net


LEARNT = {"learn_alpha": True, "learn_beta": True}


def test_decays_are_rounded_to_12_bits_and_told_with_their_largest_error(x, tmp_path):
    alpha = np.linspace(0.1, 0.9, 9)
    net = network(alpha=[alpha, 0.25], beta=[0.99, np.full(7, 0.5)])
    report = to_netx(net, tmp_path / "net.net", calibration=x)
    first, second = read_netx(tmp_path / "net.net").layers
    assert first.alpha_mant.tolist() == np.rint(alpha * 4096).astype(int).tolist()
    # What all neurons of a layer have is one number, even if each was given its own.
    assert (first.beta_mant, second.alpha_mant, second.beta_mant) == (4055, 1024, 2048)
    errors = np.abs(np.rint(alpha * 4096) / 4096 - alpha)
    # The network keeps its decays in float32.
    assert report.layers[0].alpha_error == pytest.approx(errors.max(), abs=1e-7)
    assert report.layers[1].alpha_error == 0


@pytest.mark.parametrize("value", [1.0, 0.99995, -0.1, float("nan")])
def test_decay_that_12_bits_cannot_hold_is_refused_by_name(value):
    with pytest.raises(ModelError, match=r"layer 1 beta: expected 0 up to 0\.99988, got .*among"):
        decay_mantissas("layer 1", "beta", np.array([0.5, value]))
    assert decay_mantissas("layer 1", "beta", np.array([0.5, 0.99987])).tolist() == [2048, 4095]


def test_file_of_an_earlier_version_has_one_decay(tmp_path: Path):
    net = random_network(np.random.default_rng(0), (5,), 6, own_decays=True)
    write_netx(net, tmp_path / "net.net")
    assert np.ndim(read_netx(tmp_path / "net.net").layers[0].alpha_mant) == 1
    with h5py.File(tmp_path / "net.net", "a") as f:
        assert f["layer/0/neuron/alphaMant"].dtype == np.int16
        f["celif/version"][()] = 2
        integrity.sign(f)
    with pytest.raises(NetxError, match=r"alphaMant: expected one value, found shape \(5,\)"):
        read_netx(tmp_path / "net.net")


@pytest.mark.parametrize("learnt", ["learn_alpha", "learn_beta", "both"])
@pytest.mark.parametrize("recurrent", [False, True], ids=["feedforward", "recurrent"])
def test_learnt_decays_are_trained_through_their_rounding(x, tmp_path, learnt, recurrent):
    options = LEARNT if learnt == "both" else {learnt: True}
    net = network(recurrent=recurrent, **options)
    aware = quantize(net, x)
    before = aware.fixed()
    optimizer = torch.optim.Adam(aware.parameters(), lr=0.05)
    F.cross_entropy(aware(x), torch.arange(12) % 3).backward()
    assert all(p.grad.any() for p in aware.net.decays.parameters())
    optimizer.step()
    fixed = aware.fixed()
    for name in options:
        field = f"{name.removeprefix('learn_')}_mant"
        for i in range(2):
            now, then = (getattr(each.layers[i], field) for each in (fixed, before))
            assert np.abs(now - then).max() >= 5, "in units of 1/4096"
    expected = simulate(fixed, x.numpy(), trace=True)
    assert all(spikes.any() for spikes in expected.spikes)
    assert_same_trace(expected, aware.trace(x))
    assert_same_trace(run_oracle(fixed, x[:1].numpy()), aware.trace(x[:1]))
    to_netx(aware, tmp_path / "q.net")
    assert_same_trace(expected, simulate(read_netx(tmp_path / "q.net"), x.numpy(), trace=True))


def test_gradients_of_decays_are_those_of_the_float_network(x):
    """With all bits there are, the states of both agree to 2^-12; so do the gradients."""
    net = network(**LEARNT)
    aware = quantize(net, x, weight_bits=8, te_bits=16)
    with torch.no_grad():  # the float network of the integers
        for layer, form in zip(net.layers, aware.fixed().layers, strict=True):
            layer.weight.copy_(torch.from_numpy(form.weight * 2.0**-form.weight_exp))
    aware.net.load_state_dict(net.state_dict())
    weights = torch.linspace(-1, 1, 36).reshape(12, 3)
    for each in (net, aware):
        (each(x) * weights).sum().backward()
    trace = simulate(aware.fixed(), x.numpy(), trace=True)
    states = net.hidden_states(x)
    for i, state in enumerate(states):
        assert (state.spikes.detach().numpy() != trace.spikes[i]).mean() < 0.01
    for name, p in net.decays.named_parameters():
        found = dict(aware.net.decays.named_parameters())[name].grad
        assert p.grad.abs().max() > 1e-4
        torch.testing.assert_close(found, p.grad, rtol=0.05, atol=0.05 * p.grad.abs().max().item())


def test_neuron_with_own_decays_keeps_and_loads_them():
    rng = np.random.default_rng(2)
    layer = random_network(rng, (4,), 8).layers[0]
    own = replace(layer, alpha_mant=np.array([0, 1, 2, 4095]))
    assert own.state_bits == layer.state_bits + DECAY_BITS
    both = replace(own, beta_mant=np.array([4095, 9, 8, 7]))
    assert demand(both).state_bits == layer.state_bits + 2 * DECAY_BITS
    program = programs.program_of(both)
    assert len(program) == len(programs.program_of(layer)) + 2
    n, k, acc = 3, 5, 40
    state = celif.State(np.array([900] * 4), np.array([-700] * 4), np.array([0] * 4))
    expected = both.advance(np.full(4, acc), k, state)
    memory = {"theta": 900, "v": -700, "s": 0, "bias_mant": int(both.bias_mant[n])}
    memory |= {"alpha_mant": 4095, "beta_mant": 7}
    constants = {
        "theta0_int": both.theta0_int, "te_exp": both.te_exp, "te_mask": (1 << both.te_exp) - 1,
        "shift": int(both.shift[n]), "bias_exp": both.bias_exp, "acc": acc, "column": k,
        "minus_theta0": -both.theta0_int,
    }  # fmt: skip
    arrays = {"te_row": both.te[n].tolist()}
    again = dict(memory)
    microcode.execute(program, memory, constants, arrays)
    published.execute(published.celif_step("table", (), both.own_decays), again, constants, arrays)
    wanted = tuple(int(value[n]) for value in expected)
    assert (memory["theta"], memory["v"], memory["s"]) == wanted
    assert (again["theta"], again["v"], again["s"]) == wanted


@pytest.mark.parametrize("neuron", ["CELIF", "LIF", "ALIF"])
def test_rows_of_a_layer_are_layers_with_their_decays(neuron):
    """Each neuron computes what it does in a layer where all have its decays."""
    rng = np.random.default_rng(4)
    net = random_stack(rng, [LayerSpec(6, neuron, own_decays=True)], 30, shape=(3, 1, 1), bits=3)
    layer = net.layers[0]
    x = rng.integers(0, 8, (5, 3, 30))
    trace = simulate(net, x, trace=True)
    assert trace.spikes[0].any(axis=(0, 2)).sum() > 3
    for n in range(6):
        one = {name: int(getattr(layer, name)[n]) for name in layer.own_decays}
        alike = simulate(replace(net, layers=(replace(layer, **one),)), x, trace=True)
        np.testing.assert_array_equal(trace.v[0][:, n], alike.v[0][:, n])
        np.testing.assert_array_equal(trace.spikes[0][:, n], alike.spikes[0][:, n])
