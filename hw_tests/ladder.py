"""The parity ladder: from the float reference, rung by rung, to the chip.

====  =============================================================  ===========================
rung  compared                                                       must
====  =============================================================  ===========================
0     float reference, fused kernel                                  same spikes, gradients close
1     PyTorch with the file's dequantised parameters, Lava float     equal V, Θ, S
2     integer twin, quantisation-aware forward                       equal integers
3     integer twin, Lava fixed                                       equal V, Θ, S
4     Lava fixed, Loihi 2                                            equal
====  =============================================================  ===========================

A rung that did not run says so and why; it never counts as passed.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from export import FixedNetwork, ModelError
from export.model import CelifLayer
from hw_tests.backends import TARGETS, Backend, DequantisedLayer, backend, float_layers
from hw_tests.trace import compare
from training import fused, reference
from training.functional import WIDTH

CHIP = 4
"""The rung that needs a Loihi."""

UNASKED, UNAVAILABLE, INAPPLICABLE = "not asked for", "not available", "not applicable"

GRADIENT_TOLERANCE = 1e-4
"""Relative to the largest gradient: sums of T·batch float32 terms in another order."""


@dataclass(frozen=True)
class Rung:
    """A pair to compare: the reference, which needs no asking for, and what is under test."""

    number: int
    compared: str
    backends: tuple[Backend, ...]

    @property
    def target(self) -> str:
        """The target under test."""
        return self.backends[-1].target

    def why_not(self, targets: Collection[str]) -> str | None:
        """Why the rung does not run with these targets, or None."""
        if self.target not in targets:
            return f"target {self.target} was not asked for"
        reasons = (needed.missing() for needed in self.backends)
        return next((reason for reason in reasons if reason is not None), None)


RUNGS = (
    Rung(0, "float reference ↔ fused kernel", (backend("torch", "float"),)),
    Rung(
        1,
        "PyTorch, dequantised ↔ Lava float",
        (backend("torch", "float"), backend("lava", "float")),
    ),
    Rung(
        2,
        "integer twin ↔ quantisation-aware forward",
        (backend("twin", "fixed"), backend("torch", "fixed")),
    ),
    Rung(3, "integer twin ↔ Lava fixed", (backend("twin", "fixed"), backend("lava", "fixed"))),
    Rung(4, "Lava fixed ↔ Loihi 2", (backend("lava", "fixed"), backend("loihi2", "fixed"))),
)


@dataclass(frozen=True)
class Result:
    """Outcome of a rung; ``verdict`` is ``equal``, ``DIFFERS`` or ``not run``."""

    rung: int
    compared: str
    verdict: str
    detail: str = ""
    why: str = ""
    """Of a rung that did not run: ``not asked for``, ``not available`` or ``not applicable``."""
    steps: int = 0
    values: int = 0
    mismatches: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


def climb(
    net: FixedNetwork, x: np.ndarray, targets: Collection[str] = ("torch", "twin", "lava")
) -> list[Result]:
    """Run every rung that can run, on ``x`` (batch, channel, time)."""
    unknown = set(targets) - set(TARGETS)
    if unknown:
        raise ValueError(f"target: expected some of {', '.join(TARGETS)}, got {sorted(unknown)}")
    return [_try(rung, net, x, targets) for rung in RUNGS]


def _try(rung: Rung, net: FixedNetwork, x: np.ndarray, targets: Collection[str]) -> Result:
    def not_run(reason: str, why: str) -> Result:
        return Result(rung.number, rung.compared, "not run", reason, why)

    if any(b.arithmetic == "float" for b in rung.backends) and not _all_celif(net):
        return not_run("the network has CUBA layers, which run in fixed point only", INAPPLICABLE)
    if (reason := rung.why_not(targets)) is not None:
        return not_run(reason, UNAVAILABLE if rung.target in targets else UNASKED)
    if rung.number == 0:
        return _kernels(rung, net, x)
    first, second = rung.backends
    try:
        outcome = compare(first.run(net, x), second.run(net, x))
    except ModelError as error:  # a back end that knows fewer kinds of network
        return not_run(str(error), INAPPLICABLE)
    return Result(
        rung.number,
        rung.compared,
        "DIFFERS" if outcome.mismatches else "equal",
        f"first difference: {outcome.first}" if outcome.first else "",
        steps=x.shape[0] * x.shape[2],
        values=outcome.values,
        mismatches=outcome.mismatches,
    )


def _all_celif(net: FixedNetwork) -> bool:
    return all(isinstance(layer, CelifLayer) for layer in net.layers)


def _kernels(rung: Rung, net: FixedNetwork, x: np.ndarray) -> Result:
    """Rung 0: both kernels on the same currents, layer by layer, spikes and gradients."""
    values = mismatches = 0
    detail = ""
    for i, run in enumerate(float_layers(net, net.encode(x))):
        runs = [_spikes_and_gradients(k, run.current, run.values) for k in (reference, fused)]
        (spikes, *grads), (fused_spikes, *fused_grads) = runs
        wrong = spikes != fused_spikes
        values += wrong.numel()
        mismatches += int(wrong.sum())
        if wrong.any() and not detail:
            sample, neuron, step = wrong.nonzero()[0].tolist()
            detail = f"first difference: sample {sample}, layer {i}, step {step}, neuron {neuron}"
        for name, ours, theirs in zip(("current", "TE"), grads, fused_grads, strict=True):
            error = float((ours - theirs).abs().max() / ours.abs().max().clamp(min=1e-30))
            values += ours.numel()
            if error > GRADIENT_TOLERANCE:
                mismatches += 1
                detail = detail or f"layer {i} gradient of {name}: relative error {error:.1e}"
    return Result(
        rung.number,
        rung.compared,
        "DIFFERS" if mismatches else "equal",
        detail,
        steps=x.shape[0] * x.shape[2],
        values=values,
        mismatches=mismatches,
    )


def _spikes_and_gradients(
    kernel: Any, current: torch.Tensor, floats: DequantisedLayer
) -> tuple[torch.Tensor, ...]:
    current = current.detach().clone().requires_grad_()
    te = floats.te.clone().requires_grad_()
    spikes = kernel.celif(current, te, floats.params, WIDTH)
    weights = torch.linspace(-1, 1, spikes.numel()).reshape(spikes.shape)
    return (spikes.detach(), *torch.autograd.grad((spikes * weights).sum(), (current, te)))
