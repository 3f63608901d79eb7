"""Whether and how a network fits on a chip: memory, cores, operations, energy and time."""
