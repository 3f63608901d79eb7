"""The bring-up kit for writing the neuron's microcode for a chip.

A specification in prose, the step as a listing, and golden vectors to compare with.
"""

from hw_tests.golden.check import CheckResult, check
from hw_tests.golden.kit import write_kit

__all__ = ["CheckResult", "check", "write_kit"]
