"""The backward equations of CE-LIF against autograd, step by step and summed up over time.

The paper follows the gradient of the threshold back to the steps before, its "highway"::

    GΘ[t] = −Σ_{i ≥ t} β^(i−t) · GS[i] · g'[i]

so that V[t] receives GΘ[t+1]·TE[t+1] = −TE[t+1]·Σ_{i > t} β^(i−t−1)·GS[i]·g'[i] through it.
"""

from __future__ import annotations

import torch

from training import functional
from training.kernels import adaptive

NEURONS, STEPS = 6, 120


def _drawn(seed: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Currents, TE and gradients from above, in float64."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, STEPS, generator=generator, dtype=torch.float64)

    return 0.2 + 0.4 * normal(8, NEURONS), 0.05 + 0.1 * normal(NEURONS), normal(8, NEURONS)


def _relative(found: torch.Tensor, expected: torch.Tensor) -> float:
    return float((found - expected).abs().max() / expected.abs().max())


def step_error(seed: int = 0) -> float:
    """Largest difference between the derived gradients and autograd's, over their largest value."""
    current, te, above = _drawn(seed)
    found = []
    for backend in ("fused", "reference"):
        x, table = (tensor.clone().requires_grad_() for tensor in (current, te))
        spikes = functional.celif(x, table, backend=backend)
        found.append(torch.autograd.grad((spikes * above).sum(), (x, table)))
    return max(_relative(a, b) for a, b in zip(*found, strict=True))


def summed_error(seed: int = 0) -> float:
    """The same of GΘ, summed up over all later steps, and autograd's."""
    current, te, above = _drawn(seed)
    te.requires_grad_()
    neuron, context = adaptive.neurons_in(
        "v*te", te, functional.ALPHA, functional.BETA, functional.THETA0
    )
    states = list(adaptive.states(current, te, neuron, context, functional.WIDTH))
    loss = sum((state.s * above[..., t]).sum() for t, state in enumerate(states))
    thetas, spikes = [state.theta for state in states], [state.s for state in states]
    assert isinstance(loss, torch.Tensor)
    grads = torch.autograd.grad(loss, (*thetas, *spikes))
    grad_theta, grad_s = torch.stack(grads[:STEPS]), torch.stack(grads[STEPS:])
    boxed = torch.stack([(state.v - state.theta).abs() < functional.WIDTH for state in states])
    later = torch.arange(STEPS)[None, :] - torch.arange(STEPS)[:, None]  # i − t
    decay = torch.where(later >= 0, functional.BETA ** later.clamp(min=0).double(), 0.0)
    summed = -torch.einsum("ti,ibn->tbn", decay, grad_s * boxed)
    return _relative(summed, grad_theta)
