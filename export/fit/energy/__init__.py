"""Operations of a network, what they cost in energy and time, and published measurements."""

from export.fit.energy.counting import Activity, count, fan_out
from export.fit.energy.estimate import ADD_PJ, MULTIPLY_PJ, Estimate, estimate
from export.fit.energy.neurobench import neurobench
from export.fit.energy.neurobench_library import installed, library

__all__ = [
    "ADD_PJ",
    "MULTIPLY_PJ",
    "Activity",
    "Estimate",
    "count",
    "estimate",
    "fan_out",
    "installed",
    "library",
    "neurobench",
]
