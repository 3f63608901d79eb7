"""The parity ladder: from the float reference, rung by rung, to the chip.

====  =============================================================  ===========================
rung  compared                                                       must
====  =============================================================  ===========================
0     float reference, fused kernel                                  same spikes, gradients close
1     PyTorch with the file's dequantised parameters, Lava float     equal V, Θ, S
2     oracle, integer twin, quantisation-aware forward               equal integers
3     integer twin, Lava fixed inline and in Lava's own runtime      equal V, Θ, S
4     Lava fixed, Loihi 2                                            equal
====  =============================================================  ===========================

Rung 2 has two rows: the twin against the oracle, on as many steps as plain Python can do in a
moment, and the quantisation-aware forward pass against the twin. Rung 3 has two as well: Lava's
models in one process, on all samples, and in Lava's own runtime, on the first two. A rung that did
not run says why, and never counts as passed. Samples are encoded once, and every back end runs them
once.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from export import FixedNetwork, ModelError, Trace
from hw_tests.backends import LAVA_OWN, TARGETS, Backend, backend, loihi2
from hw_tests.dequantised import DequantisedLayer, LayerRun, float_layers, float_trace
from hw_tests.recorded.backend import shown_by_chip
from hw_tests.trace_difference import STEPS_NAMED, Comparison, Difference, compare
from training import neurons
from training.neurons.kind import Drive

if TYPE_CHECKING:
    from lava_procs import Loihi

CHIP = 4
"""The rung that needs a Loihi."""

OWN_RUNTIME_SAMPLES = 2
"""Samples that rung 3 runs in Lava's own runtime, which takes milliseconds for each step."""

UNASKED, UNAVAILABLE, INAPPLICABLE = "not asked for", "not available", "not applicable"

KERNELS = ("reference", "fused")
GRADIENT_TOLERANCE = 1e-4
"""Relative to the largest gradient: sums of T·batch float32 terms in another order."""


