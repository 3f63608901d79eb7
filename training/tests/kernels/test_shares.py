"""How threads share the work changes no bit of spikes and gradients."""

from __future__ import annotations

import pytest
import torch

from training.baselines.gated_neurons import GLIF, SoftALIF
from training.functional import layers
from training.kernels import fused, scans
from training.support import compiled
from training.tests.cases import PARAMS, WIDTH

WIDTHS, STEPS, BATCH = (7, 5), 12, 19


def drawn(*shape: int, mean: float = 0.0, std: float = 1.0) -> torch.Tensor:
    return (mean + std * torch.randn(shape)).requires_grad_()


def one_layer() -> list[torch.Tensor]:
    current, te = drawn(BATCH, WIDTHS[0], STEPS, mean=0.2), drawn(WIDTHS[0], STEPS, std=0.3)
    spikes = fused.celif(current, te, PARAMS, WIDTH, torch.zeros(WIDTHS[0]))
    return [spikes, current, te]


def network(context: str, recurrent: bool) -> list[torch.Tensor]:
    x, te = drawn(BATCH, 2, STEPS, mean=0.4), drawn(WIDTHS[0], STEPS, std=0.3)
    weights = [drawn(WIDTHS[0], 2), drawn(WIDTHS[1], WIDTHS[0])]
    biases = [drawn(n, std=0.1) for n in WIDTHS]
    own = [drawn(WIDTHS[0], WIDTHS[0], std=0.3), None] if recurrent else None
    spikes = layers(x, weights, biases, te, context=context, weights_rec=own)
    return [spikes, x, *weights, *biases, te]


def gated(kind: type) -> list[torch.Tensor]:
    layer, scale = kind(WIDTHS[0], STEPS), 0.5 if kind is GLIF else 0.05
    current = drawn(BATCH, WIDTHS[0], STEPS, mean=0.2 * scale, std=scale)
    return [layer(current), current, *layer.parameters()]


CASES = {
    "CE-LIF": one_layer,
    "layers": lambda: network("v*te", False),
    "recurrent layers": lambda: network("v*te", True),
    "adaptive layers": lambda: network("v+te", False),
    "recurrent adaptive layers": lambda: network("s*te", True),
    "GLIF": lambda: gated(GLIF),
    "SoftALIF": lambda: gated(SoftALIF),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_bits_do_not_depend_on_how_many_neurons_a_thread_takes(case, monkeypatch):
    found = []
    for each in (max(WIDTHS), 1, 3):
        monkeypatch.setattr(scans, "share", lambda groups, neurons, each=each: each)
        torch.manual_seed(0)
        spikes, *given = case()
        factors = torch.linspace(-1, 1.5, spikes.numel()).reshape(spikes.shape)
        found.append((spikes, *torch.autograd.grad((spikes * factors).sum(), given)))
    assert 0.02 < found[0][0].mean() < 0.98
    assert all(part.any() for part in found[0])
    for shared in found[1:]:
        assert all(torch.equal(one, other) for one, other in zip(found[0], shared, strict=True))


def test_neurons_are_shared_only_among_threads_that_have_no_group_and_never_below_32(monkeypatch):
    monkeypatch.setattr(compiled, "threads", lambda: 4)
    taken = {(groups, n): scans.share(groups, n) for groups in (1, 2, 4, 9) for n in (64, 100, 300)}
    assert taken == {
        (1, 64): 32, (1, 100): 34, (1, 300): 75,
        (2, 64): 32, (2, 100): 50, (2, 300): 150,
        (4, 64): 64, (4, 100): 100, (4, 300): 300,
        (9, 64): 64, (9, 100): 100, (9, 300): 300,
    }  # fmt: skip
    assert [scans.share(1, n) for n in (1, 31, 63)] == [1, 31, 63]
