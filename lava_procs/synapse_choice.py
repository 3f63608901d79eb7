"""Choose the synapses that run a layer's weights exactly: Lava's stock ones wherever those do.

=========================================  ================================================
a layer of                                 runs as
=========================================  ================================================
dense weights                              Dense, or Sparse if asked for
kernels                                    Conv, if exact: its sums are 24 bits and unshifted
one input for each neuron, other kernels   Sparse, with the kernels' matrix
any of them, after axonal delays           DelayDense, DelaySparse
late inputs of shifted sums                our ShiftedDense
own spikes and graded inputs               our ShiftedDense
=========================================  ================================================

This module is not in the folder of a Process, because Lava executes every file there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from lava.magma.core.process.process import AbstractProcess
from lava.proc.conv.process import Conv
from lava.proc.dense.process import DelayDense, Dense
from lava.proc.sparse.process import DelaySparse, Sparse
from scipy.sparse import csr_matrix

from export.loihi2 import STATE_MAX, SYNAPSE_SHIFT, WEIGHT_BITS
from export.model.layer import Layer
from export.model.slayer import SlayerLayer
from lava_procs.processes.shifted_dense.process import ShiftedDense


class Synapse(NamedTuple):
    """A Process with ``s_in`` and ``a_out``, and what a float model divides its sums by."""

    process: AbstractProcess
    dense_exp: int

    @property
    def convolves(self) -> bool:
        """Whether its ports have the shapes of images, (width, height, channel)."""
        return isinstance(self.process, Conv)


def input_synapse(
    layer: Layer, input_max: int, message_bits: int, delay: np.ndarray | None, sparse: bool
) -> Synapse:
    """Return the synapses from the layer before, whose neurons have ``delay``."""
    conv = layer.geometry
    exact = layer.sum_right_shift == 0 and layer.largest_sum(input_max) <= STATE_MAX
    if conv is not None and delay is None and exact and not conv.one_to_one(layer.weight):
        return Synapse(_convolution(layer, message_bits), 0)
    dense_exp = _factor(layer) + layer.sum_right_shift
    if delay is not None and layer.sum_right_shift:
        process = ShiftedDense(
            weights=layer.matrix,
            exp=-layer.sum_right_shift,
            dense_exp=dense_exp,
            delays=delay,
            num_message_bits=message_bits,
        )
    else:
        exp, sparse = -layer.sum_right_shift, sparse or conv is not None
        process = _stock(layer, layer.matrix, exp, message_bits, delay, sparse)
    return Synapse(process, dense_exp)


def own_synapse(layer: Layer, sparse: bool, fixed_only: bool = False) -> AbstractProcess:
    """Return the synapses from a recurrent layer to itself, which carry spikes.

    In fixed point stock ones will always do: ``fixed_only`` is for a chip, which has no others.
    """
    assert layer.weight_rec is not None  # of a recurrent layer
    if layer.input_exp == 0 or fixed_only:
        return _stock(layer, layer.weight_rec, layer.recurrent_shift, 0, None, sparse)
    # Its sums have another exponent than the others, which Lava's float Dense would not know.
    dense_exp = _factor(layer) + layer.sum_right_shift
    return ShiftedDense(weights=layer.weight_rec, exp=layer.recurrent_shift, dense_exp=dense_exp)


def _factor(layer: Layer) -> int:
    """Return the number of bits by which a stock synapse's weights are shifted up.

    Dense keeps 8 bits of a mixed-sign matrix by clearing the lowest bit of a 9-bit range. Weights
    of twice the mantissa survive that, and the exponent takes the factor out again. SLAYER's are
    even already.
    """
    return 0 if isinstance(layer, SlayerLayer) else SYNAPSE_SHIFT


def _stock(
    layer: Layer,
    weight: np.ndarray,
    exp: int,
    message_bits: int,
    delay: np.ndarray | None,
    sparse: bool,
) -> AbstractProcess:
    """Return Lava's synapses; they shift their sums left by ``exp``, or right if it is negative."""
    weight = weight.astype(np.int32) << _factor(layer)
    options: dict[str, Any] = {
        "num_weight_bits": WEIGHT_BITS,
        "num_message_bits": message_bits,
        "weight_exp": exp - _factor(layer),
    }
    if delay is None:
        kind = Sparse if sparse else Dense
        return kind(weights=csr_matrix(weight) if sparse else weight, **options)
    delays = np.broadcast_to(delay, weight.shape).astype(int) * (weight != 0)
    if sparse:
        return DelaySparse(weights=csr_matrix(weight), delays=csr_matrix(delays), **options)
    return DelayDense(weights=weight, delays=delays, **options)


def _convolution(layer: Layer, message_bits: int) -> Conv:
    """Lava's Conv has (width, height, channel), and convolves where torch correlates."""
    g = layer.geometry
    assert g is not None  # of a convolution
    return Conv(
        weight=layer.weight[:, :, ::-1, ::-1].transpose(0, 3, 2, 1).astype(np.int32),
        input_shape=g.input_shape[::-1],
        stride=g.stride[::-1],
        padding=g.padding[::-1],
        dilation=g.dilation[::-1],
        groups=g.groups,
        num_message_bits=message_bits,
    )