@dataclass(frozen=True)
class Rung:
    """A pair to compare: the reference, which always runs, and the target under test."""

    number: int
    compared: str
    backends: tuple[Backend, ...]
    products: int | None = None
    """Limit on weights times steps, which shortens the first sample; None compares all samples."""
    samples: int | None = None
    """Limit on samples; None compares all."""

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

    def on(self, chip: Loihi | Backend) -> Rung:
        """Return the rung with that chip, or a recorded one, in the place of the default one."""
        there = chip if isinstance(chip, Backend) else loihi2(chip)
        swapped = (there if b.target == "loihi2" else b for b in self.backends)
        return replace(self, backends=tuple(swapped))

    def share(self, net: FixedNetwork, x: np.ndarray) -> np.ndarray:
        """Return the part of the samples that the rung compares."""
        x = x[: self.samples]
        if self.products is None:
            return x
        per_step = sum(layer.neurons * layer.inputs for layer in net.all_layers)
        return x[:1, :, : max(1, self.products // per_step)]


RUNGS: tuple[Rung, ...] = (
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
    Rung(
        3,
        "integer twin ↔ Lava fixed, inline",
        (backend("twin", "fixed"), backend("lava", "fixed")),
    ),
    Rung(
        3,
        "integer twin ↔ Lava's own runtime",
        (backend("twin", "fixed"), LAVA_OWN),
        samples=OWN_RUNTIME_SAMPLES,
    ),
    Rung(4, "Lava fixed ↔ Loihi 2", (backend("lava", "fixed"), backend("loihi2", "fixed"))),
)


def rung(number: int, target: str) -> Rung:
    """Find the rung of a number and a target under test."""
    return next(r for r in RUNGS if (r.number, r.target) == (number, target))


@dataclass(frozen=True)
class Result:
    """Result of a rung; ``verdict`` is ``equal``, ``DIFFERS`` or ``not run``."""

    rung: int
    compared: str
    verdict: str
    detail: str = ""
    why: str = ""
    """Why a rung did not run: ``not asked for``, ``not available`` or ``not applicable``."""
    steps: int = 0
    values: int = 0
    mismatches: int = 0
    first: Difference | None = None
    """Where the traces first differ, and the values around it."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


class Runs:
    """The traces of a network on one set of graded samples, each made when it is first needed."""

    def __init__(self, net: FixedNetwork, graded: np.ndarray) -> None:
        self.net, self.graded = net, graded
        self._traces: dict[tuple[str, tuple[int, ...]], Trace] = {}
        self._layers: list[LayerRun] | None = None

    @property
    def float_layers(self) -> list[LayerRun]:
        """The dequantised layers in float32, which rungs 0 and 1 both look at."""
        if self._layers is None:
            self._layers = list(float_layers(self.net, self.graded))
        return self._layers

    def of(self, back: Backend, part: np.ndarray) -> Trace:
        """Return the trace of a back end on a leading part of the samples."""
        key = str(back), part.shape
        if key not in self._traces:
            whole = part.shape == self.graded.shape
            if str(back) == "torch float" and whole and back == backend("torch", "float"):
                trace = float_trace(self.net, self.float_layers, part.shape[2])
            else:
                trace = back.run(self.net, part)
            self._traces[key] = trace
        return self._traces[key]


def climb(
    net: FixedNetwork,
    x: np.ndarray,
    targets: Collection[str] = ("torch", "twin", "lava"),
    chip: Loihi | Backend | None = None,
    refractory: bool = True,
) -> list[Result]:
    """Run every rung that can run.

    Parameters
    ----------
    net
        The network of a file.
    x
        Samples (batch, channel, time); floats are encoded as the file says, once for all rungs.
    targets
        What to put under test, of ``torch``, ``twin``, ``lava`` and ``loihi2``, or their names in a
        string, such as ``"twin,lava"``.
    chip
        The Loihi 2 of target ``loihi2``; by default the one that the environment names. A
        recorded chip (:func:`hw_tests.recorded.recorded_loihi2`) can stand in its place.
    refractory
        Whether V of stock LIF neurons is compared as a chip shows it, with the refractory count
        after a spike (:func:`hw_tests.recorded.shown_by_chip`).
    """
    if isinstance(targets, str):  # as on the command line; as a collection it would be its letters
        targets = [name.strip() for name in targets.split(",") if name.strip()]
    unknown = set(targets) - set(TARGETS)
    if unknown:
        raise ValueError(f"target: expected some of {', '.join(TARGETS)}, got {sorted(unknown)}")
    runs = Runs(net, net.encode(x))
    rungs = RUNGS if chip is None else tuple(each.on(chip) for each in RUNGS)
    return [_try(each, runs, targets, refractory) for each in rungs]


def _try(rung: Rung, runs: Runs, targets: Collection[str], refractory: bool = True) -> Result:
    def not_run(reason: str, why: str) -> Result:
        return Result(rung.number, rung.compared, "not run", reason, why)

    if (reason := rung.why_not(targets)) is not None:
        return not_run(reason, UNAVAILABLE if rung.target in targets else UNASKED)
    if rung.number == 0:
        return _kernels(rung, runs)
    first, second = rung.backends
    part = rung.share(runs.net, runs.graded)
    try:
        expected = runs.of(first, part)
        if rung.number == CHIP:
            expected = shown_by_chip(runs.net, expected, refractory)
        outcome = compare(expected, runs.of(second, part))
    except ModelError as error:  # a back end that knows fewer kinds of network
        return not_run(str(error), INAPPLICABLE)
    return Result(
        rung.number,
        rung.compared,
        "DIFFERS" if outcome.mismatches else "equal",
        _detail(outcome),
        steps=part.shape[0] * part.shape[2],
        values=outcome.values,
        mismatches=outcome.mismatches,
        first=outcome.first,
    )


def _detail(outcome: Comparison) -> str:
    """Say where traces differ: the first place and, if they are few, all of the steps."""
    if outcome.first is None:
        return ""
    few = 1 < len(outcome.steps) < STEPS_NAMED
    named = f"; at steps {', '.join(map(str, outcome.steps))}" if few else ""
    return f"first difference: {outcome.first}{named}"


def _kernels(rung: Rung, runs: Runs) -> Result:
    """Compare both kernels on the same currents, layer by layer, spikes and gradients."""
    values = mismatches = 0
    detail = ""
    for i, run in enumerate(runs.float_layers):
        if run.values is None or run.current is None:
            continue  # a SLAYER neuron, for which we have no kernels to compare
        outcomes = [_spikes_and_gradients(name, run.current, run.values) for name in KERNELS]
        (spikes, *grads), (fused_spikes, *fused_grads) = outcomes
        wrong = spikes != fused_spikes
        values += wrong.numel()
        mismatches += int(wrong.sum())
        if wrong.any() and not detail:
            sample, neuron, step = wrong.nonzero()[0].tolist()
            detail = f"first difference: sample {sample}, layer {i}, step {step}, neuron {neuron}"
        for name, ours, theirs in zip(("current", "TE"), grads, fused_grads, strict=False):
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
        steps=runs.graded.shape[0] * runs.graded.shape[2],
        values=values,
        mismatches=mismatches,
    )


def _spikes_and_gradients(
    backend: str, current: torch.Tensor, floats: DequantisedLayer
) -> tuple[torch.Tensor, ...]:
    neuron = neurons.find(floats.kind)
    current = current.detach().clone().requires_grad_()
    te = floats.te.clone().requires_grad_(neuron.has_te)
    constants: dict[str, Any] = {**floats.constants}
    params = neurons.NeuronParams(**constants)
    spikes = neuron.spikes(Drive(current), te, params, backend)
    weights = torch.linspace(-1, 1, spikes.numel()).reshape(spikes.shape)
    wanted = (current, te) if neuron.has_te else (current,)
    return (spikes.detach(), *torch.autograd.grad((spikes * weights).sum(), wanted))
