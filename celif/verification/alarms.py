"""Alarms: limits beyond which the effect of quantisation is reported as suspicious."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from celif.inputs.likeness import unlike
from celif.verification.gap import Gap, LayerGap
from export.model.network import Encoding

RATE_MOVED = 0.1
"""A layer's firing rate may move by this share of itself …"""

RATE_FLOOR = 0.005
"""… or by this many spikes per neuron and step, whichever is more."""

LEAST_AGREEMENT = 0.99
"""Share of samples for which float and fixed should predict the same.

The accuracy cannot fall by more than the share of predictions that change, so this share bounds the
loss to one point, on samples without labels, too.
"""

SIGNIFICANCE = 0.05
"""How often chance alone may raise the alarm for a network that is just within that share.

Samples are drawn, and so is the number of those that change. It is compared with the binomial
distribution of that share: a small set of samples needs more than its bare hundredth to prove a
network beyond it, 8 of 360 and 118 of 10,000.
"""

ALWAYS = 0.99
"""A layer that fires in a larger share of neuron steps than this carries no information."""


LARGEST_FALL = 0.02
"""A fall of the accuracy by more than this share of the samples fails the verification …"""

FALL_DEVIATIONS = 2
"""… if it is more than this many standard deviations of what chance would change."""


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
    if beyond_chance(changed, gap.samples):
        found.append(
            Alarm(
                "predictions",
                None,
                f"{changed} of {gap.samples} samples get a different class than in float; "
                f"{LEAST_AGREEMENT:.0%} should get the same. Look at the layer whose spikes agree "
                "least; per-channel exponents, more bits or quantisation-aware training help",
            )
        )
    return tuple(found)


def beyond_chance(changed: int, samples: int) -> bool:
    """Whether more predictions changed than chance explains."""
    return chance(changed, samples) <= SIGNIFICANCE


def chance(changed: int, samples: int) -> float:
    """Probability of at least that many changed predictions where :data:`LEAST_AGREEMENT` holds."""
    log_share, log_rest = math.log(1 - LEAST_AGREEMENT), math.log(LEAST_AGREEMENT)

    def exactly(count: int) -> float:
        ways = math.lgamma(samples + 1) - math.lgamma(count + 1) - math.lgamma(samples - count + 1)
        return math.exp(ways + count * log_share + (samples - count) * log_rest)

    return math.fsum(map(exactly, range(changed, samples + 1)))


def _fall(gap: Gap, inputs: Alarm | None) -> Alarm | None:
    """Judge the accuracy: chance moves samples both ways, a broken export only one."""
    fell = gap.lost - gap.gained
    usual = FALL_DEVIATIONS * (gap.lost + gap.gained) ** 0.5
    if fell <= LARGEST_FALL * gap.samples or fell <= usual:
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
    found = unlike(encoding, x)
    return None if found is None else Alarm("inputs", None, found)


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
