"""A trial of a kernel on the device at hand: a small case, held to the reference loop.

A GPU kernel that was only ever tested in an interpreter may be miscompiled by a driver or a
version of Triton that nobody has tried. Before ``backend="auto"`` trusts it, it must give the
spikes of the reference on this very device, and its gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from training.dynamics import Params
from training.kernels import reference

BATCH, NEURONS, STEPS, WIDTH = 2, 5, 24, 0.3
PARAMS = Params(alpha=0.5, beta=0.9, theta0=0.3)

TOLERANCE = 1e-3
"""Largest relative difference of gradients: float32 sums of 24 steps in another order."""

_verdicts: dict[tuple[Any, ...], str | None] = {}


def why_not(kernel: Callable[..., torch.Tensor], device: torch.device, dtype: Any) -> str | None:
    """Say what went wrong in the trial of ``kernel``; None if it can be trusted. Runs once."""
    key = (kernel, device, dtype)
    if key not in _verdicts:
        _verdicts[key] = _tried(kernel, device, dtype)
    return _verdicts[key]


def _tried(kernel: Callable[..., torch.Tensor], device: torch.device, dtype: Any) -> str | None:
    expected = _run(reference.celif, device, dtype)
    try:
        found = _run(kernel, device, dtype)
    except Exception as error:  # a compiler's or a driver's, of any kind
        return f"a kernel that runs on {device}, got {type(error).__name__} ({error})"
    if not torch.equal(found[0], expected[0]):
        return f"the reference's spikes in a trial on {device}, got other spikes"
    for name, ours, theirs in zip(("current", "TE", "bias"), found[1:], expected[1:], strict=True):
        largest = float(theirs.abs().max())
        if not torch.allclose(ours, theirs, rtol=TOLERANCE, atol=TOLERANCE * largest):
            return f"the reference's gradients in a trial on {device}, got others for the {name}"
    return None


def _run(
    kernel: Callable[..., torch.Tensor], device: torch.device, dtype: Any
) -> tuple[torch.Tensor, ...]:
    """Spikes of the small case, and the gradients of current, TE and bias."""
    source = torch.Generator().manual_seed(0)
    current = torch.randn(BATCH, NEURONS, STEPS, generator=source, dtype=torch.float64)
    te = 0.1 * torch.randn(NEURONS, STEPS, generator=source, dtype=torch.float64)
    bias = 0.2 * torch.randn(NEURONS, generator=source, dtype=torch.float64)
    weights = torch.randn(BATCH, NEURONS, STEPS, generator=source, dtype=torch.float64)
    given = [t.to(device, dtype).requires_grad_() for t in (current, te, bias)]
    with torch.enable_grad():
        spikes = kernel(given[0], given[1], PARAMS, WIDTH, given[2])
        loss = (spikes * weights.to(spikes)).sum()
        return spikes.detach(), *torch.autograd.grad(loss, given, materialize_grads=True)
