"""Quantisation-aware training: its forward pass is the twin's, and it learns."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from export import ModelError, QuantizedNetwork, quantize, read_netx, simulate, to_netx
from hw_tests.networks.random_nets import random_network
from hw_tests.oracle.backend import run_oracle
from hw_tests.trace_difference import assert_same_trace
from training import Network


@pytest.fixture
def net():
    torch.manual_seed(1)
    network = Network(2, (12, 17), 3, 20)
    with torch.no_grad():
        for layer in network.layers:
            layer.weight.mul_(2)
            layer.bias.uniform_(-0.1, 0.2)
        network.te.normal_(0, 0.05)
    return network


@pytest.fixture
def x():
    return torch.rand(9, 2, 20, generator=torch.Generator().manual_seed(2))


@pytest.mark.parametrize("bits", [(8, 8), (4, 4), (2, 2), (8, 16)], ids=str)
def test_forward_is_the_twins(net, x, bits):
    quantised = quantize(net, x, weight_bits=bits[0], te_bits=bits[1])
    expected = simulate(quantised.fixed(), x.numpy(), trace=True)
    assert expected.spikes[1].any()
    assert_same_trace(expected, quantised.trace(x))
    readout = quantised.fixed().readout
    logits = expected.logits * 2.0**-readout.weight_exp / x.shape[2]
    # float32 divides and multiplies once more than the integers
    np.testing.assert_allclose(quantised(x).detach().numpy(), logits, rtol=1e-5, atol=1e-6)


OPTIONS = {
    "mixed-bits": {"weight_bits": (3, 6, 5), "te_bits": (4, 9)},
    "per-channel": {"per_channel": True, "weight_bits": 4, "te_bits": 4},
    "packed": {"te_encoding": "packed", "te_bits": 4},
    "held": {"te_hold": 3},
    "packed-held-per-channel": {
        "te_encoding": "packed", "te_bits": (3, 4), "te_hold": 2, "per_channel": True,
    },
    "few-fraction-bits": {"fraction_bits": 7},
    "fraction-bits-by-layer": {"fraction_bits": (12, 9)},
    "cosine": {"te": "cosine"},
    "cosine-16-bits": {"te": "cosine", "te_bits": 16, "per_channel": True},
    "cosine-as-a-held-table": {"te": "cosine", "te_encoding": "table", "te_hold": 2},
    "rule-max": {"rule": "max", "weight_bits": 3, "te_bits": 3},
    "rule-percentile": {"rule": "percentile", "weight_bits": 3, "te_bits": 3},
}  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_forward_of_every_format_is_the_twins_and_the_oracles(net, x, options, tmp_path):
    options = dict(options)
    if options.pop("te", "table") == "cosine":
        net = with_cosines(net)
    aware = quantize(net, x, **options)
    train(aware, x, steps=2)
    fixed = aware.fixed()
    expected = simulate(fixed, x.numpy(), trace=True)
    assert all(spikes.any() for spikes in expected.spikes)
    assert_same_trace(expected, aware.trace(x))
    assert_same_trace(run_oracle(fixed, x[:1].numpy()), aware.trace(x[:1]))
    to_netx(aware, tmp_path / "q.net")
    found = read_netx(tmp_path / "q.net")
    assert [layer.te_form.encoding for layer in found.layers] == [
        layer.te_form.encoding for layer in fixed.layers
    ]
    assert_same_trace(expected, simulate(found, x.numpy(), trace=True))


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_every_parameter_is_trained_in_every_format(net, x, options):
    options = dict(options)
    if options.pop("te", "table") == "cosine":
        net = with_cosines(net)
    aware = quantize(net, x, **options)
    F.cross_entropy(aware(x), torch.arange(9) % 3).backward()
    for name, parameter in aware.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.any(), name


def with_cosines(net):
    """The same network with generated encodings."""
    wavy = Network(**{**net.config, "te": "cosine"})
    wavy.load_state_dict({**wavy.state_dict(), **{
        name: value for name, value in net.state_dict().items() if name != "te"
    }})  # fmt: skip
    return wavy


def train(aware, x, steps):
    """Losses of some steps on three classes."""
    optimizer, losses = torch.optim.Adam(aware.parameters(), lr=0.02), []
    for _ in range(steps):
        loss = F.cross_entropy(aware(x), torch.arange(9) % 3)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_export_has_the_integers_of_the_forward_pass(net, x, tmp_path):
    quantised = quantize(net, x, weight_bits=5)
    with torch.no_grad():
        quantised.net.layers[1].weight.add_(0.01)
    report = to_netx(quantised, tmp_path / "q.net")
    assert len(report.layers) == 2
    assert_same_trace(
        quantised.trace(x), simulate(read_netx(tmp_path / "q.net"), x.numpy(), trace=True)
    )


def test_untrained_export_equals_the_float_networks(net, x, tmp_path):
    to_netx(net, tmp_path / "float.net", calibration=x)
    to_netx(quantize(net, x), tmp_path / "quantised.net")
    assert (tmp_path / "float.net").read_bytes() == (tmp_path / "quantised.net").read_bytes()


def snap(net, fixed):
    """The network with the floats that its integers stand for."""
    values = QuantizedNetwork.of(fixed).net
    snapped = Network(**net.config)
    with torch.no_grad():
        for layer, floats in zip(snapped.layers, values.layers, strict=True):
            layer.weight.copy_(floats.weight)
            layer.bias.copy_(floats.bias)
        snapped.te.copy_(values.layers[1].te)
        snapped.readout.weight.copy_(values.readout.weight)
        snapped.readout.bias.copy_(values.readout.bias)
    return snapped


def test_gradient_is_the_float_ones_at_fine_formats(net, x):
    """With 16-bit TE and graded 8-bit weights set to whole mantissas, both agree closely."""
    fixed = quantize(net, x, te_bits=16).fixed()
    snapped = QuantizedNetwork(snap(net, fixed), fixed)
    graded = torch.from_numpy(fixed.encode(x.numpy())).float()
    target = torch.arange(9) % 3
    F.cross_entropy(snapped(x), target).backward()
    spikes = graded * fixed.encoding.scale
    reference = Network(**snapped.net.config)
    reference.load_state_dict(snapped.net.state_dict())
    F.cross_entropy(reference(spikes), target).backward()
    same = torch.equal(
        torch.from_numpy(snapped.trace(x).spikes[-1]).float(),
        reference.hidden_states(spikes)[-1].spikes.detach(),
    )
    assert same, "the case should be one where float and fixed spike alike"
    for (name, ours), theirs in zip(
        snapped.net.named_parameters(), reference.parameters(), strict=True
    ):
        scale = theirs.grad.abs().max()
        assert scale > 0, name
        # states differ by roundings of 2^−F, gates at their edges may not
        assert (ours.grad - theirs.grad).abs().max() < 1e-2 * scale, name


def test_training_lowers_the_loss_and_leaves_the_original_alone(net, x):
    before = {name: value.clone() for name, value in net.state_dict().items()}
    quantised = quantize(net, x, weight_bits=4, te_bits=4)
    losses = train(quantised, x, steps=60)
    assert losses[-1] < 0.7 * losses[0]
    assert_same_trace(simulate(quantised.fixed(), x.numpy(), trace=True), quantised.trace(x))
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())


def test_of_takes_late_layers(rng):
    shifted = random_network(rng, (4, 3), 6, delay_shift=True)
    x = rng.integers(0, 16, (3, 2, 6))
    trace = QuantizedNetwork.of(shifted).trace(torch.from_numpy(x))
    assert trace.logits.any()
    np.testing.assert_array_equal(trace.logits, simulate(shifted, x).logits)


def test_quantize_refuses_other_modules(x):
    with pytest.raises(ModelError, match="network forward: expected Linear to run on"):
        quantize(torch.nn.Linear(2, 2), x)
