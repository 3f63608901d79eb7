"""How a layer is cut into parts that each fit a core, as Intel's compiler cuts it.

A **dense** layer that passes a limit r-fold is cut into parts of ceil(n / r) neurons, r rounded up
to a whole number, and cut again until a part fits; the last part takes what is left. That is what
a log of the compiler shows: 66,560 words of synapses against 12,000 make parts of 17 of 100
neurons, whose 12,800 words make parts of 9, on 12 cores.

A **convolution** is cut into blocks of width × height × channels. Channels are halved until the
synapses of a block fit. The width of a block is then the largest power of two, up to the first
that covers the layer, with which everything fits, and only if a width of 1 does not, the height is
halved, and after that the channels. Blocks count with their whole width even if the layer ends
inside one. This gives the compiler's number of cores on all 16 rows of convolutions that are
published (:mod:`export.fit.calibration`), though it may cut along other sides.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

from export.fit.chip import Chip
from export.fit.demand import Demand


class Slice(NamedTuple):
    """What a core holds of a layer, and how many cores hold as much."""

    channels: int
    positions: int
    cores: int

    @property
    def neurons(self) -> int:
        """Neurons on each of the cores."""
        return self.channels * self.positions


class Block(NamedTuple):
    """Channels, width and height of the part of a layer that a full core holds."""

    channels: int
    width: int
    height: int


def _fits(layer: Demand, block: Block, chip: Chip) -> bool:
    channels, positions = block.channels, block.width * block.height
    return channels * positions <= chip["neurons_per_core"] and layer.words(
        channels, positions, chip
    ).fits(chip)


def _dense(layer: Demand, chip: Chip) -> Block | None:
    channels = layer.channels
    while not _fits(layer, Block(channels, 1, 1), chip):
        if channels == 1:
            return None
        over = layer.words(channels, 1, chip).ratio(chip)
        ratio = max(2, over, -(-channels // chip["neurons_per_core"]))
        channels = -(-channels // ratio)
    return Block(channels, 1, 1)


def _halves(n: int) -> list[int]:
    """``n``, its half rounded up, and so on down to 1."""
    found = [n]
    while found[-1] > 1:
        found.append(-(-found[-1] // 2))
    return found


def _convolution(layer: Demand, chip: Chip) -> Block | None:
    covering = 1 << (layer.width - 1).bit_length()
    limit = chip["synapse_words"]
    for channels in _halves(layer.channels):
        if layer.words(channels, 1, chip).synapses > limit:
            continue
        for width in _halves(covering):
            if _fits(layer, block := Block(channels, width, layer.height), chip):
                return block
        for height in _halves(layer.height)[1:]:
            if _fits(layer, block := Block(channels, 1, height), chip):
                return block
    return None


def block_of(layer: Demand, chip: Chip) -> Block | None:
    """The part of a layer that a full core holds; None if not even one neuron fits."""
    return _convolution(layer, chip) if layer.kernels else _dense(layer, chip)


def _pieces(total: int, size: int) -> list[tuple[int, int]]:
    """``total`` in pieces of ``size``, the last one smaller, as (size, how often)."""
    whole, rest = divmod(total, size)
    return [(n, times) for n, times in ((size, whole), (rest, 1)) if n and times]


def split(layer: Demand, chip: Chip) -> list[Slice]:
    """The cores of a layer, the fuller first; none if not even one neuron fits."""
    block = block_of(layer, chip)
    if block is None:
        return []
    found: dict[tuple[int, int], int] = {}
    for (channels, a), (width, b), (height, c) in product(
        _pieces(layer.channels, block.channels),
        _pieces(layer.width, block.width),
        _pieces(layer.height, block.height),
    ):
        key = channels, width * height
        found[key] = found.get(key, 0) + a * b * c
    parts = [Slice(channels, positions, cores) for (channels, positions), cores in found.items()]
    return sorted(parts, key=lambda part: part.neurons, reverse=True)


def cores_of(layer: Demand, chip: Chip) -> int:
    """How many cores a layer takes."""
    return sum(part.cores for part in split(layer, chip))
