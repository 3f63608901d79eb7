"""Comparing two traces: where they first differ, and by how much."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from export import Trace

# In the order in which a neuron computes them, so that the first difference is the cause.
VARIABLES = ("theta", "v", "spikes")


STEPS_NAMED = 8
"""Steps with a difference that are named."""
AROUND = 3
"""Steps shown before and after a difference."""


@dataclass(frozen=True)
class Moment:
    """One step of one neuron on both sides, each (expected, found); None if a side hides it."""

    step: int
    theta: tuple[Any, Any] | None
    v: tuple[Any, Any] | None
    spikes: tuple[Any, Any] | None


@dataclass(frozen=True)
class Difference:
    """The first place, in the order of computation, at which two traces differ."""

    sample: int
    layer: int
    step: int
    neuron: int
    variable: str
    expected: Any
    found: Any
    around: tuple[Moment, ...] = ()
    """The neuron's registers from some steps before to some steps after; none of a readout's."""

    def __str__(self) -> str:
        return (
            f"sample {self.sample}, layer {self.layer}, step {self.step}, neuron {self.neuron}, "
            f"{self.variable}: expected {self.expected}, found {self.found}"
        )


@dataclass(frozen=True)
class Comparison:
    """How many values of two traces were compared, how many differ, and which first."""

    values: int
    mismatches: int
    first: Difference | None
    steps: tuple[int, ...] = ()
    """Steps at which a layer differs, in order; at most :data:`STEPS_NAMED` of them."""


def _pairs(expected: Trace, found: Trace) -> list[tuple[int, str, np.ndarray, np.ndarray]]:
    """Every (layer, variable) that both traces hold."""
    if expected.spikes is None or found.spikes is None:
        raise ValueError("traces: expected spikes in both, got none; run with trace=True")
    if len(expected.spikes) != len(found.spikes):
        raise ValueError(
            f"traces: expected {len(expected.spikes)} layers, found {len(found.spikes)}"
        )
    pairs = []
    for layer, (ours, theirs) in enumerate(zip(_layers(expected), _layers(found), strict=True)):
        for name in VARIABLES:
            a, b = ours[name], theirs[name]
            # Lava does not show the states of a stock LIF, which has no threshold of its own.
            if a is None or b is None:
                if ours["theta"] is not None or theirs["theta"] is not None:
                    raise ValueError(f"traces: layer {layer} {name}: expected it in both, got none")
                continue
            if a.shape != b.shape:
                raise ValueError(
                    f"traces: layer {layer} {name}: expected shape {a.shape}, found {b.shape}"
                )
            pairs.append((layer, name, a, b))
    return pairs


def _layers(trace: Trace) -> list[dict[str, np.ndarray | None]]:
    """Every layer's variables by name."""
    columns = [getattr(trace, name) or [None] * len(trace.spikes or ()) for name in VARIABLES]
    return [dict(zip(VARIABLES, layer, strict=True)) for layer in zip(*columns, strict=True)]


def compare(expected: Trace, found: Trace) -> Comparison:
    """Compare two traces value by value; equality is exact, for floats too."""
    values = mismatches = 0
    candidates = []
    where: set[int] = set()
    for layer, name, a, b in _pairs(expected, found):
        differs = a != b
        values += differs.size
        mismatches += int(np.count_nonzero(differs))
        if differs.any():
            where.update(np.flatnonzero(differs.any((0, 1))).tolist())
            # Time runs within a sample, so a sample's earliest step comes before the next sample.
            sample, step, neuron = np.argwhere(differs.transpose(0, 2, 1))[0].tolist()
            order = (sample, step, layer, VARIABLES.index(name), neuron)
            at = (sample, neuron, step)
            candidates.append(
                (order, Difference(sample, layer, step, neuron, name, a[at].item(), b[at].item()))
            )
    first = None
    if candidates:
        first = min(candidates, key=lambda c: c[0])[1]
        first = replace(first, around=_around(expected, found, first))
    wrong = expected.logits != found.logits
    values += wrong.size
    mismatches += int(np.count_nonzero(wrong))
    if first is None and wrong.any():
        sample, neuron = map(int, np.argwhere(wrong)[0])
        ours, theirs = expected.logits[sample, neuron].item(), found.logits[sample, neuron].item()
        last = len(expected.spikes or ())
        steps = expected.spikes[0].shape[2] if expected.spikes else 0
        first = Difference(sample, last, steps - 1, neuron, "logits", ours, theirs)
    return Comparison(values, mismatches, first, tuple(sorted(where)[:STEPS_NAMED]))


def _around(expected: Trace, found: Trace, first: Difference) -> tuple[Moment, ...]:
    """The registers of the differing neuron near the step at which it differs."""
    sides = _layers(expected)[first.layer], _layers(found)[first.layer]

    def pair(name: str, step: int) -> tuple[Any, Any] | None:
        ours, theirs = (side[name] for side in sides)
        if ours is None or theirs is None:
            return None
        at = first.sample, first.neuron, step
        return ours[at].item(), theirs[at].item()

    steps = (expected.spikes or [])[first.layer].shape[2]
    near = range(max(first.step - AROUND, 0), min(first.step + AROUND + 1, steps))
    return tuple(Moment(step, *(pair(name, step) for name in VARIABLES)) for step in near)


def assert_same_trace(expected: Trace, found: Trace) -> None:
    """Fail with the first difference, by layer, step, neuron, variable and both values."""
    result = compare(expected, found)
    if result.mismatches:
        raise AssertionError(
            f"{result.mismatches} of {result.values} values differ; first: {result.first}"
        )


def firing_rates(trace: Trace) -> list[float]:
    """Share of neuron steps with a spike, per layer."""
    return [float((spikes != 0).mean()) for spikes in trace.spikes or ()]
