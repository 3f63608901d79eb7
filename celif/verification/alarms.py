"""Alarms: limits beyond which the effect of quantisation is reported as suspicious."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from celif.verification.gap import Gap, LayerGap
from export.model.input_coding import Encoding

RATE_MOVED = 0.1
"""A layer's firing rate may move by this share of itself …"""

RATE_FLOOR = 0.005
"""… or by this many spikes per neuron and step, whichever is more."""

LEAST_AGREEMENT = 0.99
"""Share of samples for which float and fixed should predict the same, chance aside."""

ALWAYS = 0.99
"""A layer that fires in a larger share of neuron steps than this carries no information."""


LARGEST_FALL = 0.02
"""A fall of the accuracy by more than this share of the samples fails the verification …"""

CHANCE_DEVIATIONS = 2
"""… if it is more than this many standard deviations of what chance would change."""

CLIPPED = 0.01
"""Share of input values that may lie beyond the largest graded spike."""

LEAST_RANGE = 1 / 16
"""Share of the input range that the largest samples should reach."""


@dataclass(frozen=True)
class Alarm:
    """Something to look at; ``layer`` is None if it concerns the whole network."""

    kind: str
    layer: int | None
    message: str
    fails: bool = False
    """Whether the verification fails, even where all integers are equal."""

    def __str__(self) -> str:
        where = "network" if self.layer is None else f"layer {self.layer}"
        return f"{where} {self.kind}: {self.message}"


def alarms(gap: Gap, inputs: Alarm | None = None) -> tuple[Alarm, ...]:
    """Find everything suspicious in a measured gap: the likely cause first, then by layer."""
    found = [] if inputs is None else [inputs]
    if (fall := _fall(gap, inputs)) is not None:
        found.append(fall)
    found += [alarm for layer in gap.layers for alarm in _of_layer(layer)]
    changed = round((1 - gap.prediction_agreement) * gap.samples)
    if changed > most_changed(gap.samples):
        found.append(
            Alarm(
                "predictions",
                None,
                f"{changed} of {gap.samples} samples get a different class than in float; "
                f"{LEAST_AGREEMENT:.0%} should get the same. Look at the layer whose spikes agree "
                "least; more bits or quantisation-aware training help",
            )
        )
    return tuple(found)


def most_changed(samples: int) -> float:
    """Predictions that may change before it is an alarm: the allowed share, and chance above it."""
    usual = (1 - LEAST_AGREEMENT) * samples
    return usual + CHANCE_DEVIATIONS * max(usual, 0.0) ** 0.5


def _fall(gap: Gap, inputs: Alarm | None) -> Alarm | None:
    """Judge the accuracy: chance moves samples both ways, a broken export only one."""
    fell = gap.lost - gap.gained
    chance = CHANCE_DEVIATIONS * (gap.lost + gap.gained) ** 0.5
    if fell <= LARGEST_FALL * gap.samples or fell <= chance:
        return None
    remedy = "the inputs are the likely cause, see above"
    if inputs is None:
        remedy = "export with more bits, or fine-tune with celif finetune"
    return Alarm(
        "accuracy",
        None,
        f"it fell from {gap.accuracy_float:.2%} in float to {gap.accuracy_fixed:.2%} in integers; "
        f"{remedy}",
        fails=True,
    )


def input_alarm(x: np.ndarray, encoding: Encoding) -> Alarm | None:
    """Compare float samples with the range that a file was calibrated for."""
    low, high = (bound * encoding.scale for bound in encoding.range)
    largest = float(np.abs(x).max())
    if largest == 0:
        return Alarm("inputs", None, "every sample is zero; check how the samples were read")
    half = encoding.scale / 2
    clipped = float(((x < low - half) | (x > high + half)).mean())
    remedy = "export with calibration samples that are scaled like these"
    ranged = (
        f"they reach from {float(x.min()):.4g} to {float(x.max()):.4g}, the file was calibrated"
    )
    if clipped > CLIPPED:
        return Alarm(
            "inputs",
            None,
            f"{clipped:.1%} of the input values are clipped: {ranged} for {low:.4g} to {high:.4g}; "
            f"{remedy}",
        )
    if largest < LEAST_RANGE * high:
        return Alarm(
            "inputs",
            None,
            f"the samples use {largest / high:.2%} of the input range: {ranged} for {low:.4g} to "
            f"{high:.4g}; {remedy}",
        )
    return None


def _of_layer(gap: LayerGap) -> list[Alarm]:
    found = []
    rates = f"{gap.rate_float:.1%} in float, {gap.rate_fixed:.1%} in integers"
    if gap.rate_fixed == 0 and gap.rate_float > 0:
        found.append(Alarm("silent", gap.layer, f"it never fires; {rates}"))
    elif gap.rate_fixed > ALWAYS >= gap.rate_float:
        found.append(Alarm("always firing", gap.layer, f"it carries no information; {rates}"))
    elif abs(gap.rate_fixed - gap.rate_float) > max(RATE_FLOOR, RATE_MOVED * gap.rate_float):
        limit = f"a change of more than {RATE_MOVED:.0%}"
        found.append(Alarm("rate", gap.layer, f"{rates}: {limit}"))
    if gap.saturations:
        found.append(
            Alarm(
                "saturated",
                gap.layer,
                f"V or Θ stood {gap.saturations:,} times at the end of its register and was cut "
                "off there; export with fewer fractional bits, or calibrate with such samples",
            )
        )
    lost = gap.silent_fixed - gap.silent_float
    if gap.rate_fixed > 0 and lost > max(1, RATE_MOVED * gap.neurons):
        found.append(
            Alarm("silent neurons", gap.layer, f"{lost} of {gap.neurons} neurons fell silent")
        )
    return found
