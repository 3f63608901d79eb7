"""Quantisation-aware training of networks that are no chain: the integers of their own forward."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from export import quantize, read_netx, simulate, to_netx
from export.tests.convert.users_modules import EXPORTED, INPUTS, Synapses, made

KINDS = ("residual", "residual-current", "shared-weights", "batch-norm", "images", "neuron-only")


@pytest.mark.parametrize("name", KINDS)
def test_forward_pass_is_the_integer_one(name, tmp_path):
    net, x = made(EXPORTED[name])
    aware = quantize(net, x)
    to_netx(aware, tmp_path / "net.net")
    fixed = read_netx(tmp_path / "net.net")
    found, expected = aware.trace(x), simulate(fixed, x.numpy(), trace=True)
    np.testing.assert_array_equal(found.logits, expected.logits)
    for ours, theirs in zip(found.spikes, expected.spikes, strict=True):
        np.testing.assert_array_equal(ours, theirs)
        assert ours.any()


class Halves(Synapses):
    """Weights that become n + 1/2 mantissas by a factor, but for the rounding of float32."""

    def __init__(self) -> None:
        super().__init__(INPUTS, 64)
        self.factor = nn.Parameter(1 + torch.rand(64, 1))
        odd = 2 * torch.randint(-127, 127, (64, INPUTS)) + 1
        with torch.no_grad():
            self.linear.weight.copy_(odd / 256 / self.factor)

    def forward(self, x):
        return self.neurons(self.current(x) * self.factor).mean(-1)


def test_untrained_integers_are_those_of_the_export(tmp_path):
    net, x = made(Halves)
    to_netx(net, tmp_path / "net.net", calibration=x)
    (exported,) = read_netx(tmp_path / "net.net").layers
    aware = quantize(net, x)
    (layer,) = aware.fixed().layers
    np.testing.assert_array_equal(layer.weight, exported.weight)
    np.testing.assert_array_equal(layer.bias, exported.bias)
    assert exported.weight_exp == 7
    weights = (net.linear.weight * net.factor).detach().numpy() * 128
    assert (np.abs(weights - np.floor(weights) - 0.5) < 1e-5).all(), "between two mantissas"
    assert {p.dtype for p in aware.parameters()} == {torch.float32}


@pytest.mark.parametrize("name", KINDS)
def test_every_parameter_has_a_gradient(name):
    net, x = made(EXPORTED[name])
    aware = quantize(net, x)
    output = aware(x)
    output.square().sum().backward()
    missing = [n for n, p in aware.named_parameters() if p.grad is None or not p.grad.any()]
    assert missing == []


def test_training_lowers_the_loss_of_the_integers():
    net, x = made(EXPORTED["residual"])
    labels = torch.arange(len(x)) % 3
    aware = quantize(net, x, weight_bits=4)
    optimizer = torch.optim.Adam(aware.parameters(), lr=0.02)
    losses = []
    for _ in range(12):
        optimizer.zero_grad()
        loss = F.cross_entropy(aware(x), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] - 0.05
    copy.deepcopy(aware)(x)
