"""Alarms: limits beyond which the effect of quantisation is reported as suspicious."""

from __future__ import annotations

from dataclasses import dataclass

from celif.verification.gap import Gap, LayerGap

RATE_MOVED = 0.1
"""A layer's firing rate may move by this share of itself …"""

RATE_FLOOR = 0.005
"""… or by this many spikes per neuron and step, whichever is more."""

LEAST_AGREEMENT = 0.99
"""Share of samples for which float and fixed must predict the same."""

ALWAYS = 0.99
"""A layer that fires in a larger share of neuron steps than this carries no information."""


@dataclass(frozen=True)
class Alarm:
    """Something to look at; ``layer`` is None if it concerns the whole network."""

    kind: str
    layer: int | None
    message: str

    def __str__(self) -> str:
        where = "network" if self.layer is None else f"layer {self.layer}"
        return f"{where} {self.kind}: {self.message}"


def alarms(gap: Gap) -> tuple[Alarm, ...]:
    """Find everything suspicious in a measured gap, in the order of the layers."""
    found = [alarm for layer in gap.layers for alarm in _of_layer(layer)]
    if gap.prediction_agreement < LEAST_AGREEMENT:
        changed = round((1 - gap.prediction_agreement) * gap.samples)
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
