"""From trained floats to integers: reading the network, choosing formats, rounding."""
