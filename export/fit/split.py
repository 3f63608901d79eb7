"""How layers are cut into parts that each fit a core, as Intel's compiler cuts them.

There are tables of two compilers, of 2022 and of 2024, and they cut differently (figure
``compiler``; :mod:`export.fit.calibration` has the tables).

A **dense** layer is cut by the compiler of 2024 into parts as large as fit, with synapses kept to
a part of their memory (``dense_synapse_words``); the last part takes what is left. That of 2022
cuts a layer that passes a limit r-fold into parts of ceil(n / r) neurons, r rounded up to a whole
number, and again until a part fits. A log shows it: 66,560 words of synapses against 12,000 make
parts of 17 of 100 neurons, whose 12,800 words make parts of 9, on 12 cores.

A **convolution** is cut into blocks of width × height × channels. Channels are halved until the
synapses of a block fit. If a block of all positions then passes a limit r-fold, r rounded up, the
compiler of 2024 cuts the height into as many parts as the largest power of two whose square is not
above r; that of 2022 leaves the height alone. The width of a block is the largest power of two, up
to the first that covers the layer, with which everything fits. Only if a width of 1 does not, the
height is halved, and after that the channels. Every core has the neuron words of a whole block,
even if the layer ends inside it.

What a core sends depends on where the next layer was cut: each pixel goes to every core that sees
any pixel of its own core. So layers are cut from the last to the first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from math import isqrt
from typing import NamedTuple

from export.fit.chip import Chip
from export.fit.demand import Demand
from export.fit.words import Words

FILLS = 2024
"""Since this year the compiler has filled cores with dense neurons, and cut images by height."""


class Slice(NamedTuple):
    """What a core holds of a layer, and how many cores hold as much."""

    channels: int
    positions: int
    cores: int
    targets: int
    """Cores of the next layer that each of its axons reaches."""
    places: int
    """Positions of a whole block, for which neuron words are reserved."""

    @property
    def neurons(self) -> int:
        """Neurons on each of the cores."""
        return self.channels * self.positions

    def words(self, layer: Demand, chip: Chip) -> Words:
        """What each of the cores holds."""
        return layer.words(self.channels, self.positions, chip, self.targets, self.places)


class Block(NamedTuple):
    """Channels, width and height of the part of a layer that a full core holds."""

    channels: int
    width: int
    height: int


def _tiles(total: int, size: int) -> list[tuple[int, int]]:
    """``total`` in pieces of ``size``, the last one smaller: the first and last place of each."""
    return [(first, min(first + size, total) - 1) for first in range(0, total, size)]


@dataclass(frozen=True)
class Cut:
    """A layer and the block that a full core holds of it; no block if not one neuron fits."""

    layer: Demand
    block: Block | None

    def reached(self, side: int, tiles: Sequence[tuple[int, int]]) -> list[int]:
        """How many blocks along a side (0 height, 1 width) see any place of each tile."""
        layer, block = self.layer, self.block
        if block is None or layer.window is None:
            return [1] * len(tiles)
        total, size = (layer.height, block.height) if side == 0 else (layer.width, block.width)
        seen = [layer.window.seen(side, *tile) for tile in _tiles(total, size)]
        # A place that no block sees is sent nowhere, but its core has a list all the same.
        return [
            max(1, sum(low <= last and first <= high for low, high in seen))
            for first, last in tiles
        ]

    @property
    def depth(self) -> int:
        """Blocks of channels, each of which receives every pixel."""
        return 1 if self.block is None else -(-self.layer.channels // self.block.channels)

    @property
    def cores(self) -> int:
        """Cores of the layer; none if not one neuron fits."""
        if (block := self.block) is None:
            return 0
        layer = self.layer
        return self.depth * -(-layer.width // block.width) * -(-layer.height // block.height)


def _targets(layer: Demand, block: Block, after: Cut | None) -> tuple[list[int], list[int], int]:
    """Cores that receive from a block: along the height, along the width, and in depth.

    A dense layer has no places: every neuron is taken to send to all cores of a convolution.
    """
    rows, columns = _tiles(layer.height, block.height), _tiles(layer.width, block.width)
    if after is None or not layer.to_kernels:
        return [1] * len(rows), [1] * len(columns), 1
    if not layer.kernels:
        return [1], [1], max(1, after.cores)
    return after.reached(0, rows), after.reached(1, columns), after.depth


def held(layer: Demand, block: Block, chip: Chip, after: Cut | None) -> Words:
    """What the fullest core of a cut into such blocks holds."""
    rows, columns, depth = _targets(layer, block, after)
    targets = max(rows) * max(columns) * depth
    return layer.words(block.channels, block.width * block.height, chip, targets)


def _fits(layer: Demand, block: Block, chip: Chip, after: Cut | None) -> bool:
    neurons = block.channels * block.width * block.height
    return neurons <= chip["neurons_per_core"] and held(layer, block, chip, after).fits(chip)


def _dense(layer: Demand, chip: Chip, after: Cut | None) -> Block | None:
    """The block of a dense layer, by a ratio."""
    channels = layer.channels
    while not _fits(layer, Block(channels, 1, 1), chip, after):
        if channels == 1:
            return None
        over = held(layer, Block(channels, 1, 1), chip, after).ratio(chip)
        ratio = max(2, over, -(-channels // chip["neurons_per_core"]))
        channels = -(-channels // ratio)
    return Block(channels, 1, 1)


def most(limit: int, fits: Callable[[int], bool]) -> int:
    """A number of 0..limit that fits: the largest, if all smaller ones fit, too."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def _filled(layer: Demand, chip: Chip, after: Cut | None) -> Block | None:
    """The largest block of a dense layer that fits; one neuron may pass the share of synapses."""

    def fits(channels: int) -> bool:
        block = Block(channels, 1, 1)
        limit = chip["dense_synapse_words"]
        within = channels == 1 or held(layer, block, chip, after).synapses <= limit
        return within and _fits(layer, block, chip, after)

    channels = most(layer.channels, fits)
    return Block(channels, 1, 1) if channels else None


