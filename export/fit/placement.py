"""Place layers on cores: which core holds what, and which limit stands in the way.

- A core holds neurons of one layer, because it runs one neuron program with one set of constants.
- A layer is cut into parts as Intel's compiler cuts it (:mod:`export.fit.split`), and its words are
  counted as the compiler counts them (:mod:`export.fit.words`).
- Cores are filled in the order of the layers, chip after chip.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from export.fit.chip import Chip
from export.fit.demand import Demand
from export.fit.split import Block, Cut, cuts, held, split
from export.fit.words import LABELS, LIMITS, Words


@dataclass(frozen=True)
class Core:
    """A core in use: its number on the board, and what it holds of which layer."""

    number: int
    layer: int
    channels: int
    positions: int
    held: Words

    @property
    def neurons(self) -> int:
        """Neurons on the core."""
        return self.channels * self.positions


@dataclass(frozen=True)
class Shortage:
    """A limit that is passed: by which layer, by how much, and what that means."""

    limit: str
    """A limit of :data:`export.fit.words.LIMITS` by its name, ``neurons``, ``state bytes``,
    ``cores``, ``weight bits``, ``message bits`` or ``delay bits``."""
    layer: str
    needed: int
    available: int
    about: str
    of_a_neuron: bool = False
    """Whether a single neuron passes it, so that more cores do not help."""

    def __str__(self) -> str:
        return (
            f"{self.layer}, {self.limit}: {self.needed:,} needed, {self.available:,} there "
            f"({self.about})"
        )


class DoesNotFit(ValueError):
    """The network passes limits of the chip; ``shortages`` says which."""

    def __init__(self, shortages: Sequence[Shortage]) -> None:
        super().__init__("; ".join(map(str, shortages)))
        self.shortages = tuple(shortages)


@dataclass(frozen=True)
class Placement:
    """Cores that hold a network."""

    chip: Chip
    chips: int
    layers: tuple[Demand, ...]
    cores: tuple[Core, ...]

    @property
    def available(self) -> int:
        """Cores of the board."""
        return self.chips * self.chip["cores"]

    def of_layer(self, layer: int) -> tuple[Core, ...]:
        """Cores that hold a part of a layer."""
        return tuple(core for core in self.cores if core.layer == layer)

    def loads(self, core: Core) -> dict[str, float]:
        """Shares of a core's limits that are taken; every core has one neuron group."""
        layer, shares = self.layers[core.layer], core.held.shares(self.chip)
        return {
            "neurons": core.neurons / self.chip["neurons_per_core"],
            **{name: share for name, share in shares.items() if name != "neuron groups"},
            "state of a neuron": layer.neuron_state(self.chip) / self.chip["state_bytes"],
        }

    def binding(self, layer: int | None = None) -> tuple[str, float]:
        """The limit that is nearest, and the share of it that is taken.

        For a layer it is what makes it need its cores; for the network it may also be the number
        of cores.
        """
        cores = self.cores if layer is None else self.of_layer(layer)
        shares: dict[str, float] = {}
        for core in cores:
            for name, share in self.loads(core).items():
                shares[name] = max(share, shares.get(name, 0))
        if layer is None:
            shares["cores"] = len(self.cores) / self.available
        name = max(shares, key=lambda limit: shares[limit])
        fullest = max(cores, key=lambda core: core.held.total).held
        if name == "neuron words" and fullest.te_of_neurons > fullest.state:
            return "neuron words, mostly TE", shares[name]
        if name == "pool":
            return f"pool, mostly {LABELS[fullest.mostly]}", shares[name]
        return name, shares[name]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        limit, share = self.binding()
        return {
            "cores": len(self.cores),
            "of_cores": self.available,
            "chips": self.chips,
            "binding": {"limit": limit, "share": share},
            "layers": [self._layer(i) for i in range(len(self.layers))],
            "placement": [
                {
                    "core": core.number,
                    "layer": self.layers[core.layer].name,
                    "neurons": core.neurons,
                    "words": _columns(core.held),
                }
                for core in self.cores
            ],
        }

    def _layer(self, i: int) -> dict[str, Any]:
        layer, cores = self.layers[i], self.of_layer(i)
        limit, share = self.binding(i)
        return {
            "name": layer.name,
            "type": layer.kind,
            "neurons": layer.neurons,
            "cores": len(cores),
            "te": None if layer.te is None else str(layer.te),
            "words": {
                name: sum(_columns(core.held)[name] for core in cores)
                for name in _columns(cores[0].held)
            },
            "neuron_state_bytes": layer.neuron_state(self.chip),
            "fullest_core_words": max(core.held.total for core in cores),
            "binding": {"limit": limit, "share": share},
        }


