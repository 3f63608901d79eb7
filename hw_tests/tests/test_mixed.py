"""A SLAYER CUBA block before and after our Dense block: trained, exported, run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

slayer = pytest.importorskip("lava.lib.dl.slayer", reason="Lava is not installed")

from export import FixedNetwork, read_netx, simulate, to_netx
from hw_tests.ladder import climb
from hw_tests.tests.test_ladder import run_both
from hw_tests.trace_difference import assert_same_trace, firing_rates
from training import block

STEPS = 24
CUBA = {"threshold": 0.4, "current_decay": 0.6, "voltage_decay": 0.3, "tau_grad": 1.0}


def stack(shifted: bool) -> torch.nn.ModuleList:
    """CUBA → CELIF → CUBA."""
    torch.manual_seed(3)
    return torch.nn.ModuleList(
        [
            slayer.block.cuba.Dense(CUBA, 6, 16, weight_scale=3, delay_shift=shifted),
            block.Dense({"steps": STEPS}, 16, 12, weight_scale=2, delay_shift=shifted),
            slayer.block.cuba.Dense(CUBA, 12, 4, weight_scale=4, delay_shift=shifted),
        ]
    )


def forward(blocks: torch.nn.ModuleList, x: torch.Tensor) -> list[torch.Tensor]:
    """Output of every block."""
    outputs = []
    for layer in blocks:
        x = layer(x)
        outputs.append(x)
    return outputs


@pytest.fixture(params=[False, True], ids=["unshifted", "shifted"])
def exported(
    request: pytest.FixtureRequest, tmp_path: Path
) -> tuple[torch.nn.ModuleList, FixedNetwork, torch.Tensor]:
    """A stack trained for some steps to fire more at two outputs, and its export."""
    blocks = stack(request.param)
    x = (torch.rand(5, 6, STEPS, generator=torch.Generator().manual_seed(1)) < 0.4).float()
    rates = torch.tensor([0.6, 0.1, 0.6, 0.1])
    optimizer = torch.optim.Adam(blocks.parameters(), lr=0.02)
    losses = []
    for _ in range(25):
        loss = ((forward(blocks, x)[-1].mean(-1) - rates) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.8 * losses[0], "training through the mixed stack should learn"
    to_netx(blocks, tmp_path / "mixed.net", calibration=x)
    return blocks, read_netx(tmp_path / "mixed.net"), x


@pytest.mark.parametrize("exported", [True], ids=["shifted"], indirect=True)
def test_mixed_stack_twin_equals_lava(
    exported: tuple[torch.nn.ModuleList, FixedNetwork, torch.Tensor], targets: list[str]
) -> None:
    _, net, x = exported
    assert [layer.kind for layer in net.layers] == ["CUBA", "CELIF", "CUBA"]
    expected, found = run_both(3, targets, net, x.numpy().astype(np.int64))
    assert all(0.02 <= rate <= 0.9 for rate in firing_rates(expected))
    assert_same_trace(expected, found)


def test_mixed_stack_cuba_layers_equal_slayer(
    exported: tuple[torch.nn.ModuleList, FixedNetwork, torch.Tensor],
) -> None:
    blocks, net, x = exported
    trace = simulate(net, x.numpy().astype(np.int64), trace=True)
    assert trace.spikes is not None
    with torch.no_grad():
        outputs = forward(blocks, x)
        shifted = bool(net.layers[0].delay_shift)
        assert np.array_equal(sent(trace.spikes[0], shifted), outputs[0].numpy())
        # SLAYER's last block on the integer layer's spikes, which need not be the float ones.
        between = torch.from_numpy(sent(trace.spikes[1], shifted).astype(np.float32))
        last = blocks[2](between).numpy()
    assert last.any()
    assert np.array_equal(sent(trace.spikes[2], shifted), last)


def sent(spikes: np.ndarray, shifted: bool) -> np.ndarray:
    """What a block puts out: the neuron's spikes, one step later if it is shifted."""
    if not shifted:
        return spikes
    return np.concatenate([np.zeros_like(spikes[..., :1]), spikes[..., :-1]], -1)


def test_mixed_stack_climbs_every_rung_without_lava(
    exported: tuple[torch.nn.ModuleList, FixedNetwork, torch.Tensor],
) -> None:
    _, net, x = exported
    results = climb(net, x[:1].numpy().astype(np.int64), ("torch", "twin"))
    verdicts = {(result.rung, result.compared): result.verdict for result in results}
    ran = {rung for (rung, _), verdict in verdicts.items() if verdict == "equal"}
    assert ran == {0, 2}
    assert "DIFFERS" not in verdicts.values()
