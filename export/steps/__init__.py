"""The integer recurrences, one file a neuron.

Each ``step`` is written once in plain operators and serves numpy arrays (Lava's models) and, when
compiled, scalars (the twin).
"""
