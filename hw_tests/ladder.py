"""The parity ladder: from the float reference, rung by rung, to the chip.

====  =============================================================  ===========================
rung  compared                                                       must
====  =============================================================  ===========================
0     float reference, fused kernel                                  same spikes, gradients close
1     PyTorch with the file's dequantised parameters, Lava float     equal V, Θ, S
2     oracle, integer twin, quantisation-aware forward               equal integers
3     integer twin, Lava fixed                                       equal V, Θ, S
4     Lava fixed, Loihi 2                                            equal
====  =============================================================  ===========================

Rung 2 has two rows: the twin against the oracle, on as much as plain Python can do in a moment,
and the quantisation-aware forward pass against the twin. A rung that did not run says so and why;
it never counts as passed.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from export import FixedNetwork, ModelError
from hw_tests.backends import TARGETS, Backend, backend
from hw_tests.compare import Difference, compare
from hw_tests.dequantised import DequantisedLayer, float_layers
from training.functional import WIDTH
from training.kernels import fused, reference

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
    products: int | None = None
    """Most weights times inputs that its runs may take, of one sample; None: all of every one."""

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

    def share(self, net: FixedNetwork, x: np.ndarray) -> np.ndarray:
        """As much of the samples as the rung compares: all, or the first steps of the first."""
        if self.products is None:
            return x
        per_step = sum(layer.neurons * layer.inputs for layer in net.all_layers)
        return x[:1, :, : max(1, self.products // per_step)]


RUNGS = (
    Rung(0, "float reference ↔ fused kernel", (backend("torch", "float"),)),
    Rung(
        1,
        "PyTorch, dequantised ↔ Lava float",
        (backend("torch", "float"), backend("lava", "float")),
    ),
    Rung(
        2,
        "oracle ↔ integer twin",
        (backend("oracle", "fixed"), backend("twin", "fixed")),
        products=2_000_000,
    ),
    Rung(
        2,
        "integer twin ↔ quantisation-aware",
        (backend("twin", "fixed"), backend("torch", "fixed")),
    ),
    Rung(3, "integer twin ↔ Lava fixed", (backend("twin", "fixed"), backend("lava", "fixed"))),
    Rung(4, "Lava fixed ↔ Loihi 2", (backend("lava", "fixed"), backend("loihi2", "fixed"))),
)


def rung(number: int, target: str) -> Rung:
    """The rung of that number with that target under test."""
    return next(r for r in RUNGS if (r.number, r.target) == (number, target))


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
    first: Difference | None = None
    """Of a rung whose traces differ: where they do first, and the values around it."""

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
    return [_try(each, net, x, targets) for each in RUNGS]


def _try(rung: Rung, net: FixedNetwork, x: np.ndarray, targets: Collection[str]) -> Result:
    def not_run(reason: str, why: str) -> Result:
        return Result(rung.number, rung.compared, "not run", reason, why)

    if (reason := rung.why_not(targets)) is not None:
        return not_run(reason, UNAVAILABLE if rung.target in targets else UNASKED)
    if rung.number == 0:
        return _kernels(rung, net, x)
    first, second = rung.backends
    part = rung.share(net, x)
    try:
        outcome = compare(first.run(net, part), second.run(net, part))
    except ModelError as error:  # a back end that knows fewer kinds of network
        return not_run(str(error), INAPPLICABLE)
    return Result(
        rung.number,
        rung.compared,
        "DIFFERS" if outcome.mismatches else "equal",
        f"first difference: {outcome.first}" if outcome.first else "",
        steps=part.shape[0] * part.shape[2],
        values=outcome.values,
        mismatches=outcome.mismatches,
        first=outcome.first,
    )


def _kernels(rung: Rung, net: FixedNetwork, x: np.ndarray) -> Result:
    """Rung 0: both kernels on the same currents, layer by layer, spikes and gradients."""
    values = mismatches = 0
    detail = ""
    for i, run in enumerate(float_layers(net, net.encode(x))):
        if run.values is None or run.current is None:
            continue  # SLAYER's neurons, which are not ours to compare
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
