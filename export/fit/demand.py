"""What a layer asks of a chip: neurons, synapses, TE and state.

A layer is ``channels`` × ``positions`` neurons. The neurons of a channel share one set of weights
and one TE row; in a dense layer every neuron is a channel of its own, in a convolution a channel
has a neuron at every position of an image of ``width`` × ``height``. How that is counted on a core
is in :mod:`export.fit.words`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from export import loihi2
from export.fit.chip import Chip
from export.fit.words import WORD_BYTES, Window, Words, list_words, runs, whole_words
from export.model.network import KINDS, CelifLayer, FixedNetwork, Layer
from export.model.te import CosineTable, Form

BY_RUNS = 2024
"""Since this year the compiler has made a neuron group of each run of channels."""
SLAYER_KINDS = tuple(name for name, kind in KINDS.items() if not kind.requantisable)
"""Layers whose weights SLAYER has already quantised, so that an export keeps them."""


@dataclass(frozen=True)
class TeDemand:
    """How TE is kept: its form (table, held, packed, cosine), steps and bits of a mantissa."""

    form: Form
    steps: int
    bits: int

    @property
    def row_words(self) -> int:
        """Words of one row; none for a cosine, whose phase and increment are state."""
        if isinstance(self.form, CosineTable):
            return 0
        return whole_words(8 * self.form.bytes(1, self.steps, self.bits))

    @property
    def shared_words(self) -> int:
        """Words that a core holds once: the wave of a cosine."""
        if not isinstance(self.form, CosineTable):
            return 0
        return whole_words(8 * self.form.bytes(0, self.steps, self.bits))

    def __str__(self) -> str:
        held = f", held for {self.form.hold} steps" if self.form.hold > 1 else ""
        return f"{self.form.encoding}, {self.bits} bits{held}"


@dataclass(frozen=True)
class Demand:
    """Sizes of a layer; see the module's text."""

    name: str
    kind: str
    channels: int
    inputs: int
    weights: int
    """Weights of a channel: a row of a dense matrix, or a kernel."""
    recurrent: int
    """Weights of a channel from the layer itself."""
    weight_bits: int
    state_bits: int
    """Registers of a neuron, without TE."""
    width: int = 1
    height: int = 1
    window: Window | None = None
    """How a convolution's kernels move; None for a dense layer."""
    groups: int = 1
    """Groups of channels that a convolution keeps apart."""
    to_kernels: bool = False
    """Whether the next layer is a convolution."""
    te: TeDemand | None = None
    delay: int = 0
    message_bits: int = 1
    """Bits of the spikes that the layer receives."""

    @property
    def positions(self) -> int:
        """Neurons of a channel."""
        return self.width * self.height

    @property
    def neurons(self) -> int:
        """Neurons of the layer."""
        return self.channels * self.positions

    @property
    def state_words(self) -> int:
        """Registers of a neuron in whole words."""
        return whole_words(self.state_bits)

    def neuron_state(self, chip: Chip) -> int:
        """Bytes of a neuron's state, with its TE row if that lies there."""
        row = self.te.row_words if self.te is not None and chip["te_in_state"] else 0
        return WORD_BYTES * (self.state_words + row)

    @property
    def kernels(self) -> bool:
        """Whether the layer is a convolution."""
        return self.window is not None

    def words(
        self, channels: int, positions: int, chip: Chip, targets: int = 1, places: int | None = None
    ) -> Words:
        """What a core holds that has ``positions`` neurons of each of ``channels`` channels.

        Each of its axons goes to ``targets`` cores of the next layer. Neuron words are counted for
        ``places`` positions, those of a whole block, where a layer ends inside one.
        """
        neurons = channels * positions
        reserved = channels * (positions if places is None else places)
        of_neurons = rows = shared = 0
        if self.te is not None:
            shared = self.te.shared_words
            if chip["te_in_state"]:
                of_neurons = reserved * self.te.row_words
            else:
                rows = channels * self.te.row_words
        axons = runs(channels) if self.kernels else 1
        if self.kernels:
            groups = -(-channels * self.groups // self.channels)
            together = min(channels, self.channels // self.groups)
            synapses = self.weights * groups * list_words(together, self.weight_bits, chip)
            axon_in = axons
        else:
            axon_in = self.inputs + self.recurrent
            bits = chip["index_bits"] + self.weight_bits
            synapses = (self.weights + self.recurrent) * list_words(channels, bits, chip)
        # A recurrent layer sends its spikes to itself, too.
        sends = neurons * (2 if self.recurrent else 1)
        memory = 0
        if self.to_kernels:
            sends = positions * axons if self.kernels else neurons
            memory = whole_words(sends * targets * chip["target_bits"])
        return Words(
            axon_in=axon_in,
            neuron_groups=1 if chip["compiler"] < BY_RUNS else axons,
            state=reserved * self.state_words,
            te=of_neurons + rows + shared,
            te_of_neurons=of_neurons,
            synapses=synapses,
            axon_map=sends,
            axon_mem=memory,
        )


def window(layer: Layer) -> Window | None:
    """How a layer's kernels move; None if it is dense."""
    if (g := layer.geometry) is None:
        return None
    rows, columns = layer.weight.shape[2:]
    return Window((rows, columns), g.stride, g.padding, g.dilation)


def demand(layer: Layer, message_bits: int = 1, to_kernels: bool = False) -> Demand:
    """Sizes of a layer that receives graded spikes of ``message_bits`` bits.

    ``to_kernels`` says whether it sends its own to a convolution.
    """
    te = None
    if isinstance(layer, CelifLayer):
        te = TeDemand(layer.te_form, layer.te.shape[1], layer.te_bits)
    return Demand(
        name=layer.name,
        kind=layer.kind,
        channels=layer.rows,
        width=layer.output_shape.width,
        height=layer.output_shape.height,
        window=window(layer),
        groups=1 if layer.geometry is None else layer.geometry.groups,
        to_kernels=to_kernels,
        inputs=layer.inputs,
        weights=layer.weight[0].size,
        recurrent=0 if layer.weight_rec is None else layer.neurons,
        weight_bits=getattr(layer, "weight_bits", loihi2.WEIGHT_BITS),
        state_bits=layer.state_bits,
        te=te,
        delay=0 if layer.delay is None else int(layer.delay.max()),
        message_bits=message_bits,
    )


def demands(net: FixedNetwork) -> tuple[Demand, ...]:
    """Sizes of every layer of a network, the readout last."""
    layers = net.all_layers
    ranges = [net.encoding.range, *(layer.output_range for layer in layers)]
    after = [*(layer.geometry is not None for layer in layers[1:]), False]
    return tuple(
        demand(layer, max(map(abs, limits)).bit_length() + (min(limits) < 0), to_kernels)
        for layer, limits, to_kernels in zip(layers, ranges, after, strict=False)
    )


def with_te(layers: tuple[Demand, ...], te: TeDemand) -> tuple[Demand, ...]:
    """The same layers with another TE, as an export chooses it for all of them."""

    def changed(layer: Demand) -> Demand:
        if layer.te is None:
            return layer
        # A generated wave has a phase and an increment in place of a row.
        phases = isinstance(te.form, CosineTable) - isinstance(layer.te.form, CosineTable)
        bits = layer.state_bits + 2 * phases * loihi2.PHASE_BITS
        return replace(layer, te=replace(te, steps=layer.te.steps), state_bits=bits)

    return tuple(map(changed, layers))


def with_weight_bits(layers: tuple[Demand, ...], bits: int) -> tuple[Demand, ...]:
    """The same layers with weights of at most ``bits`` bits; SLAYER's layers keep theirs."""
    return tuple(
        layer
        if layer.kind in SLAYER_KINDS
        else replace(layer, weight_bits=min(layer.weight_bits, bits))
        for layer in layers
    )
