"""What must hold before anything is timed: a fast wrong answer is not reported."""

from __future__ import annotations

import numpy as np
import torch

from export import simulate
from hw_tests.networks.random_nets import random_network
from hw_tests.plain_steps import run_plain
from hw_tests.trace_difference import compare, firing_rates
from training import Network, functional


class RedTest(AssertionError):
    """An implementation that is about to be timed is wrong."""


def require(claim: bool, message: str) -> None:
    """Raise :class:`RedTest` with the message unless the claim holds."""
    if not claim:
        raise RedTest(message)


def fused_equals_reference(batch: int = 3, neurons: int = 13, steps: int = 60) -> None:
    """Same spikes, and gradients of current and TE to float32 tolerance."""
    draw = torch.Generator().manual_seed(1)
    current = 0.5 * torch.randn(batch, neurons, steps, generator=draw)
    te = 0.1 * torch.randn(neurons, steps, generator=draw)
    weight = torch.randn(batch, neurons, steps, generator=draw)
    results = []
    for backend in ("reference", "fused"):
        x, table = (tensor.clone().requires_grad_() for tensor in (current, te))
        spikes = functional.celif(x, table, backend=backend)
        gradients = torch.autograd.grad((spikes * weight).sum(), (x, table))
        results.append((spikes.detach(), gradients))
    (spikes, expected), (fused_spikes, found) = results
    rate = float(spikes.mean())
    require(0.02 < rate < 0.9, f"parity case: expected neurons to fire, got a rate of {rate:.3f}")
    require(torch.equal(spikes, fused_spikes), "fused spikes differ from the reference")
    for name, ours, theirs in zip(("current", "TE"), found, expected, strict=True):
        # The two sum in different orders; 60 steps of float32 stay well within 1e-4.
        close = torch.allclose(ours, theirs, rtol=1e-4, atol=1e-5)
        require(close, f"fused gradient of {name} differs from the reference")


def network_equals_reference() -> None:
    """Same logits, and every parameter's gradient, in the network that is timed, made smaller."""
    results = []
    for backend in ("reference", "fused"):
        torch.manual_seed(1)
        net = Network(1, (9, 13), 4, 60, backend=backend)
        x = torch.rand(5, 1, 60)
        logits = net(x)
        logits.square().sum().backward()
        gradients = {name: p.grad for name, p in net.named_parameters()}
        results.append((logits.detach(), gradients))
    (logits, expected), (fused_logits, found) = results
    require(torch.equal(logits, fused_logits), "fused logits differ from the reference")
    for name, gradient in found.items():
        other = expected[name]
        assert gradient is not None
        assert other is not None
        close = torch.allclose(gradient, other, rtol=1e-4, atol=1e-6)
        require(close, f"fused gradient of {name} differs from the reference")


def twin_equals_step(steps: int = 60) -> None:
    """The twin's V, Θ and spikes are those of the integer step, called by hand on arrays."""
    rng = np.random.default_rng(1)
    net = random_network(rng, (9, 17), steps)
    x = rng.integers(0, 16, (3, net.encoding.channels, steps))
    trace = simulate(net, x, trace=True)
    for i, rate in enumerate(firing_rates(trace)):
        require(0.02 < rate < 0.9, f"parity case: layer {i} expected to fire, got {rate:.3f}")
    outcome = compare(run_plain(net, x), trace)
    require(not outcome.mismatches, f"the twin differs from the step: {outcome.first}")


def check() -> None:
    """Raise :class:`RedTest` unless fused kernel and twin are right."""
    fused_equals_reference()
    network_equals_reference()
    twin_equals_step()
