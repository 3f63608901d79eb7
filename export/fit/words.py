"""What a core holds of a layer, counted as Intel's compiler counts it: in words of 64 bits.

==============  ==================================================================================
axon_in         one word for each input of a dense layer; for a convolution one for each run of
                channels (:func:`runs`)
neuron_groups   one word for each group of neurons: a run of channels, or a dense layer
neurons         registers of every neuron in whole words, and its TE row if that lies there
synapses        lists of n synapses with b bits, each of ``ceil((n·b + 16) / 64)`` words: each
                input of a dense layer has a list of n neurons with b = 12 + w bits, each weight of
                a kernel a list of n channels with b = w
axon_map        one word for each neuron that sends; one for each pixel and run of channels if
                a convolution sends to another
axon_mem        16 bits for each core that receives such a pixel or run; none otherwise
te              TE rows that do not lie with the neurons, and the wave of a generated cosine
==============  ==================================================================================

All of them share one pool, and each has a limit of its own (:data:`LIMITS`). The tables that the
rules were read from are in :mod:`export.fit.calibration`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from export.fit.chip import Chip
from export.model.geometry import Pair

WORD_BITS = 64
WORD_BYTES = WORD_BITS // 8

LABELS = {
    "synapses": "synapses",
    "axons": "axons",
    "te": "TE",
    "state": "neuron state",
}
"""What a core's words are for, as tables and pictures show them."""

LIMITS = {
    "axon_in": ("axon_in_words", "input axons"),
    "neuron_groups": ("neuron_groups", "neuron groups"),
    "neurons": ("neuron_words", "neuron words"),
    "synapses": ("synapse_words", "synapses"),
    "axon_map": ("axon_map_words", "axon maps"),
    "axon_mem": ("axon_mem_words", "axon memory"),
    "total": ("pool_words", "pool"),
}
"""Figure of the chip and name of the limit that each count of :class:`Words` has to keep."""


def whole_words(bits: int) -> int:
    """Words that hold ``bits`` bits."""
    return -(-bits // WORD_BITS)


def list_words(count: int, bits: int, chip: Chip) -> int:
    """Words of a list of ``count`` synapses of ``bits`` bits, as the compiler counts them."""
    return whole_words(count * bits + chip["list_bits"])


def runs(channels: int) -> int:
    """How many powers of two add up to the channels of a convolution, counted in fours.

    On the published rows 24, 36 and 48 channels take two axons a pixel, 3, 16, 32, 64 and larger
    powers of two one.
    """
    return (-(-channels // _CHANNELS)).bit_count()


_CHANNELS = 4


class Window(NamedTuple):
    """How the kernels of a convolution move over its input; pairs are (row, column)."""

    kernel: Pair = (1, 1)
    stride: Pair = (1, 1)
    padding: Pair = (0, 0)
    dilation: Pair = (1, 1)

    def seen(self, side: int, first: int, last: int) -> tuple[int, int]:
        """First and last input that outputs ``first`` to ``last`` see along a side."""
        reach = self.dilation[side] * (self.kernel[side] - 1)
        return (
            first * self.stride[side] - self.padding[side],
            last * self.stride[side] - self.padding[side] + reach,
        )


@dataclass(frozen=True)
class Words:
    """Words that one core holds of a layer, by what they are for; see the module's text."""

    axon_in: int
    neuron_groups: int
    state: int
    """Registers of the neurons."""
    te: int
    """TE, wherever it lies."""
    te_of_neurons: int
    """The part of ``te`` that lies with the neurons."""
    synapses: int
    axon_map: int
    axon_mem: int

    @property
    def neurons(self) -> int:
        """Words of neuron state, TE included where it lies there."""
        return self.state + self.te_of_neurons

    @property
    def axons(self) -> int:
        """Input and output axons together."""
        return self.axon_in + self.axon_map + self.axon_mem

    @property
    def total(self) -> int:
        """Words of the pool."""
        return self.neuron_groups + self.state + self.te + self.synapses + self.axons

    @property
    def mostly(self) -> str:
        """What most of the words are for, one of :data:`LABELS`."""
        return max(LABELS, key=lambda name: getattr(self, name))

    def shares(self, chip: Chip) -> dict[str, float]:
        """Share of every limit that is taken, by the limit's name."""
        return {name: getattr(self, count) / chip[fig] for count, (fig, name) in LIMITS.items()}

    def ratio(self, chip: Chip) -> int:
        """By how much the worst limit is passed, rounded up; 1 if none is."""
        return max(
            1, *(-(-getattr(self, count) // chip[figure]) for count, (figure, _) in LIMITS.items())
        )

    def fits(self, chip: Chip) -> bool:
        """Whether no limit is passed."""
        return self.ratio(chip) == 1
