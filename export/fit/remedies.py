"""The smallest changes that make a network fit which does not, each of them tried.

A change is a level in one or more directions: bits of TE (8, or 4 and packed), steps for which a
TE value is held, bits of the weights, a generated cosine in place of a table, chips, and, last,
the size of what is too large. Level 0 is the network as it is, and a higher level asks for more. A
set of levels is offered if it fits and nothing offered asks for less in some direction and no more
in the others; so no set contains another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from export import loihi2
from export.convert.formats import Formats
from export.fit.chip import Chip
from export.fit.demand import SLAYER_KINDS, Demand, TeDemand, with_te, with_weight_bits
from export.fit.placement import Shortage, shortages
from export.fit.split import cores_of, most
from export.model.te import CosineTable, Table

Layers = tuple[Demand, ...]
_HOLDS = (2, 4, 8, 16, 32, 64)
_CHIPS_MAX = 1 << 14


@dataclass(frozen=True)
class Remedy:
    """Changes that together make a network fit, and the cores that it then takes."""

    changes: tuple[str, ...]
    layers: Layers
    chips: int
    cores: int
    formats: Mapping[str, int | str] = field(default_factory=dict)
    """Arguments of :func:`export.to_netx` that make the changes, where those do."""

    def __str__(self) -> str:
        return " and ".join(self.changes)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "changes": list(self.changes),
            "chips": self.chips,
            "cores": self.cores,
            "formats": dict(self.formats),
        }


def _formats(layers: Layers) -> dict[str, int | str]:
    """Arguments of an export with which it has these layers; none if layers differ in them."""
    tables = {
        (te.bits, te.form.hold, te.form.encoding)
        for te in (layer.te for layer in layers)
        if te is not None
    }
    weights = {layer.weight_bits for layer in layers if layer.kind not in SLAYER_KINDS}
    if len(tables) > 1 or len(weights) > 1:
        return {}
    asked: dict[str, int | str] = {"weight_bits": max(weights)} if weights else {}
    for bits, hold, encoding in tables:
        asked |= {"te_bits": bits, "te_hold": hold}
        if encoding == Table(packed=True).encoding:  # the others are what an export takes anyway
            asked["te_encoding"] = encoding
    return {name: value for name, value in asked.items() if value != getattr(Formats, name)}


def _bits(te: TeDemand) -> list[tuple[str, TeDemand]]:
    """List fewer bits of TE, mildest first; packing alone loses nothing."""
    levels = [("", te)]
    if not isinstance(te.form, Table):
        return levels
    if te.bits > 8:
        levels.append(("TE of 8 bits", replace(te, bits=8)))
    if not te.form.packed:
        packed = replace(te.form, packed=True)
        few = loihi2.PACKED_BITS
        name = "TE packed" if te.bits <= few else f"TE of {few} bits, packed"
        levels.append((name, replace(te, bits=min(te.bits, few), form=packed)))
    return levels


def _holds(te: TeDemand) -> list[tuple[str, int]]:
    """List longer times for which each TE value is held."""
    if not isinstance(te.form, Table):
        return [("", 1)]
    longer = (n for n in _HOLDS if te.form.hold < n <= min(te.steps, loihi2.HOLD_MAX))
    return [("", te.form.hold), *((f"TE held for {n} steps", n) for n in longer)]


def _cosine(te: TeDemand) -> TeDemand:
    """A generated cosine of the same bits, with the largest wave that the file allows."""
    wave = np.zeros(1 << loihi2.WAVE_BITS_MAX, np.int64)
    return replace(te, form=CosineTable(np.zeros(0, np.int64), wave))


def _te_levels(layers: Layers) -> dict[tuple[int, int, int], tuple[list[str], Layers]]:
    """Levels (cosine, bits, hold) of TE, each with the names of its changes and the layers."""
    tables = [layer.te for layer in layers if layer.te is not None]
    if not tables:
        return {(0, 0, 0): ([], layers)}
    largest = max(tables, key=lambda te: te.row_words)
    levels = {}
    for (i, (bits, te)), (j, (hold, steps)) in product(
        enumerate(_bits(largest)), enumerate(_holds(largest))
    ):
        if i or j:
            form = replace(te.form, hold=steps) if isinstance(te.form, Table) else te.form
            changed = with_te(layers, replace(te, form=form))
        else:
            changed = layers
        levels[0, i, j] = ([name for name in (bits, hold) if name], changed)
    if isinstance(largest.form, Table):
        levels[1, 0, 0] = (["a generated cosine for TE"], with_te(layers, _cosine(largest)))
    return levels


def _weight_levels(layers: Layers) -> list[tuple[str, Callable[[Layers], Layers]]]:
    """List fewer bits of the weights, mildest first."""
    widest = max(layer.weight_bits for layer in layers)

    def level(bits: int) -> tuple[str, Callable[[Layers], Layers]]:
        return f"weights of {bits} bits", lambda layers: with_weight_bits(layers, bits)

    fewer = range(widest - 1, loihi2.WEIGHT_BITS_MIN - 1, -1)
    return [("", lambda layers: layers), *map(level, fewer)]


def _minimal(levels: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """The Pareto-minimal levels."""
    return [
        a
        for a in levels
        if not any(b != a and all(x <= y for x, y in zip(b, a, strict=True)) for b in levels)
    ]


def _cores(layers: Layers, chip: Chip) -> int:
    return sum(cores_of(layers, chip))


def _of_formats(layers: Layers, chip: Chip, chips: int) -> list[Remedy]:
    """Minimal sets of changes to the bits and forms of weights and TE."""
    te_levels, weight_levels = _te_levels(layers), _weight_levels(layers)
    fitting: dict[tuple[int, ...], Remedy] = {}
    for te_level, (names, changed) in te_levels.items():
        for w, (weight_name, apply) in enumerate(weight_levels):
            candidate = apply(changed)
            if not shortages(candidate, chip, chips):
                labels = (*names, *([weight_name] if weight_name else []))
                cores = _cores(candidate, chip)
                cosine, bits, hold = te_level
                # A cosine is trained as one: no export makes it of a table.
                asked = {} if cosine else _formats(candidate)
                fitting[cosine, hold, bits, w] = Remedy(labels, candidate, chips, cores, asked)
                break  # fewer bits of the weights would ask for more
    # Sorted by level: bits before holding, holding before another kind of TE.
    return [fitting[level] for level in sorted(_minimal(list(fitting)))]


def _more_chips(layers: Layers, chip: Chip) -> list[Remedy]:
    needed = _cores(layers, chip)
    chips = -(-needed // chip["cores"])
    if chips > _CHIPS_MAX or shortages(layers, chip, chips):
        return []
    boards = [board for board in chip.boards.values() if board.chips >= chips]
    board = min(boards, key=lambda board: board.chips, default=None)
    named = f" ({board.name} has {board.chips:,})" if board else ""
    return [Remedy((f"{chips:,} chips{named}",), layers, chips, needed)]


def _put(layers: Layers, i: int, **fields: Any) -> Layers:
    return (*layers[:i], replace(layers[i], **fields), *layers[i + 1 :])


def _narrowed(layers: Layers, i: int, channels: int) -> Layers:
    """Return the layers with fewer channels in one, and so fewer inputs to the next."""
    old = layers[i]
    changed = _put(layers, i, channels=channels, recurrent=channels if old.recurrent else 0)
    if i + 1 == len(layers):
        return changed
    after = layers[i + 1]
    weights = after.weights * channels // old.channels
    return _put(changed, i + 1, inputs=changed[i].neurons, weights=weights)


def _shortened(layers: Layers, steps: int) -> Layers:
    """Return the layers with fewer steps of TE in each."""
    return tuple(
        replace(layer, te=replace(layer.te, steps=steps)) if layer.te else layer for layer in layers
    )


def _smaller(layers: Layers, chip: Chip, chips: int, shortage: Shortage) -> list[Remedy]:
    """Find how much of what is too large would fit, with everything else as it is."""
    i = next(n for n, layer in enumerate(layers) if layer.name == shortage.layer)
    layer, name = layers[i], shortage.layer
    neurons = "neurons" if layer.positions == 1 else "channels"
    # What there is now, how to have less of it, and what to call that.
    narrower = layer.channels, partial(_narrowed, layers, i), f"{name} of at most {{:,}} {neurons}"
    shorter = (
        (layer.te.steps if layer.te else 0),
        partial(_shortened, layers),
        "TE of at most {:,} steps",
    )

    def fewer_inputs(n: int) -> Layers:
        return _put(layers, i, inputs=n, weights=layer.weights * n // layer.inputs)

    def fewer_bits(n: int) -> Layers:
        return _put(layers, i, message_bits=n)

    def earlier(n: int) -> Layers:
        return _put(layers, i, delay=n)

    one_neuron = shortage.of_a_neuron
    fewer = layer.inputs, fewer_inputs, f"{name} with at most {{:,}} inputs"
    ways: dict[str, list[tuple[int, Callable[[int], Layers], str]]] = {
        "message bits": [(layer.message_bits, fewer_bits, "input of at most {:,} bits")],
        "delay bits": [(layer.delay, earlier, f"{name} with delays up to {{:,}}")],
        "weight bits": [],
        "state bytes": [shorter],
        "neuron words": [shorter] if one_neuron else [narrower, shorter],
        "pool": [fewer, shorter] if one_neuron else [narrower, shorter],
        "input axons": [fewer],
        "synapses": [fewer] if one_neuron else [narrower],
    }
    found = []
    for now, change, text in ways.get(shortage.limit, [narrower]):

        def fits(n: int, change: Callable[[int], Layers] = change) -> bool:
            return n == 0 or not shortages(change(n), chip, chips)

        if 0 < (n := most(now, fits)) < now:
            changed = change(n)
            found.append(Remedy((text.format(n),), changed, chips, _cores(changed, chip)))
    return found


def remedies(layers: Layers, chip: Chip, chips: int, missing: Sequence[Shortage]) -> list[Remedy]:
    """Changes that make ``layers`` fit, which pass the limits ``missing``; fewest changes first."""
    found = [*_more_chips(layers, chip), *_of_formats(layers, chip, chips)]
    for shortage in {shortage.limit: shortage for shortage in reversed(missing)}.values():
        found += _smaller(layers, chip, chips, shortage)
    return sorted(found, key=lambda remedy: len(remedy.changes))
