"""Neurons with gates: their equations by hand, and the kernel equals the plain loop."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from training.baselines.gated_neurons import GLIF, GatedNeuron, SoftALIF
from training.kernels.layer_scans import GatedScan
from training.kernels.scans.gated import Gates

FIRST = Gates(a=0.8, h=0.5, q=0.2, leak=0.03, beta=0.9, theta0=0.3, gamma=0.15)


class EveryGate(GatedNeuron):
    """A layer that learns every constant of the step, each per neuron, and a gain of every step."""

    scan = GatedScan(0.4, 0.25, gains=True)

    def __init__(self, neurons: int, steps: int) -> None:
        super().__init__(neurons)
        spread = 0.05 * torch.randn(len(FIRST), neurons).clamp(-1, 1)
        self.each = nn.Parameter(torch.tensor(FIRST)[:, None] + spread)
        self.gains = nn.Parameter(1 + 0.2 * torch.randn(steps))

    def gates(self, like: torch.Tensor) -> Gates:
        return Gates(*self.each)

    def gain(self, steps: int) -> torch.Tensor | None:
        return self.gains[:steps]


def test_glif_is_its_equation() -> None:
    layer = GLIF(1, 5)
    with torch.no_grad():
        layer.conductance.copy_(torch.logit(torch.tensor([0.9, 0.8, 0.2, 0.9, 0.7])))
    a, decay, r, leak, b, reset, threshold = layer.learnt.sigmoid().tolist()
    v, s, expected = 0.0, 0.0, []
    currents = (0.5, 0.1, 0.4, 0.4, -0.2)
    for x, g in zip(currents, (0.9, 0.8, 0.2, 0.9, 0.7), strict=True):
        kept = (1 - a * (1 - decay)) * v * (1 - r * s)
        v = kept - (1 - a) * leak + (1 - b * (1 - g)) * x - (1 - r) * reset * s
        s = float(v >= threshold)
        expected.append(s)
    spikes = layer(torch.tensor([[currents]])).flatten().tolist()
    assert spikes == expected == [1, 0, 1, 1, 0]


def test_soft_alif_is_its_equation() -> None:
    torch.manual_seed(2)
    layer = SoftALIF(1)
    alpha = torch.exp(-1 / layer.tau_m).item()
    rho = torch.exp(-1 / layer.tau_adp).item()
    v, s, b, expected = 0.0, 0.0, 0.0, []
    for x in (0.3, 0.1, 0.6, 0.4, -0.2, 0.5):
        b = rho * b + (1 - rho) * s
        theta = 0.01 + 1.8 * b
        v = alpha * v + (1 - alpha) * x - theta * s
        s = float(v >= theta)
        expected.append(s)
    current = layer.input_scale.item() * torch.tensor([[[0.3, 0.1, 0.6, 0.4, -0.2, 0.5]]])
    assert layer(current).flatten().tolist() == expected
    assert 0 < sum(expected) < 6


# Of one thread, of more samples than a group has, and of neurons that two threads share.
SHAPES = {
    "one sample": (1, 6, 23),
    "groups": (70, 6, 23),
    "one step": (5, 3, 1),
    "wide": (2, 70, 9),
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
@pytest.mark.parametrize("recurrent", [False, True], ids=["feedforward", "recurrent"])
@pytest.mark.parametrize("kind", [GLIF, SoftALIF, EveryGate])
def test_gated_kernel_equals_the_plain_loop_in_spikes_and_gradients(kind, recurrent, shape) -> None:
    torch.manual_seed(4)
    _, neurons, steps = shape
    layer = kind(neurons, steps).double()
    if kind is GLIF:
        torch.nn.init.normal_(layer.conductance)
    scale = 0.05 if kind is SoftALIF else 0.5
    current = (scale * torch.randn(shape, dtype=torch.float64) + 0.2 * scale).requires_grad_()
    weight = 0.3 * scale * torch.randn(neurons, neurons, dtype=torch.float64)
    weight.requires_grad_()
    wanted = [current, *layer.parameters(), *([weight] if recurrent else [])]
    found = {}
    for backend in ("auto", "reference"):
        spikes = layer(current, weight if recurrent else None, backend)
        factors = torch.linspace(-1, 1.3, spikes.numel(), dtype=torch.float64).view_as(spikes)
        found[backend] = spikes, torch.autograd.grad((spikes * factors).sum(), wanted)
    assert 0.05 < found["auto"][0].mean() < 0.95
    assert torch.equal(found["auto"][0], found["reference"][0])
    for ours, plain in zip(found["auto"][1], found["reference"][1], strict=True):
        assert plain.any() or steps == 1
        torch.testing.assert_close(ours, plain)


@pytest.mark.parametrize("last", [1.0, float("nan")])
def test_gradients_that_have_faded_away_are_zero_and_others_stay(last) -> None:
    layer = GLIF(1, 300)
    fade = layer.gates(torch.empty(0)).a.item()
    current = torch.full((1, 1, 300), -5.0)  # far from the threshold, so that nothing is added
    current[..., -2] = 40.0  # up to the threshold at the last step but one
    v = torch.zeros(1)
    for x in (layer.gain(300) * current[0, 0])[:-1]:
        v = fade * v + x - layer.gates(v).leak
    current[..., -2] += (layer.gates(v).theta0 - v) / layer.gain(300)[-2] + 1e-3
    current = current.detach().requires_grad_()
    factors = torch.zeros(300)
    factors[-2] = last
    spikes = layer(current)
    assert spikes.flatten().nonzero().flatten().tolist() == [298]
    (grad,) = torch.autograd.grad((spikes * factors).sum(), current)
    steps = grad.flatten()[:299].flip(0)
    if last != last:
        assert steps.isnan().all()
        return
    sizes = fade ** torch.arange(299, dtype=torch.float64) * steps[0]
    kept = sizes >= 1e-30
    assert 100 < kept.sum() < 200
    torch.testing.assert_close(steps[kept].double(), sizes[kept], rtol=1e-4, atol=0)
    assert not steps[~kept][1:].any()


def test_thresholds_that_move_are_refused_by_a_scan_for_still_ones() -> None:
    class Moving(EveryGate):
        scan = GatedScan(0.0, 0.25, gains=True, still=True)

    with pytest.raises(ValueError, match=r"layer 0: expected β = γ = r = 0 .* without still=True"):
        Moving(4, 6)(torch.rand(2, 4, 6))