def _halves(n: int) -> list[int]:
    """``n``, its half rounded up, and so on down to 1."""
    found = [n]
    while found[-1] > 1:
        found.append(-(-found[-1] // 2))
    return found


def _height(layer: Demand, channels: int, chip: Chip) -> int:
    """Rows of a block before its width is chosen."""
    if chip["compiler"] < FILLS:
        return layer.height
    positions = layer.positions
    ratio = layer.words(channels, positions, chip).ratio(chip)
    ratio = max(ratio, -(-channels * positions // chip["neurons_per_core"]))
    parts = min(1 << (isqrt(ratio).bit_length() - 1), layer.height)
    return -(-layer.height // parts)


def _convolution(layer: Demand, chip: Chip, after: Cut | None) -> Block | None:
    covering = 1 << (layer.width - 1).bit_length()
    limit = chip["synapse_words"]
    for channels in _halves(layer.channels):
        if layer.words(channels, 1, chip).synapses > limit:
            continue
        height = _height(layer, channels, chip)
        for width in _halves(covering):
            if _fits(layer, block := Block(channels, width, height), chip, after):
                return block
        for rows in _halves(height)[1:]:
            if _fits(layer, block := Block(channels, 1, rows), chip, after):
                return block
    return None


def cut(layer: Demand, chip: Chip, after: Cut | None = None) -> Cut:
    """Cut a layer that sends to a layer which is cut as ``after`` says."""
    if layer.kernels:
        return Cut(layer, _convolution(layer, chip, after))
    found = _dense if chip["compiler"] < FILLS else _filled
    return Cut(layer, found(layer, chip, after))


def cuts(layers: Sequence[Demand], chip: Chip) -> list[Cut]:
    """Cut layers that send each to the next."""
    found: list[Cut] = []
    for layer in reversed(layers):
        found.append(cut(layer, chip, found[-1] if found else None))
    return found[::-1]


def _slices(one: Cut, after: Cut | None) -> list[Slice]:
    layer, block = one.layer, one.block
    if block is None:
        return []
    rows, columns, depth = _targets(layer, block, after)
    found: dict[tuple[int, int, int], int] = {}
    for (first, last), (high, y), (wide, x) in product(
        _tiles(layer.channels, block.channels),
        zip(_tiles(layer.height, block.height), rows, strict=True),
        zip(_tiles(layer.width, block.width), columns, strict=True),
    ):
        positions = (high[1] - high[0] + 1) * (wide[1] - wide[0] + 1)
        key = last - first + 1, positions, x * y * depth
        found[key] = found.get(key, 0) + 1
    places = block.width * block.height
    parts = [Slice(channels, pos, n, to, places) for (channels, pos, to), n in found.items()]
    # The order of equals is that of the image, so that the first is the corner.
    return sorted(parts, key=lambda part: part.neurons, reverse=True)


def split(layers: Sequence[Demand], chip: Chip) -> list[list[Slice]]:
    """The cores of each layer, the fuller first; none if not even one neuron fits."""
    found = cuts(layers, chip)
    return [_slices(one, after) for one, after in zip(found, [*found[1:], None], strict=True)]


def cores_of(layers: Sequence[Demand], chip: Chip) -> tuple[int, ...]:
    """How many cores each layer takes; none if not even one neuron fits."""
    return tuple(one.cores for one in cuts(layers, chip))
