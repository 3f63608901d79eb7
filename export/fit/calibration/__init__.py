"""Our counts of a core's memory next to tables that Intel's compiler printed."""

from export.fit.calibration.compare import TOLERANCE, Comparison, calibration, compare

__all__ = ["TOLERANCE", "Comparison", "calibration", "compare"]
