"""Quantisation-aware training of networks that are no chain: the integers of their own forward."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from export import quantize, read_netx, simulate, to_netx
from export.tests.convert.users_modules import EXPORTED, made

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
