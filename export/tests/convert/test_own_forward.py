"""A module is exported as its own forward pass computes, or refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

pytest.importorskip("lava.lib.dl.slayer", reason="Lava is not installed")

from export import ModelError, quantize, read_netx, simulate, to_netx
from training import Network, block

STEPS = 16
NEURON = {"steps": STEPS, "width": 1.0}


class Blocks(nn.Module):
    """Three blocks of which a forward pass can be made in several ways."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(4)
        self.first = block.Dense(NEURON, 6, 8, weight_scale=4)
        self.second = block.Dense(NEURON, 8, 8, weight_scale=4)
        self.third = block.Readout(8, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.third(self.second(self.first(x)))


class Residual(Blocks):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.first(x)
        return self.third(self.second(h) + h)


class Shared(Blocks):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.third(self.second(self.second(self.first(x))))


class OtherOrder(Blocks):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = (block.Dense(NEURON, n, 6, weight_scale=4) for n in (6, 6))
        self.third = block.Readout(6, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.third(self.first(self.second(x)))


class Scaled(Blocks):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(1.5 * x)


class OwnNetwork(Network):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x) + super().forward(x.flip(-1))


class OwnRead(Network):
    def _read_rates(self, rates: torch.Tensor) -> torch.Tensor:
        return self.readout(rates.sqrt())


@pytest.fixture
def x() -> torch.Tensor:
    return (torch.rand(12, 6, STEPS, generator=torch.Generator().manual_seed(1)) < 0.4).float()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "net.net"


@pytest.mark.parametrize("kind", [Residual, Shared, OtherOrder, Scaled])
def test_module_that_is_no_chain_is_refused_without_data(path, kind):
    message = rf"network forward: .* {kind.__name__}\.forward .*; pass calibration=x, on which"
    with pytest.raises(ModelError, match=message):
        to_netx(kind(), path)
    assert not path.exists()


@pytest.mark.parametrize("kind", [Residual, Shared, OtherOrder, Scaled])
def test_module_that_is_no_chain_is_exported_as_it_computes(path, x, kind):
    net = kind()
    to_netx(net, path, calibration=x)
    fixed = read_netx(path)
    found = simulate(fixed, x.numpy()).logits * 2.0**-fixed.readout.weight_exp / STEPS
    with torch.no_grad():
        expected = net(x).numpy()
    # A spike or two of 16 steps, from 8-bit weights and TE.
    np.testing.assert_allclose(found, expected, atol=0.08)
    assert expected.std() > 0.05


def test_steps_that_are_late_are_late_in_a_sum(path, x):
    class Late(Residual):
        def __init__(self) -> None:
            super().__init__()
            self.first = block.Dense(NEURON, 6, 8, weight_scale=4, delay=[0, 3] * 4)
            self.second = block.Dense(NEURON, 8, 8, weight_scale=4, delay_shift=True)

    net = Late()
    to_netx(net, path, calibration=x)
    fixed = read_netx(path)
    assert [int(layer.output_delay.max()) for layer in fixed.layers] == [3, 1]
    found = simulate(fixed, x.numpy()).logits * 2.0**-fixed.readout.weight_exp / STEPS
    with torch.no_grad():
        np.testing.assert_allclose(found, net(x).numpy(), atol=0.08)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (OwnNetwork, r"samples or steps in another order \(celif in OwnNetwork\)"),
        (OwnRead, r"a function that is no weighted sum \(sqrt in OwnRead\)"),
    ],
)
def test_network_whose_forward_no_file_can_hold_is_refused(path, x, kind, message):
    torch.manual_seed(0)
    net = kind(6, (12, 8), 3, STEPS)
    with pytest.raises(ModelError, match=message):
        to_netx(net, path, calibration=x)


def test_quantize_refuses_what_an_export_refuses(x):
    torch.manual_seed(0)
    with pytest.raises(ModelError, match="sqrt in OwnRead"):
        quantize(OwnRead(6, (12, 8), 3, STEPS), x)


@pytest.mark.parametrize("data", [True, False], ids=["data", "made-spikes"])
def test_module_that_is_a_chain_is_exported_as_its_blocks_are(path, x, data):
    net = Blocks()
    to_netx(net, path, calibration=x if data else None)
    own = simulate(path, x.numpy()).logits
    to_netx(list(net.children()), path, calibration=x if data else None)
    np.testing.assert_array_equal(own, simulate(path, x.numpy()).logits)
    assert np.abs(own).max() > 0


def test_subclass_that_only_looks_is_exported(path, x):
    class Watched(Network):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.seen = len(x)
            # The slow path, whose sums are added up in another order.
            return self.read(self.hidden_states(x)[-1].spikes)

    torch.manual_seed(0)
    to_netx(Watched(6, (12, 8), 3, STEPS), path, calibration=x)
    assert len(read_netx(path).layers) == 2


@pytest.mark.parametrize("reading", ["mean", "sum"])
def test_spikes_may_be_averaged_or_counted(path, x, reading):
    class Counted(nn.Sequential):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return getattr(super().forward(x), reading)(-1)

    torch.manual_seed(0)
    to_netx(Counted(block.Dense(NEURON, 6, 5, weight_scale=4)), path, calibration=x)
    assert read_netx(path).readout is None


def test_silence_proves_nothing(path, x):
    with pytest.raises(ModelError, match="expected spikes on the calibration data"):
        to_netx(Blocks(), path, calibration=torch.zeros_like(x))


def test_check_leaves_the_module_alone(path, x):
    net = Blocks().train()
    before = {name: value.clone() for name, value in net.state_dict().items()}
    random = torch.get_rng_state()
    to_netx(net, path, calibration=x)
    assert net.training
    assert next(net.parameters()).dtype == torch.float32
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())
    assert torch.equal(torch.get_rng_state(), random)


def test_convolutions_without_data_ask_for_some(path):
    class Images(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = block.Conv(NEURON, 1, 2, kernel_size=3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.conv(x)

    with pytest.raises(ModelError, match="run a forward pass, or pass calibration data"):
        to_netx(Images(), path)


def test_hook_that_changes_what_passes_is_exported(path, x):
    torch.manual_seed(0)
    net = Network(6, (12, 8), 3, STEPS)
    to_netx(net, path, calibration=x)
    plain = read_netx(path).layers[1]
    net.layers[1].register_forward_hook(lambda module, inputs, output: 2 * output)
    to_netx(net, path, calibration=x)
    doubled = read_netx(path).layers[1]
    np.testing.assert_array_equal(doubled.weight, plain.weight)
    assert doubled.weight_exp == plain.weight_exp - 1
