"""The paper's network: its size, its one TE table, its readout, and what it refuses."""

from __future__ import annotations

import pytest
import torch

from training import Network
from training.functional import celif

SIZES = {"small": ((64, 88, 88), 83_562), "large": ((64, 152, 152), 153_962)}


@pytest.fixture
def net() -> Network:
    """A small network in evaluation mode, with weights that make it fire."""
    torch.manual_seed(0)
    net = Network(2, (7, 12, 5), 3, 20).eval()
    with torch.no_grad():
        for layer in net.layers:
            layer.weight.mul_(3)
            layer.bias.uniform_(0, 0.3)
        net.te.normal_(0, 0.3)
    return net


@pytest.fixture
def x() -> torch.Tensor:
    return torch.rand(6, 2, 20, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize(("hidden", "parameters"), SIZES.values(), ids=SIZES.keys())
def test_network_has_the_papers_number_of_parameters(hidden, parameters):
    net = Network(1, hidden, 10, 784)
    assert net.num_parameters == parameters
    assert sum(p.numel() for p in net.parameters() if p.requires_grad) == parameters


def test_layers_use_the_first_rows_of_one_table(net, x):
    assert net.te.shape == (12, 20)
    states = net.hidden_states(x)
    for state, width in zip(states, (7, 12, 5), strict=True):
        expected = celif(state.current, net.te[:width], **net.neuron)
        assert torch.equal(state.spikes, expected)
        assert 0.02 < state.spikes.mean() < 0.98
    with torch.no_grad():
        net.te[7:] += 1
    changed = net.hidden_states(x)
    assert torch.equal(changed[0].spikes, states[0].spikes)
    assert not torch.equal(changed[1].spikes, states[1].spikes)


def test_current_is_weights_times_spikes_plus_bias(net, x):
    states = net.hidden_states(x)
    layer = net.layers[1]
    expected = torch.einsum("nm,bmt->bnt", layer.weight, states[0].spikes) + layer.bias[:, None]
    # Two orders of summing seven products.
    torch.testing.assert_close(states[1].current, expected, rtol=1e-6, atol=1e-6)


def test_logits_are_the_mean_of_the_outputs_at_every_step(net, x):
    spikes = net.hidden_states(x)[-1].spikes
    per_step = net.readout(spikes.transpose(1, 2))
    assert per_step.shape == (6, 20, 3)
    # The mean is taken before or after five products: some float32 roundings apart.
    torch.testing.assert_close(net(x), per_step.mean(1), rtol=1e-6, atol=1e-6)


def test_readouts_are_the_classifier_at_the_steps_they_name(net, x):
    def read(readout: str) -> torch.Tensor:
        other = Network(**{**net.config, "readout": readout}).eval()
        other.load_state_dict(net.state_dict())
        return other(x)

    spikes = net.hidden_states(x)[-1].spikes
    per_step = read("steps")
    assert per_step.shape == (6, 3, 20)
    assert per_step.std(-1).all(), "logits should move with the spikes"
    # One matrix product of another shape: it may sum five products in another order.
    torch.testing.assert_close(per_step[..., 4], net.readout(spikes[..., 4]), rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(read("last"), per_step[..., -1], rtol=1e-6, atol=1e-6)


def test_shorter_sample_uses_the_first_steps_of_te(net, x):
    whole, short = net.hidden_states(x), net.hidden_states(x[..., :13])
    for a, b in zip(whole, short, strict=True):
        assert torch.equal(a.spikes[..., :13], b.spikes)
    with torch.no_grad():
        net.te[:, 13:] = 9
    assert torch.equal(net.hidden_states(x[..., :13])[-1].spikes, short[-1].spikes)


def test_gradient_reaches_every_parameter(net, x):
    net(x).square().sum().backward()
    for name, parameter in net.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.any(), name


def test_dropout_acts_in_training_only_and_afresh_at_every_step(x):
    torch.manual_seed(0)
    net = Network(2, (30, 5), 3, 20, dropout=0.5)
    seen = []
    net.layers[0].register_forward_pre_hook(lambda module, args: seen.append(args[0]))
    net.train()(x)
    net.eval()(x)
    dropped, whole = seen
    assert torch.equal(whole.transpose(1, 2), x)
    kept = dropped != 0
    assert torch.equal(dropped[kept], 2 * whole[kept])
    assert 0.3 < kept.float().mean() < 0.7
    assert kept.any(1).all(), "a channel should not be dropped for all steps"


def test_tied_dropout_drops_a_channel_for_all_steps_of_a_sample():
    torch.manual_seed(0)
    net = Network(9, (30, 5), 3, 20, dropout=0.5, tied_dropout=True)
    seen = []
    net.layers[0].register_forward_pre_hook(lambda module, args: seen.append(args[0]))
    net.train()(torch.ones(8, 9, 20))
    (dropped,) = seen
    assert set(dropped.unique().tolist()) == {0, 2}
    assert torch.equal(dropped, dropped[:, :1].expand_as(dropped)), "the same at every step"
    assert 0 < dropped[0, 0].mean() < 2


def test_training_starts_without_hidden_biases():
    # Random ones overflow float32 within 784 steps of the backward pass.
    net = Network(1, (8, 8), 2, 784)
    assert not any(layer.bias.any() for layer in net.layers)


def test_config_rebuilds_the_network(net, x):
    twin = Network(**net.config).eval()
    twin.load_state_dict(net.state_dict())
    assert torch.equal(twin(x), net(x))


BAD_NETWORKS = {
    "empty": ({"hidden": ()}, r"hidden: expected at least one layer, got \(\); e.g. hidden"),
    "one-width": ({"hidden": 64}, r"hidden: expected a sequence of widths, got 64; e.g. hidden=\("),
    "no-neurons": ({"hidden": (4, 0)}, r"hidden\[1\]: expected a whole number from 1 up, got 0"),
    "half-a-class": ({"classes": 2.5}, r"classes: expected a whole number .* got 2.5"),
    "no-steps": ({"steps": 0}, r"steps: expected .* got 0"),
    "inputs": ({"in_features": "one"}, r"in_features: expected .* got 'one'"),
    "beta": ({"beta": 1.0}, r"beta: expected one number in \[0, 1\), got 1"),
    "readout": ({"readout": "max"}, r"readout: expected one of mean, last, steps.*, got 'max'"),
    "dropout": ({"dropout": 1.0}, r"dropout: expected .* got 1"),
}


@pytest.mark.parametrize(("change", "message"), BAD_NETWORKS.values(), ids=BAD_NETWORKS.keys())
def test_bad_network_is_refused(change, message):
    arguments = {"in_features": 1, "hidden": (4,), "classes": 2, "steps": 5} | change
    with pytest.raises(ValueError, match=message):
        Network(**arguments)


BAD_INPUTS = {
    "no-sample": ((0, 2, 20), r"Network input: expected at least one sample, got shape \(0, 2, 20"),
    "no-channel-axis": ((6, 20), r"Network input: expected \(batch, 2, time\), got .*; add the"),
    "channels": ((6, 3, 20), r"Network input: expected 2 channels .* got 3 .*transpose"),
    "too-long": ((6, 2, 21), r"Network input: expected 1..20 time steps.* got 21; .*steps=21"),
}


@pytest.mark.parametrize(("shape", "message"), BAD_INPUTS.values(), ids=BAD_INPUTS.keys())
def test_bad_input_is_refused(net, shape, message):
    with pytest.raises(ValueError, match=message):
        net(torch.zeros(shape))


def test_input_that_is_no_tensor_is_refused(net, x):
    with pytest.raises(ValueError, match=r"got ndarray; use torch\.from_numpy\(x\)\.float\(\)"):
        net(x.numpy())
    with pytest.raises(ValueError, match=r"got list; use torch\.as_tensor\(x\)\.float\(\)"):
        net(x.tolist())


def test_input_of_another_type_is_refused(net, x):
    message = r"Network input: expected torch.float32 .* got torch.float64; use x.to\(torch.float32"
    with pytest.raises(ValueError, match=message):
        net(x.double())


def test_float64_network_takes_float64(net, x):
    assert net.double()(x.double()).dtype == torch.float64


def test_autocast_is_refused_by_name(net, x):
    with (
        torch.autocast("cpu", dtype=torch.bfloat16),
        pytest.raises(ValueError, match=r"got torch.bfloat16; autocast is not supported, call the"),
    ):
        net(x)


def test_integer_input_is_refused(net):
    with pytest.raises(ValueError, match=r"expected a floating tensor, got torch.int64; use x.f"):
        net(torch.zeros(1, 2, 20, dtype=torch.int64))


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
@pytest.mark.parametrize("watched", [False, True], ids=["fused", "layer-by-layer"])
def test_input_that_is_no_number_is_refused(net, x, value, watched):
    x[2, 1, 3] = value
    net.watch = (lambda spikes: None) if watched else None
    with pytest.raises(ValueError, match="Network input: expected finite numbers, got NaN"):
        net(x)
