"""Neurons with other contexts: kernel and reference agree, and V⊙TE is CE-LIF."""

from __future__ import annotations

import pytest
import torch

from training import Network, functional
from training.kernels import adaptive
from training.kernels.adaptive import CONTEXTS, AdaptiveParams


def layer(recurrent: bool, batch: int = 5, neurons: int = 4, steps: int = 17) -> dict:
    """Random tensors of a layer, in float64 so that sums in another order agree closely."""
    generator = torch.Generator().manual_seed(3)

    def draw(*shape: int, mean: float, std: float) -> torch.Tensor:
        values = mean + std * torch.randn(shape, generator=generator, dtype=torch.float64)
        return values.requires_grad_()

    return {
        "current": draw(batch, neurons, steps, mean=0.25, std=0.4),
        "te": draw(neurons, steps, mean=0.05, std=0.2),
        "alpha": draw(neurons, mean=0.5, std=0.05),
        "beta": draw(neurons, mean=0.9, std=0.02),
        "theta0": draw(neurons, mean=0.3, std=0.03),
        "gamma": draw(neurons, mean=0.2, std=0.1),
        "weight": draw(neurons, neurons, mean=0.0, std=0.3) if recurrent else None,
    }


def outputs(run, tensors: dict, context: adaptive.Context) -> tuple[torch.Tensor, list]:
    neuron = AdaptiveParams(*(tensors[name] for name in AdaptiveParams._fields))
    spikes = run(tensors["current"], tensors["te"], neuron, context, 0.2, weight=tensors["weight"])
    given = [tensor for tensor in tensors.values() if tensor is not None]
    weights = torch.linspace(-1, 1, spikes.numel(), dtype=spikes.dtype).view_as(spikes)
    grads = torch.autograd.grad((spikes * weights).sum(), given, allow_unused=True)
    return spikes, [torch.zeros_like(t) if g is None else g for t, g in zip(given, grads)]  # noqa: B905


@pytest.mark.parametrize("recurrent", [False, True], ids=["feedforward", "recurrent"])
@pytest.mark.parametrize("name", CONTEXTS)
def test_kernel_equals_reference_in_spikes_and_every_gradient(name: str, recurrent: bool) -> None:
    tensors, context = layer(recurrent), CONTEXTS[name][1]
    spikes, grads = outputs(adaptive.fused, tensors, context)
    expected, expected_grads = outputs(adaptive.reference, tensors, context)
    assert 0.1 < expected.mean() < 0.9
    assert torch.equal(spikes, expected)
    names = [key for key, tensor in tensors.items() if tensor is not None]
    for key, grad, wanted in zip(names, grads, expected_grads, strict=True):
        torch.testing.assert_close(grad, wanted, msg=lambda text, key=key: f"{key}: {text}")
        assert wanted.abs().sum() > 0 or key == "te"


@pytest.mark.parametrize("last", [1.0, float("nan")])
@pytest.mark.parametrize("name", ["s", "te", "s*te"])
def test_gradients_that_have_faded_away_are_zero_and_others_stay(name: str, last: float) -> None:
    current = torch.full((1, 1, 300), -5.0)  # far from the threshold, so that nothing is added
    current[..., -2] = 5.35  # up to 0.35, above Θ = 0.3, at the last step but one
    current.requires_grad_()
    te = torch.zeros(1, 300)
    neuron, context = adaptive.neurons_in(name, te, 0.5, 0.99, 0.3)
    spikes = adaptive.fused(current, te, neuron, context, 0.2)
    assert spikes.flatten().nonzero().flatten().tolist() == [298]
    factors = torch.zeros(300)
    factors[-2] = last
    (grad,) = torch.autograd.grad((spikes * factors).sum(), current)
    steps = grad.flatten()[:299].flip(0)
    if last != last:
        assert steps.isnan().all()
        return
    sizes = 0.5 ** torch.arange(299, dtype=torch.float64)
    kept = sizes >= 1e-30
    assert kept.sum() == 100
    assert torch.equal(steps[kept].double(), sizes[kept])
    assert not steps[~kept].any()


def test_v_times_te_is_celif() -> None:
    tensors = layer(recurrent=False)
    neuron, context = adaptive.neurons_in("v*te", tensors["te"], 0.5, 0.99, 0.3)
    spikes = adaptive.fused(tensors["current"], tensors["te"], neuron, context, 0.2)
    assert torch.equal(spikes, functional.celif(tensors["current"], tensors["te"]))
    assert spikes.mean() > 0.1


def test_networks_differ_by_context_and_agree_between_backends() -> None:
    x, logits = torch.rand(3, 1, 30), {}
    for name in CONTEXTS:
        found = []
        for backend in ("auto", "reference"):
            torch.manual_seed(0)
            net = Network(1, (12, 8), 4, 30, context=name, backend=backend)
            with torch.no_grad():
                net.te.mul_(10)
                net.layers[0].weight.mul_(2)
            found.append(net(x))
        assert torch.equal(*found), name
        logits[name] = found[0]
    for a, b in zip(list(logits)[:-1], list(logits)[1:], strict=True):
        assert not torch.equal(logits[a], logits[b]), (a, b)


def test_recurrent_network_takes_every_context() -> None:
    torch.manual_seed(0)
    nets = {name: Network(1, (8, 8), 3, 20, context=name, recurrent=True) for name in CONTEXTS}
    for name, net in nets.items():
        net(torch.rand(2, 1, 20)).sum().backward()
        assert net.recurrent["0"].weight.grad is not None, name


def test_unknown_context_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"context: expected one of s, v, te.*got 'q'"):
        Network(1, (4,), 2, 5, context="q")
