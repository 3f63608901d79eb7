"""Whether a network fits a chip, where it goes, and what would make it fit if it does not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from export.fit.chip import Chip
from export.fit.demand import Demand, demands
from export.fit.energy import Estimate, count, estimate, installed, library, neurobench
from export.fit.figures import CHIP
from export.fit.placement import DoesNotFit, Placement, Shortage, place
from export.fit.remedies import Remedy, remedies
from export.fit.split import cores_of
from export.model.network import FixedNetwork
from export.twin.simulate import simulate

READINGS = {"neuron words": 1, "pool": 0}
"""Where TE may lie, and the value of the figure ``te_in_state`` that says so."""


@dataclass(frozen=True)
class Fit:
    """Outcome of :func:`fit`: a placement, or what runs short and what would help."""

    chip: Chip
    chips: int
    layers: tuple[Demand, ...]
    placement: Placement | None
    shortages: tuple[Shortage, ...]
    remedies: tuple[Remedy, ...]
    estimate: Estimate | None = None
    metrics: dict[str, Any] | None = None
    """NeuroBench's, if there were samples; ``by`` says whether its library counted them."""

    @property
    def fits(self) -> bool:
        """Whether every layer has its place."""
        return self.placement is not None

    @property
    def readings(self) -> dict[str, tuple[int, ...]]:
        """Cores of every layer, by where TE lies; 0 for a layer of which no neuron fits a core.

        Empty for a network without TE.
        """
        if all(layer.te is None for layer in self.layers):
            return {}
        return {
            name: cores_of(self.layers, self.chip.with_figures(te_in_state=value))
            for name, value in READINGS.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "fits": self.fits,
            "te_readings": {name: list(cores) for name, cores in self.readings.items()},
            "chip": self.chip.to_dict(),
            "chips": self.chips,
            "placement": None if self.placement is None else self.placement.to_dict(),
            "shortages": [vars(shortage) for shortage in self.shortages],
            "remedies": [remedy.to_dict() for remedy in self.remedies],
            "estimate": None if self.estimate is None else self.estimate.to_dict(),
            "neurobench": self.metrics,
        }


def fit(net: FixedNetwork, chip: Chip = CHIP, chips: int = 1, x: np.ndarray | None = None) -> Fit:
    """Place a network on a chip, or on several.

    Parameters
    ----------
    net
        The network in integers, from :func:`export.read_netx`.
    chip, chips
        The description of a chip, and how many of them the board has.
    x
        Samples (batch, channel, time) on which the twin counts operations, for energy and time.
    """
    if chips < 1:
        raise ValueError(f"chips: expected 1 or more, got {chips}")
    layers = demands(net)
    try:
        placement = place(layers, chip, chips)
    except DoesNotFit as error:
        found = remedies(layers, chip, chips, error.shortages)
        return Fit(chip, chips, layers, None, error.shortages, tuple(found))
    energy = metrics = None
    if x is not None:
        trace = simulate(net, x, trace=True)
        energy = estimate(net, placement, count(net, x, trace), x.shape[2])
        metrics = (library if installed() else neurobench)(net, x, trace)
    return Fit(chip, chips, layers, placement, (), (), energy, metrics)
