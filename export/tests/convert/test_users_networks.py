"""Networks as users write them: each is exported as its forward pass computes, or refused by name.

The float side of every case is the module itself, called as its user calls it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from export import ModelError, read_netx, simulate, to_netx
from export.tests.convert.users_modules import (
    CLASSES,
    EXPORTED,
    INPUTS,
    STEPS,
    WIDTH,
    AlphaInTime,
    AlphaOfInput,
    Base,
    NoDecay,
    Residual,
    Synapses,
    TwoInputs,
    made,
)
from training import CELIF


@pytest.mark.parametrize("build", EXPORTED.values(), ids=EXPORTED)
def test_export_computes_what_the_forward_pass_does(build, tmp_path: Path):
    net, x = made(build)
    report = to_netx(net, tmp_path / "net.net", calibration=x)
    fixed = read_netx(tmp_path / "net.net")
    assert len(report.layers) == len(fixed.layers)
    with torch.no_grad():
        expected = net.eval()(x)
    if expected.ndim > 2:
        expected = expected.mean(-1)
    unit = 1.0 if fixed.readout is None else 2.0**-fixed.readout.weight_exp
    found = simulate(fixed, x.numpy()).logits * unit / STEPS
    assert expected.std() > 0.01
    # Eight bits of weights and 8 of TE: rates differ by a spike or two of 20.
    difference = np.abs(found - expected.numpy()).max()
    assert difference < 0.12 * max(1.0, float(expected.abs().max())), difference


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            NoDecay,
            r"layer 0 alpha: expected 0 up to 0\.99988, got 0\.999\d* among them",
        ),
        (
            AlphaInTime,
            r"alpha: expected a number or 10 values, one per neuron, got shape \(10, 20\)",
        ),
        (AlphaOfInput, r"expected a weighted sum of spikes, got .*mean in AlphaOfInput"),
        (
            TwoInputs,
            r"network forward: expected one input, as a file has, got TwoInputs\.forward\(x, y\); "
            r"join them along the channels",
        ),
    ],
)
def test_what_a_file_cannot_hold_is_refused_by_name(build, message, tmp_path):
    torch.manual_seed(5)
    x = (torch.rand(8, INPUTS, STEPS) < 0.4).float()
    with pytest.raises(ModelError, match=message):
        to_netx(build(), tmp_path / "net.net", calibration=x)


def test_calibration_of_several_inputs_is_refused_with_the_remedy(tmp_path):
    samples = torch.rand(8, INPUTS, STEPS), torch.rand(8, 2, STEPS)
    with pytest.raises(ModelError, match=r"if these are several inputs, join them along the chan"):
        to_netx(TwoInputs(), tmp_path / "net.net", calibration=samples)


def test_inputs_that_are_joined_along_the_channels_are_exported(tmp_path):
    class Joined(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.other = nn.Linear(INPUTS, WIDTH), nn.Linear(INPUTS, WIDTH)
            self.neurons, self.readout = CELIF(WIDTH, STEPS), nn.Linear(WIDTH, CLASSES)

        def forward(self, xy):
            x, y = xy[:, :INPUTS].transpose(1, 2), xy[:, INPUTS:].transpose(1, 2)
            current = self.one(x) + self.other(y)
            return self.readout(self.neurons(current.transpose(1, 2)).mean(-1))

    torch.manual_seed(5)
    net, x = Joined(), (torch.rand(8, 2 * INPUTS, STEPS) < 0.4).float()
    to_netx(net, tmp_path / "net.net", calibration=x)
    fixed = read_netx(tmp_path / "net.net")
    assert fixed.encoding.channels == 2 * INPUTS
    with torch.no_grad():
        expected = net(x).numpy()
    found = simulate(fixed, x.numpy()).logits * 2.0**-fixed.readout.weight_exp / STEPS
    assert expected.std() > 0.01
    assert np.abs(found - expected).max() < 0.12 * max(1.0, np.abs(expected).max())


@pytest.mark.parametrize("kind", ["lif", "alif"])
def test_neurons_of_other_kinds_are_followed(kind, tmp_path):
    class Other(Base):
        def __init__(self) -> None:
            super().__init__()
            self.a = Synapses(INPUTS, WIDTH, kind=kind)
            self.b = Synapses(WIDTH, WIDTH, 5.0, kind=kind)

        def forward(self, x):
            return self.readout(self.b(self.a(x)).mean(-1))

    net, x = made(Other)
    to_netx(net, tmp_path / "net.net", calibration=x)
    fixed = read_netx(tmp_path / "net.net")
    assert {layer.kind for layer in fixed.layers} == {kind.upper()}
    found = simulate(fixed, x.numpy()).logits * 2.0**-fixed.readout.weight_exp / STEPS
    with torch.no_grad():
        np.testing.assert_allclose(found, net.eval()(x).numpy(), atol=0.1)


def test_relays_fire_at_the_steps_of_their_source(tmp_path):
    net, x = made(Residual)
    to_netx(net, tmp_path / "net.net", calibration=x)
    first, second = simulate(tmp_path / "net.net", x.numpy(), trace=True).spikes
    np.testing.assert_array_equal(second[:, WIDTH:], first)
    assert first.any()


@pytest.mark.parametrize("bits", [2, 3])
def test_relays_survive_few_bits(bits, tmp_path):
    net, x = made(Residual)
    with torch.no_grad():
        net.b.linear.weight[0, 0] = 40.0  # compared with which 1.25·Θ0 is little
        net.b.linear.weight[1:] *= 0.01
    to_netx(net, tmp_path / "net.net", calibration=x, weight_bits=bits)
    first, second = simulate(tmp_path / "net.net", x.numpy(), trace=True).spikes
    np.testing.assert_array_equal(second[:, WIDTH:], first)
