"""Any module as its own forward pass computes it: a recorded pass, read as layers of neurons.

:func:`record` follows a forward pass on real data, :func:`lower` makes a chain of layers of it,
which is what a file holds.
"""

from export.graph.follow import Recording, record
from export.graph.lower import lower

__all__ = ["Recording", "lower", "record"]
