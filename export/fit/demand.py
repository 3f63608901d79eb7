"""What a layer asks of a chip: neurons, weights, TE and state, in bits and bytes.

A layer is ``channels`` × ``positions`` neurons. The neurons of a channel share one set of weights
and one TE row; in a dense layer every neuron is a channel of its own, in a convolution a channel
has a neuron at every position. A core that holds a part of the layer holds

==========  =====================================================================================
synapses    the weights of its channels, without gaps between them
axons       routing for every input of the layer (an upper bound for a part of a convolution)
TE          the rows of its channels, whatever else holds the same table; a cosine's wave once
state       the registers of its neurons
==========  =====================================================================================
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from export import loihi2
from export.fit.chip import Chip
from export.model.network import CelifLayer, FixedNetwork, Layer
from export.model.slayer import CubaLayer, SigmaDeltaLayer
from export.model.te import CosineTable, Form

_SPIKE_BITS = 1
_BIAS_BITS = loihi2.BIAS_MANT_MAX.bit_length() + 1
_SHIFT_BITS = 5
"""Of an exponent that each neuron has for itself."""
SLAYER_KINDS = (CubaLayer.kind, SigmaDeltaLayer.kind)
"""Layers whose weights SLAYER has quantised, so that an export does not."""
_SUM_BITS = loihi2.READOUT_MAX.bit_length() + 1


@dataclass(frozen=True)
class TeDemand:
    """How TE is kept: its form (table, held, packed, cosine), steps and bits of a mantissa."""

    form: Form
    steps: int
    bits: int

    def bytes(self, rows: int) -> int:
        """Memory of some rows on one core."""
        return self.form.bytes(rows, self.steps, self.bits)

    @property
    def row_bytes(self) -> int:
        """Memory of one more row."""
        return self.bytes(2) - self.bytes(1)

    def __str__(self) -> str:
        held = f", held for {self.form.hold} steps" if self.form.hold > 1 else ""
        return f"{self.form.encoding}, {self.bits} bits{held}"


@dataclass(frozen=True)
class Held:
    """Bytes that one core holds of a layer, by what they are for."""

    synapses: int
    axons: int
    te: int
    state: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.synapses + self.axons + self.te + self.state

    @property
    def mostly(self) -> str:
        """What most of them are for."""
        return max(("synapses", "axons", "te", "state"), key=lambda name: getattr(self, name))


@dataclass(frozen=True)
class Demand:
    """Sizes of a layer; see the module's text."""

    name: str
    kind: str
    channels: int
    positions: int
    inputs: int
    weights: int
    """Of a channel: a row of a dense matrix, or a kernel."""
    recurrent: int
    """Weights of a channel from the layer itself."""
    weight_bits: int
    state_bits: int
    """Registers of a neuron, without TE."""
    te: TeDemand | None = None
    delay: int = 0
    message_bits: int = 1
    """Of what the layer receives."""

    @property
    def neurons(self) -> int:
        """Neurons of the layer."""
        return self.channels * self.positions

    @property
    def state_bytes(self) -> int:
        """Registers of a neuron in whole bytes."""
        return -(-self.state_bits // 8)

    def neuron_state(self, chip: Chip) -> int:
        """Bytes of a neuron's state, with its TE row if that lies there and is its own."""
        own_row = self.te is not None and self.positions == 1 and chip["te_in_state"]
        return self.state_bytes + (self.te.row_bytes if self.te and own_row else 0)

    def held(self, channels: int, positions: int, chip: Chip) -> Held:
        """What a core holds that has ``positions`` neurons of each of ``channels`` channels."""
        return Held(
            synapses=-(-channels * (self.weights + self.recurrent) * self.weight_bits // 8),
            axons=(self.inputs + self.recurrent) * chip["axon_bytes"],
            te=self.te.bytes(channels) if self.te else 0,
            state=channels * positions * self.state_bytes,
        )


def _state_bits(layer: Layer) -> int:
    """Bits of a neuron's registers: what it must keep from step to step, and its own constants."""
    if isinstance(layer, CelifLayer):
        bits = 2 * loihi2.STATE_BITS + _SPIKE_BITS + _BIAS_BITS
        if isinstance(layer.te_form, CosineTable):
            bits += loihi2.PHASE_BITS
        exponents = (layer.weight_exp, layer.te_exp)
        return bits + sum(_SHIFT_BITS for exponent in exponents if np.ndim(exponent))
    if isinstance(layer, CubaLayer):
        return 2 * loihi2.STATE_BITS + _SPIKE_BITS + _BIAS_BITS
    if isinstance(layer, SigmaDeltaLayer):
        return 4 * _SUM_BITS
    return 2 * _SUM_BITS


def demand(layer: Layer, message_bits: int = 1) -> Demand:
    """Sizes of a layer that receives graded spikes of ``message_bits`` bits."""
    te = None
    if isinstance(layer, CelifLayer):
        te = TeDemand(layer.te_form, layer.te.shape[1], layer.te_bits)
    return Demand(
        name=layer.name,
        kind=layer.kind,
        channels=layer.rows,
        positions=layer.positions,
        inputs=layer.inputs,
        weights=layer.weight[0].size,
        recurrent=0 if layer.weight_rec is None else layer.neurons,
        weight_bits=getattr(layer, "weight_bits", loihi2.WEIGHT_BITS),
        state_bits=_state_bits(layer),
        te=te,
        delay=0 if layer.delay is None else int(layer.delay.max()),
        message_bits=message_bits,
    )


def demands(net: FixedNetwork) -> tuple[Demand, ...]:
    """Sizes of every layer of a network, the readout last."""
    ranges = [net.encoding.range, *(layer.output_range for layer in net.layers)]
    return tuple(
        demand(layer, max(map(abs, limits)).bit_length() + (min(limits) < 0))
        for layer, limits in zip(net.all_layers, ranges, strict=False)
    )


def with_te(layers: tuple[Demand, ...], te: TeDemand) -> tuple[Demand, ...]:
    """The same layers with another TE, as an export chooses it for all of them."""

    def changed(layer: Demand) -> Demand:
        if layer.te is None:
            return layer
        # A generated wave keeps its phase from step to step.
        phases = isinstance(te.form, CosineTable) - isinstance(layer.te.form, CosineTable)
        bits = layer.state_bits + phases * loihi2.PHASE_BITS
        return replace(layer, te=replace(te, steps=layer.te.steps), state_bits=bits)

    return tuple(map(changed, layers))


def with_weight_bits(layers: tuple[Demand, ...], bits: int) -> tuple[Demand, ...]:
    """The same layers with weights of at most ``bits`` bits, but for SLAYER's, which stay."""
    return tuple(
        layer
        if layer.kind in SLAYER_KINDS
        else replace(layer, weight_bits=min(layer.weight_bits, bits))
        for layer in layers
    )
