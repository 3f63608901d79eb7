"""Layers onto cores: who holds what, and which limit stands in the way.

The rules, where nothing is published about the compiler:

- A core holds neurons of one layer, because it runs one neuron program with one set of constants.
- A layer takes as few cores as its limits allow; its channels are then spread evenly over them.
- A channel that is too large for one core is cut by positions, each part with its own weights and
  TE row.
- Cores are filled in the order of the layers, chip after chip.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from export.fit.chip import Chip
from export.fit.demand import Demand, Held

LABELS = {"synapses": "synapses", "axons": "axons", "te": "TE", "state": "state"}
"""What a core's bytes are for."""
LIMITS = {"synapses": "synapses", "axons": "synapses", "te": "TE bytes", "state": "state bytes"}
"""What runs short where the bytes are for that."""


@dataclass(frozen=True)
class Core:
    """A core in use: its number on the board, and what it holds of which layer."""

    number: int
    layer: int
    channels: int
    positions: int
    held: Held

    @property
    def neurons(self) -> int:
        """Neurons on the core."""
        return self.channels * self.positions


@dataclass(frozen=True)
class Shortage:
    """A limit that is passed: by which layer, by how much, and what that means."""

    limit: str
    """``neurons``, ``synapses``, ``TE bytes``, ``state bytes``, ``cores``, ``weight bits``,
    ``message bits`` or ``delay bits``."""
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
        """Shares of a core's limits that are taken."""
        return {
            "neurons": core.neurons / self.chip["neurons_per_core"],
            "memory": core.held.total / self.chip["core_bytes"],
            "state of a neuron": self.layers[core.layer].neuron_state(self.chip)
            / self.chip["state_bytes"],
        }

    def binding(self, layer: int | None = None) -> tuple[str, float]:
        """The limit that is nearest, and the share of it that is taken.

        Of a layer it is what makes it need its cores; of the network, also the number of cores.
        """
        cores = self.cores if layer is None else self.of_layer(layer)
        shares: dict[str, float] = {}
        for core in cores:
            for name, share in self.loads(core).items():
                shares[name] = max(share, shares.get(name, 0))
        if layer is None:
            shares["cores"] = len(self.cores) / self.available
        name = max(shares, key=lambda limit: shares[limit])
        if name != "memory":
            return name, shares[name]
        fullest = max(cores, key=lambda core: core.held.total).held
        return f"memory, mostly {LABELS[fullest.mostly]}", shares[name]

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
                    "bytes": {name: getattr(core.held, name) for name in LABELS},
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
            "bytes": {name: sum(getattr(core.held, name) for core in cores) for name in LABELS},
            "neuron_state_bytes": layer.neuron_state(self.chip),
            "fullest_core_bytes": max(core.held.total for core in cores),
            "binding": {"limit": limit, "share": share},
        }


def _on_a_core(layer: Demand, channels: int, positions: int, chip: Chip) -> bool:
    return (
        channels * positions <= chip["neurons_per_core"]
        and layer.held(channels, positions, chip).total <= chip["core_bytes"]
    )


def most(limit: int, fits: Callable[[int], bool]) -> int:
    """The largest of 0..limit that fits, if all smaller ones do."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


class Part(NamedTuple):
    """What a core holds of a layer, and how many cores hold as much."""

    channels: int
    positions: int
    cores: int


def _even(total: int, parts: int) -> list[tuple[int, int]]:
    """``total`` in ``parts`` numbers that differ by one at most, as (number, how often)."""
    share, more = divmod(total, parts)
    return [(n, times) for n, times in ((share + 1, more), (share, parts - more)) if times]


def split(layer: Demand, chip: Chip) -> list[Part]:
    """The cores of a layer, the fuller first; none if not even one neuron fits."""
    together = most(layer.channels, lambda n: _on_a_core(layer, n, layer.positions, chip))
    if together:
        cores = -(-layer.channels // together)
        return [Part(n, layer.positions, times) for n, times in _even(layer.channels, cores)]
    apart = most(layer.positions, lambda n: _on_a_core(layer, 1, n, chip))
    if not apart:
        return []
    parts = _even(layer.positions, -(-layer.positions // apart))
    return [Part(1, n, times * layer.channels) for n, times in parts]


def cores_of(layer: Demand, chip: Chip) -> int:
    """How many cores a layer takes."""
    return sum(part.cores for part in split(layer, chip))


def shortages(layers: Sequence[Demand], chip: Chip, chips: int = 1) -> tuple[Shortage, ...]:
    """Every limit that the layers pass on a board; none if they fit."""
    alone = [s for layer in layers for s in _of_a_neuron(layer, chip)]
    if alone:
        return tuple(alone)
    if sum(cores_of(layer, chip) for layer in layers) <= chips * chip["cores"]:
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
    for i, layer in enumerate(layers):
        for channels, positions, times in split(layer, chip):
            held = layer.held(channels, positions, chip)
            first = len(cores)
            cores += (Core(first + n, i, channels, positions, held) for n in range(times))
    return Placement(chip, chips, tuple(layers), tuple(cores))


def _of_a_neuron(layer: Demand, chip: Chip) -> Iterator[Shortage]:
    """Limits that one neuron of a layer passes, so that no placement helps."""
    widths = (
        ("weight bits", layer.weight_bits, chip["weight_bits"], "bits of a weight"),
        ("message bits", layer.message_bits, chip["message_bits"], "bits of a graded spike"),
        ("delay bits", layer.delay.bit_length(), chip["delay_bits"], "bits of a delay"),
        ("state bytes", layer.neuron_state(chip), chip["state_bytes"], "bytes of a neuron's state"),
    )
    for limit, needed, available, about in widths:
        if needed > available:
            yield Shortage(limit, layer.name, needed, available, about, of_a_neuron=True)
    alone = layer.held(1, 1, chip)
    if alone.total > chip["core_bytes"]:
        limit = LIMITS[alone.mostly]
        about = "bytes of a core for one neuron"
        yield Shortage(limit, layer.name, alone.total, chip["core_bytes"], about, of_a_neuron=True)


def _of_the_board(layers: Sequence[Demand], chip: Chip, chips: int) -> Shortage:
    """The limit for which the cores run out: one resource alone, or else their number."""
    cores = chips * chip["cores"]
    parts = [split(layer, chip) for layer in layers]
    per_layer = {
        "neurons": [layer.neurons for layer in layers],
        **{limit: [0] * len(layers) for limit in LIMITS.values()},
    }
    for i, layer in enumerate(layers):
        for channels, positions, times in parts[i]:
            held = layer.held(channels, positions, chip)
            for name, limit in LIMITS.items():
                per_layer[limit][i] += times * getattr(held, name)
    room = {name: cores * chip["core_bytes"] for name in per_layer}
    room["neurons"] = cores * chip["neurons_per_core"]
    excess = {name: sum(per_layer[name]) / room[name] for name in per_layer}
    limit = max(excess, key=lambda name: excess[name])
    if excess[limit] > 1:
        largest = max(range(len(layers)), key=lambda i: per_layer[limit][i])
        unit = "neurons" if limit == "neurons" else f"bytes of {limit.removesuffix(' bytes')}"
        about = f"{unit}, all layers on {cores:,} cores"
        return Shortage(limit, layers[largest].name, sum(per_layer[limit]), room[limit], about)
    taken = [sum(part.cores for part in of) for of in parts]
    largest = taken.index(max(taken))
    return Shortage("cores", layers[largest].name, sum(taken), cores, "cores, all layers")