def _columns(held: Words) -> dict[str, int]:
    """The columns of the compiler's table, and the words of TE, which are in one of them."""
    return {**{name: getattr(held, name) for name in LIMITS}, "te": held.te}


def shortages(layers: Sequence[Demand], chip: Chip, chips: int = 1) -> tuple[Shortage, ...]:
    """Return every limit that the layers pass on a board; none if they fit."""
    found = cuts(layers, chip)
    alone = [
        shortage
        for one, after in zip(found, [*found[1:], None], strict=True)
        for shortage in _of_a_neuron(one.layer, chip, after)
    ]
    if alone:
        return tuple(alone)
    if sum(one.cores for one in found) <= chips * chip["cores"]:
        return ()
    return (_of_the_board(layers, chip, chips),)


def place(layers: Sequence[Demand], chip: Chip, chips: int = 1) -> Placement:
    """Place layers on the cores of a board.

    Raises
    ------
    DoesNotFit
        With every limit that is passed, by name.
    """
    if missing := shortages(layers, chip, chips):
        raise DoesNotFit(missing)
    cores: list[Core] = []
    for i, (layer, parts) in enumerate(zip(layers, split(layers, chip), strict=True)):
        for part in parts:
            held, first = part.words(layer, chip), len(cores)
            cores += (
                Core(first + n, i, part.channels, part.positions, held) for n in range(part.cores)
            )
    return Placement(chip, chips, tuple(layers), tuple(cores))


def _of_a_neuron(layer: Demand, chip: Chip, after: Cut | None) -> Iterator[Shortage]:
    """Yield the limits that a single neuron of a layer passes, so that no placement helps."""
    widths = (
        ("weight bits", layer.weight_bits, chip["weight_bits"], "bits of a weight"),
        ("message bits", layer.message_bits, chip["message_bits"], "bits of a graded spike"),
        ("delay bits", layer.delay.bit_length(), chip["delay_bits"], "bits of a delay"),
        ("state bytes", layer.neuron_state(chip), chip["state_bytes"], "bytes of a neuron's state"),
    )
    for limit, needed, available, about in widths:
        if needed > available:
            yield Shortage(limit, layer.name, needed, available, about, of_a_neuron=True)
    alone = held(layer, Block(1, 1, 1), chip, after)
    if over := _worst(alone.shares(chip)):
        count, figure = next((c, f) for c, (f, name) in LIMITS.items() if name == over)
        needed, about = getattr(alone, count), "words of a core for one neuron"
        yield Shortage(over, layer.name, needed, chip[figure], about, of_a_neuron=True)


def _worst(shares: dict[str, float]) -> str | None:
    """The limit that is passed by most, the pool only if no other is; None if none is."""
    passed = {name: share for name, share in shares.items() if share > 1}
    return max(passed, key=lambda name: (name != "pool", passed[name]), default=None)


def _of_the_board(layers: Sequence[Demand], chip: Chip, chips: int) -> Shortage:
    """Name the limit for which the cores run out: one resource alone, or else their number."""
    cores = chips * chip["cores"]
    parts = split(layers, chip)
    per_layer = {"neurons": [layer.neurons for layer in layers]}
    room = {"neurons": cores * chip["neurons_per_core"]}
    for count in ("neurons", "synapses", "total"):  # axons grow with the number of cores
        figure, name = LIMITS[count]
        room[name] = cores * chip[figure]
        per_layer[name] = [
            sum(part.cores * getattr(part.words(layer, chip), count) for part in of)
            for layer, of in zip(layers, parts, strict=True)
        ]
    excess = {name: sum(per_layer[name]) / room[name] for name in per_layer}
    if limit := _worst(excess):
        largest = max(range(len(layers)), key=lambda i: per_layer[limit][i])
        unit = "neurons" if limit == "neurons" else "words"
        about = f"{unit}, all layers on {cores:,} cores"
        return Shortage(limit, layers[largest].name, sum(per_layer[limit]), room[limit], about)
    taken = [sum(part.cores for part in of) for of in parts]
    largest = taken.index(max(taken))
    return Shortage("cores", layers[largest].name, sum(taken), cores, "cores, all layers")
