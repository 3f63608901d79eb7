"""The oracle: the integer equations in plain Python, sharing no code with the steps.

There is one file a neuron, named as a file names the neuron. Each has ``run``, the layer over one
sample, and ``arguments``, which takes a layer's integers for it.

In a recurrent layer ``acc`` also has the weights times the layer's own spikes of the step before,
shifted left where a spike counts for more than an input. Each of the two sums may first be shifted
right, rounding down. rz(x, n) shifts right by n rounding towards zero, and sat limits to ±(2²³−1).
"""

from hw_tests.oracle.arithmetic import rz, saturate
from hw_tests.oracle.celif import celif_layer, cosine_te, held_te, packed_te
from hw_tests.oracle.cuba import cuba_layer
from hw_tests.oracle.readout import readout
from hw_tests.oracle.sdnn import sigma_delta_layer

__all__ = [
    "celif_layer",
    "cosine_te",
    "cuba_layer",
    "held_te",
    "packed_te",
    "readout",
    "rz",
    "saturate",
    "sigma_delta_layer",
]
