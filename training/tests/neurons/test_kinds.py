"""Neuron kinds: LIF by the paper's equation in a loop of its own, and what each kind refuses."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from training import Network, checkpoint, neurons
from training.neurons.kind import Drive, NeuronParams
from training.slayer.neuron import Neuron

P = NeuronParams(alpha=0.75, theta0=0.5)


def lif_by_hand(current: np.ndarray, weight_rec: np.ndarray | None = None) -> np.ndarray:
    """Equation 2 of the paper, V = αV(1−S) + I and S = V ≥ Θ0, on (neuron, time)."""
    v = s = np.zeros(len(current), current.dtype)
    out = np.zeros_like(current)
    for t in range(current.shape[1]):
        i = current[:, t] if weight_rec is None else current[:, t] + weight_rec @ s
        v = current.dtype.type(0.75) * v * (1 - s) + i
        s = (v >= 0.5).astype(current.dtype)
        out[:, t] = s
    return out


@pytest.mark.parametrize("backend", ["reference", "fused"])
@pytest.mark.parametrize("recurrent", [False, True], ids=["feedforward", "recurrent"])
def test_lif_is_equation_2(backend, recurrent, rng):
    # Multiples of 1/64 with few bits: sums, and products with 3/4 over a few steps, are exact.
    current = rng.integers(-20, 40, (4, 6, 12)) / 64
    weight = rng.integers(-16, 16, (6, 6)) / 64 if recurrent else None
    drive = Drive(
        torch.tensor(current), weight_rec=None if weight is None else torch.tensor(weight)
    )
    spikes = neurons.find("lif").spikes(drive, torch.zeros(6, 12).double(), P, backend).numpy()
    assert 0.1 < spikes.mean() < 0.9
    for sample, expected in zip(spikes, current, strict=True):
        np.testing.assert_array_equal(sample, lif_by_hand(expected, weight))


@pytest.mark.parametrize("backend", ["reference", "fused"])
def test_lif_threshold_never_moves_whatever_beta_is(backend):
    drive = Drive(torch.rand(3, 5, 40, generator=torch.Generator().manual_seed(0)))
    te = torch.zeros(5, 40)
    slow, fast = (
        neurons.find("lif").spikes(drive, te, NeuronParams(beta=beta), backend)
        for beta in (0.99, 0.3)
    )
    assert torch.equal(slow, fast)
    assert slow.any()


def lif_network(**options) -> Network:
    torch.manual_seed(0)
    net = Network(2, (7, 12), 3, 20, neuron="lif", **options)
    with torch.no_grad():
        for layer in net.layers:
            layer.weight.mul_(3)
    return net


@pytest.mark.parametrize("readout", ["mean", "spikes"])
def test_lif_network_fused_equals_its_layers_one_by_one(readout):
    net = lif_network(readout=readout)
    x = torch.rand(4, 2, 20)
    fused = net(x)
    seen: list[torch.Tensor] = []
    net.watch = seen.extend  # takes the layers one after the other
    torch.testing.assert_close(net(x), fused, rtol=1e-6, atol=1e-6)
    assert all(0.02 < spikes.mean() < 0.98 for spikes in seen)


def test_lif_network_has_no_temporal_encoding_and_learns():
    net = lif_network(recurrent=True)
    assert net.te is None
    assert not any("te" in name.split(".") for name, _ in net.named_parameters())
    net(torch.rand(4, 2, 20)).square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in net.parameters())


def test_lif_network_comes_back_from_its_checkpoint(tmp_path):
    net = lif_network().eval()
    checkpoint.save(tmp_path / "net.safetensors", net)
    again = checkpoint.load(tmp_path / "net.safetensors")
    assert again.config == net.config
    assert again.config.neuron == "lif"
    x = torch.rand(4, 2, 20)
    assert torch.equal(again(x), net(x))


def test_lif_block_neuron_equals_the_network_layer():
    neuron = Neuron(6, 20, kind="lif", theta0=0.4)
    x = torch.rand(3, 6, 20)
    expected = neurons.find("lif").spikes(
        Drive(x), torch.zeros(6, 20), NeuronParams(theta0=0.4), "reference"
    )
    assert torch.equal(neuron(x), expected)
    assert expected.any()
    assert [name for name, _ in neuron.named_parameters()] == ["bias"]
    assert neuron.device_params == {"type": "LIF", "alphaMant": 2048, "wgtBits": 8}


REFUSED = {
    "kind": ({"neuron": "relu"}, "neuron: expected one of celif, lif.*, got 'relu'"),
    "beta": ({"neuron": "lif", "beta": 0.5}, "beta: expected none, because lif neurons have no"),
    "context": ({"neuron": "lif", "context": "s"}, "context: expected none, because lif"),
    "te": ({"neuron": "lif", "te": "cosine"}, "te: expected none, because lif neurons have no"),
    "gamma": ({"gamma": 0.5}, "gamma: expected none, because celif neurons have no gamma"),
}


@pytest.mark.parametrize(("options", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_network_refuses_what_its_kind_does_not_have(options, message):
    with pytest.raises(ValueError, match=message):
        Network(2, (7, 12), 3, 20, **options)


def test_block_neuron_refuses_what_its_kind_does_not_have():
    with pytest.raises(ValueError, match="te: expected none, because lif neurons"):
        Neuron(6, 20, kind="lif", te="table")
    with pytest.raises(ValueError, match="beta: expected none, because lif neurons"):
        Neuron(6, 20, kind="lif", beta=0.5)
