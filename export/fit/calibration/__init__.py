"""Our counts of a core's memory next to tables that Intel's compiler printed."""

from export.fit.calibration.compare import TOLERANCE, Comparison, calibration, compare
from export.fit.calibration.tables import RULES

__all__ = ["RULES", "TOLERANCE", "Comparison", "calibration", "compare"]
