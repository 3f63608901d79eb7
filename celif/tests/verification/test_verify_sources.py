"""verify against whatever a file can have been exported from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from celif import Verification, verify
from export import quantize, to_netx
from training import Network

STEPS = 20


@pytest.fixture
def net() -> Network:
    torch.manual_seed(3)
    made = Network(2, (9, 12), 3, STEPS)
    with torch.no_grad():
        for layer in made.layers:
            layer.weight.mul_(2)
    return made


@pytest.fixture
def x() -> torch.Tensor:
    return torch.rand(6, 2, STEPS, generator=torch.Generator().manual_seed(2))


def assert_sound(result: Verification) -> None:
    assert result.source is not None
    assert result.source.equal, result.source.detail
    assert result.equal
    assert result.gap is not None
    assert all(layer.rate_fixed > 0.02 for layer in result.gap.layers)


def test_quantisation_aware_network(net: Network, x: torch.Tensor, tmp_path: Path) -> None:
    aware = quantize(net, calibration=x, weight_bits=4, te_bits=4)
    optimizer = torch.optim.SGD(aware.parameters(), lr=0.1)
    F.cross_entropy(aware(x), torch.arange(6) % 3).backward()
    optimizer.step()
    to_netx(aware, tmp_path / "aware.net")
    assert_sound(verify(tmp_path / "aware.net", aware, x, targets=("torch", "twin")))
    optimizer.step()
    after = verify(tmp_path / "aware.net", aware, x, targets=("torch", "twin")).source
    assert after is not None
    assert after.other_floats


@pytest.mark.parametrize(
    "formats",
    [{"per_channel": True}, {"te_hold": 3}, {"te_bits": 4, "te_encoding": "packed"}],
    ids=str,
)
def test_network_in_every_format(
    formats: dict[str, Any], net: Network, x: torch.Tensor, tmp_path: Path
) -> None:
    to_netx(net, tmp_path / "net.net", calibration=x, **formats)
    assert_sound(verify(tmp_path / "net.net", net, x, targets=("torch", "twin")))


def test_network_with_cosines(x: torch.Tensor, tmp_path: Path) -> None:
    torch.manual_seed(3)
    net = Network(2, (9, 12), 3, STEPS, te="cosine")
    with torch.no_grad():
        for layer in net.layers:
            layer.weight.mul_(3)
    to_netx(net, tmp_path / "net.net", calibration=x)
    assert_sound(verify(tmp_path / "net.net", net, x, targets=("torch", "twin")))


def test_stack_of_blocks(x: torch.Tensor, tmp_path: Path) -> None:
    slayer = pytest.importorskip("lava.lib.dl.slayer", reason="Lava is not installed")
    from training import block

    torch.manual_seed(3)
    cuba = {"threshold": 0.4, "current_decay": 0.6, "voltage_decay": 0.3}
    blocks = [
        block.Dense({"steps": STEPS}, 2, 12, weight_scale=3),
        slayer.block.cuba.Dense(cuba, 12, 9, weight_scale=3, delay_shift=False),
        block.Dense({"steps": STEPS}, 9, 4, weight_scale=3),
    ]
    to_netx(blocks, tmp_path / "stack.net", calibration=x)
    # a generator, which can be gone through only once
    result = verify(tmp_path / "stack.net", (b for b in blocks), x, targets=("torch", "twin"))
    assert_sound(result)
    assert result.gap is not None
    first, second, third = result.gap.layers
    assert first.v_error_mean is not None
    assert second.v_error_mean is None  # Lava shows no state of a stock LIF, nor do we
    assert third.theta_error_max is not None
    assert first.spike_agreement > 0.9
    blocks[2].synapse.weight.data[0] *= -1
    changed = verify(tmp_path / "stack.net", blocks, x, targets=("torch", "twin")).source
    assert changed is not None
    assert {difference.layer for difference in changed.differences} == {2}
    assert changed.effect is not None
    assert changed.effect.layer == 2


def test_recurrent_network(x: torch.Tensor, tmp_path: Path) -> None:
    torch.manual_seed(3)
    net = Network(2, (9, 12), 3, STEPS, recurrent=True)
    with torch.no_grad():
        for layer in net.layers:
            layer.weight.mul_(2)
    to_netx(net, tmp_path / "net.net", calibration=x)
    result = verify(tmp_path / "net.net", net, x, targets=("torch", "twin"))
    assert_sound(result)
    assert result.gap is not None
    assert result.gap.layers[0].spike_agreement > 0.9


@pytest.mark.parametrize("flat", [False, True], ids=["images", "flat"])
def test_stack_of_images(flat: bool, tmp_path: Path) -> None:
    pytest.importorskip("lava.lib.dl.slayer", reason="Lava is not installed")
    from training import block

    torch.manual_seed(3)
    images = torch.rand(4, 2, 4, 3, STEPS)
    blocks = torch.nn.Sequential(
        block.Conv({"steps": STEPS}, 2, 3, kernel_size=2, weight_scale=3),
        block.Flatten(),
        block.Recurrent({"steps": STEPS}, 18, 7, weight_scale=3, delay=[0, 1, 2, 3, 0, 1, 2]),
        block.Readout(7, 3),
    )
    to_netx(blocks, tmp_path / "images.net", calibration=images)
    samples = images.flatten(1, 3) if flat else images
    result = verify(tmp_path / "images.net", blocks, samples, targets=("torch", "twin"))
    assert_sound(result)
    assert result.gap is not None
    assert [layer.neurons for layer in result.gap.layers] == [18, 7]
    assert result.gap.layers[0].spike_agreement > 0.9
    assert result.gap.layers[0].v_error_mean is not None
    assert result.gap.layers[0].v_error_mean < 0.05
