"""The twin: a batched simulator of the integer network, bit for bit equal to Lava's models."""
