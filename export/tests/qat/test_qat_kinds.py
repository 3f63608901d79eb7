"""Quantisation-aware stacks of blocks and recurrent networks: the twin's integers, trained."""

from __future__ import annotations

import numpy as np
import pytest
import torch

slayer = pytest.importorskip("lava.lib.dl.slayer", reason="Lava is not installed")

from export import quantize, read_netx, simulate, to_netx
from hw_tests.trace_difference import assert_same_trace
from training import Network, block

STEPS = 16
CELIF = {"steps": STEPS, "width": 1.0}
CUBA = {"threshold": 0.4, "current_decay": 0.6, "voltage_decay": 0.3, "tau_grad": 1.0}
SDNN = {"threshold": 0.1, "activation": torch.nn.functional.relu}


def images(*shape: int) -> torch.Tensor:
    return torch.rand(4, *shape, STEPS, generator=torch.Generator().manual_seed(1))


def spikes(*shape: int) -> torch.Tensor:
    return (images(*shape) < 0.5).float()


STACKS = {
    "convolutions": (
        lambda: [
            block.Conv(CELIF, 2, 4, (2, 3), stride=(1, 2), groups=2, weight_scale=4),
            block.Pool(CELIF, 4, (2, 1), weight_scale=3),
            block.Flatten(),
            block.Dense(CELIF, 16, 6, weight_scale=3),
            block.Readout(6, 3),
        ],
        images(2, 5, 5),
    ),
    "recurrent-and-late": (
        lambda: [
            block.Input(CELIF | {"neurons": 3}, weight=1.5, bias=0.05),
            block.Recurrent(CELIF, 3, 8, weight_scale=3, delay=[0, 0, 0, 0, 1, 1, 2, 3]),
            block.Dense(CELIF, 8, 6, weight_scale=3, delay_shift=True),
            block.Readout(6, 3, bias=False),
        ],
        images(3),
    ),
    "recurrent-first": (
        lambda: [block.Recurrent(CELIF, 3, 8, weight_scale=3), block.Readout(8, 3)],
        images(3),
    ),
    "mixed": (
        lambda: [
            slayer.block.cuba.Dense(CUBA, 6, 10, weight_scale=4),
            block.Dense(CELIF, 10, 8, weight_scale=3),
            slayer.block.cuba.Dense(CUBA, 8, 8, weight_scale=5, delay_shift=False),
            block.Dense(CELIF, 8, 5, weight_scale=3),
        ],
        spikes(6),
    ),
    "sigma-delta": (
        lambda: [
            block.Dense(CELIF, 6, 10, weight_scale=3),
            slayer.block.sigma_delta.Dense(SDNN, 10, 8, weight_scale=2),
            block.Dense(CELIF, 8, 5, weight_scale=2),
            block.Readout(5, 3),
        ],
        spikes(6),
    ),
    "masked": (
        lambda: [
            block.Dense(CELIF, 6, 8, weight_scale=3, mask=(torch.rand(8, 6) < 0.5).float()),
            block.Readout(8, 3),
        ],
        spikes(6),
    ),
}  # fmt: skip


@pytest.fixture(params=STACKS.values(), ids=STACKS.keys())
def case(request):
    make, x = request.param
    torch.manual_seed(3)
    return torch.nn.Sequential(*make()), x


def loss(out: torch.Tensor) -> torch.Tensor:
    """Some loss of logits, or of spikes."""
    rates = out if out.ndim == 2 else out.mean(-1)
    return torch.nn.functional.cross_entropy(rates * 4, torch.arange(len(rates)) % 3)


def test_forward_is_the_twins_before_and_after_training(case, tmp_path):
    stack, x = case
    aware = quantize(stack, x)
    optimizer = torch.optim.Adam(aware.parameters(), lr=0.01)
    for _ in range(3):
        optimizer.zero_grad()
        out = aware(x)
        loss(out).backward()
        optimizer.step()
    fixed = aware.fixed()
    expected = simulate(fixed, x.numpy(), trace=True)
    assert all(spikes.any() for spikes in expected.spikes)
    assert_same_trace(expected, aware.trace(x))
    with torch.no_grad():
        out = aware(x)
    if fixed.readout is None:
        sums = out.sum(-1).numpy()
        np.testing.assert_array_equal(sums, expected.logits)
    else:
        logits = expected.logits * 2.0**-fixed.readout.weight_exp / STEPS
        # float32 divides and multiplies once more than the integers
        np.testing.assert_allclose(out.numpy(), logits, rtol=1e-5, atol=1e-6)
    to_netx(aware, tmp_path / "q.net")
    found = read_netx(tmp_path / "q.net")
    assert_same_trace(expected, simulate(found, x.numpy(), trace=True))
    assert any(name.endswith("weight") for name in found.digests)


def test_gradient_is_nearly_that_of_the_float_blocks(case):
    stack, x = case
    aware = quantize(stack, x, te_bits=12, input_bits=12)
    loss(aware(x)).backward()
    # On the integers' own input, so that only weights, TE and states are rounded.
    encoded = aware.formats.encode(x.numpy()) * aware.formats.encoding.scale
    loss(stack(torch.from_numpy(encoded).float().reshape(x.shape))).backward()
    theirs = dict(stack.named_parameters())
    seen = 0
    for name, parameter in aware.net.named_parameters():
        if not parameter.requires_grad or "delay" in name:
            continue
        assert parameter.grad is not None, name
        ours, expected = parameter.grad.flatten(), theirs[name].grad.flatten()
        if expected.norm() > 1e-6:
            # Single spikes differ, and with them some terms: directions agree, not digits.
            similarity = torch.nn.functional.cosine_similarity(ours, expected, dim=0)
            assert similarity > 0.8, (name, similarity)
            seen += 1
    assert seen >= 3


def test_original_blocks_are_left_alone(case):
    stack, x = case
    before = {name: value.clone() for name, value in stack.state_dict().items()}
    aware = quantize(stack, x)
    loss(aware(x)).backward()
    assert all(torch.equal(value, before[name]) for name, value in stack.state_dict().items())
    assert all(p.grad is None for p in stack.parameters())


@pytest.mark.parametrize("options", [{"recurrent": True}, {"readout": "spikes"}], ids=str)
def test_network_trains_on_its_integers(options, tmp_path):
    torch.manual_seed(0)
    net = Network(2, (12, 8), 3, STEPS, **options)
    with torch.no_grad():
        for layer in net.spiking_layers:
            layer.weight.mul_(3)
            layer.bias.uniform_(0, 0.2)
    x = images(2)
    aware = quantize(net, x, weight_bits=4)
    optimizer, losses = torch.optim.Adam(aware.parameters(), lr=0.01), []
    for _ in range(25):
        losses.append(loss(aware(x)))
        optimizer.zero_grad()
        losses[-1].backward()
        optimizer.step()
    assert losses[-1] < 0.9 * losses[0]
    fixed = aware.fixed()
    trace = simulate(fixed, x.numpy(), trace=True)
    assert_same_trace(trace, aware.trace(x))
    if fixed.readout is None:
        rates = trace.logits / np.float32(STEPS)
        np.testing.assert_allclose(aware(x).detach().numpy(), rates, rtol=1e-6)
    to_netx(aware, tmp_path / "q.net")
    assert_same_trace(trace, simulate(tmp_path / "q.net", x.numpy(), trace=True))
