"""Whether and how a network fits on a chip: memory, cores, operations, energy and time."""

from export.fit.chip import Chip, read_chip
from export.fit.figures import CHIP
from export.fit.network_fit import Fit, fit

__all__ = ["CHIP", "Chip", "Fit", "fit", "read_chip"]
