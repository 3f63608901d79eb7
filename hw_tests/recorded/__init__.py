"""Traces that a chip produced and somebody published, as numbers, and how to compare with them."""

from hw_tests.recorded.backend import recorded_loihi2, shown_by_chip
from hw_tests.recorded.lif import lif_input, lif_network

__all__ = ["lif_input", "lif_network", "recorded_loihi2", "shown_by_chip"]
