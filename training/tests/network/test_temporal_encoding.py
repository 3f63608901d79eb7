"""The cosine encoding: its formula, its gradient through the kernels, its place in networks."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from training import Network, checkpoint
from training.functional import celif
from training.network import temporal_encoding
from training.slayer.neuron import Neuron


@pytest.fixture
def wave() -> temporal_encoding.Cosine:
    torch.manual_seed(0)
    return temporal_encoding.Cosine(5, 30)


def test_table_is_the_formula(wave):
    for n in (0, 3):
        delta = 0.1 / 100 ** (n / 5)
        t = np.arange(30)
        expected = 0.1 * np.cos(wave.omega[n].item() * delta * t)
        # δ is kept in float32
        np.testing.assert_allclose(wave()[n].detach().numpy(), expected, atol=1e-6)
    assert wave.shape == (5, 30)
    np.testing.assert_allclose(
        wave.turns().detach().numpy()[0], wave.omega[0].item() * 0.1 / (2 * math.pi), rtol=1e-6
    )


def test_frequencies_start_between_one_and_two_turns(wave):
    start = temporal_encoding.Cosine(1000, 2).omega / (2 * math.pi)
    assert start.min() >= 0.99
    assert start.max() <= 1.99
    assert start.std() > 0.2


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_fused_gradient_of_the_frequencies_is_the_references(wave, dtype):
    wave = wave.to(dtype)
    current = torch.randn(4, 5, 30, dtype=dtype, generator=torch.Generator().manual_seed(1))
    found = {}
    for backend in ("reference", "fused"):
        spikes = celif(current, wave(), backend=backend)
        assert spikes.any()
        weights = torch.linspace(-1, 1, spikes.numel(), dtype=dtype).reshape(spikes.shape)
        (found[backend],) = torch.autograd.grad((spikes * weights).sum(), wave.omega)
    assert found["reference"].abs().min() > 0
    # Sums over batch and time in another order.
    tolerance = 1e-4 if dtype == torch.float32 else 1e-10
    torch.testing.assert_close(found["fused"], found["reference"], rtol=tolerance, atol=tolerance)


def test_network_has_a_parameter_per_neuron_of_its_widest_layer():
    table, cosine = (Network(1, (6, 9), 3, 50, te=te) for te in ("table", "cosine"))
    assert table.num_parameters - cosine.num_parameters == 9 * 50 - 9
    assert [name for name, _ in cosine.named_parameters() if name.startswith("te")] == ["te.omega"]
    assert cosine.te_table.shape == table.te_table.shape == (9, 50)


def test_network_with_cosines_learns_and_comes_back_from_its_checkpoint(tmp_path):
    torch.manual_seed(2)
    net = Network(2, (12, 10), 3, 20, te="cosine")
    with torch.no_grad():
        for layer in net.layers:
            layer.weight.mul_(2)
    x, y = torch.rand(9, 2, 20), torch.arange(9) % 3
    start, losses = net.te.omega.detach().clone(), []
    optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
    for _ in range(60):
        loss = torch.nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.7 * losses[0]
    assert ((net.te.omega - start).abs() > 1e-3).sum() > 6, "frequencies are learnt, too"
    checkpoint.save(tmp_path / "net.safetensors", net)
    again = checkpoint.load(tmp_path / "net.safetensors")
    assert torch.equal(again(x), net.eval()(x))


def test_neuron_shares_a_cosine_or_has_its_own():
    wide = Neuron(8, 20, te="cosine")
    narrow = Neuron(5, 20, te=wide.te)
    assert narrow.te is wide.te
    assert torch.equal(narrow.te_table, wide.te_table)
    assert narrow(torch.rand(2, 5, 20) * 3).any()


@pytest.mark.parametrize(
    "make", [lambda: Network(1, (3,), 2, 4, te="sine"), lambda: Neuron(3, 4, te="sine")]
)
def test_unknown_encoding_is_refused_by_name(make):
    with pytest.raises(ValueError, match="te: expected one of table, cosine, got 'sine'"):
        make()
