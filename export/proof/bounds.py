"""How large V and Θ of a CE-LIF layer can become, whatever the input.

The largest ends of the intervals that :mod:`export.proof.intervals` proves;
:mod:`export.proof.certificate` says which neuron and step they belong to.
"""

from __future__ import annotations

from typing import NamedTuple

from export.loihi2 import SAFE_STATE_MAX
from export.model.network import CelifLayer
from export.proof.intervals import intervals


class Bounds(NamedTuple):
    """Largest |V| and |Θ| over neurons and steps, before saturation."""

    v: int
    theta: int

    @property
    def safe(self) -> bool:
        """Whether neither register can ever saturate."""
        return max(self) <= SAFE_STATE_MAX


def worst_case(layer: CelifLayer, low: int, high: int) -> Bounds:
    """Bounds of ``layer`` for every input sequence with values in ``low``..``high``."""
    ends = intervals(layer, low, high)
    # A network at rest has Θ = Θ0, before the first step.
    return Bounds(int(ends.v.max()), max(int(ends.theta.max()), abs(layer.theta0_int)))
