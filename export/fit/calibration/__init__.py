"""Our counts of a core's memory next to tables that Intel's compiler printed."""

from export.fit.calibration.deviations import TOLERANCE, TableComparison, calibration, compare
from export.fit.calibration.tables import RULES

__all__ = ["RULES", "TOLERANCE", "TableComparison", "calibration", "compare"]
