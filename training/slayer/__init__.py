"""What :mod:`training.block` needs and what works without lava-dl.

The neuron of a block, axonal delays, the linear readout, and the rounding of weights to mantissas.
"""
