"""A recorded pass as a chain of layers, which is what a file holds.

Each layer of neurons has a level: one more than the highest of the sources that reach it. Layers of
one level stand side by side in one layer of the chain. A source that is needed beyond the next
level is passed on by *relays*: neurons that fire at every step at which their one input does, at
the same step of the sample. A relay is a CE-LIF neuron with TE = 0 and a weight of at least Θ0: its
membrane is 0 or that weight, its threshold stays Θ0. So sums of several layers, residual and skip
connections have their steps right, in integers as in float.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from export.checks import ModelError
from export.graph.follow import Recording
from export.graph.values import Constants, Sources, SpikeSource, Term, Value, joined_decays
from export.model.geometry import Geometry

RELAYING = ("celif", "lif")
"""Kinds of neurons that can be relays: without TE, their threshold stays where it is."""

RELAY_MARGIN = 1.25
"""A relay's weight is at least this times Θ0, so that rounding leaves it above Θ0."""


@dataclass(frozen=True)
class ChainLayer:
    """One layer of the chain, in tensors with the graph behind them."""

    name: str
    weight: torch.Tensor
    geometry: Geometry | None
    bias: torch.Tensor
    te: torch.Tensor
    turns: torch.Tensor | None
    table: int
    kind: str
    params: Constants
    width: float
    weight_rec: torch.Tensor | None
    delay: np.ndarray | None
    weight_bits: int | None
    relays: int = 0
    """Number of relays, which are the last neurons."""


@dataclass(frozen=True)
class Chain:
    """A network as a chain of layers."""

    layers: list[ChainLayer]
    readout: tuple[torch.Tensor, torch.Tensor] | None
    steps: int
    relays_input: bool
    """Whether the input is passed on by relays, for which it has to be spikes."""


def lower(recording: Recording) -> Chain:
    """Make a chain of layers of a recorded pass."""
    levels = _levels(recording)
    last = max(levels.values())
    needed = _needed(recording, levels, last)
    before = [recording.input]
    layers: list[ChainLayer] = []
    for level in range(1, last + 1):
        members = [s for s in recording.sources if levels.get(s) == level]
        relayed = [s for s in needed[level] if levels[s] < level]
        layers.append(_layer(before, members, relayed, recording.steps, len(layers)))
        before = members + relayed
    readout = _readout(recording.output, before)
    relays_input = any(recording.input in needed[level] for level in range(1, last + 1))
    return Chain(layers, readout, recording.steps, relays_input)


def _levels(recording: Recording) -> dict[SpikeSource, int]:
    """The level of every source that the output depends on."""
    found: dict[SpikeSource, int] = {recording.input: 0}
    for source in recording.sources:  # in the order of their calls: what they need came before
        assert source.current is not None
        found[source] = 1 + max((found[s] for s in source.current.terms), default=0)
    used: set[SpikeSource] = set()
    waiting = list(recording.output.terms)
    while waiting:
        source = waiting.pop()
        if source not in used:
            used.add(source)
            waiting += source.current.terms if source.current is not None else ()
    if not used - {recording.input}:
        raise ModelError(
            "network forward: expected an output that depends on a layer of neurons, got one "
            "that does not"
        )
    return {source: level for source, level in found.items() if source in used or not level}


def _needed(recording: Recording, levels: dict[SpikeSource, int], last: int) -> list[Sources]:
    """For every level, the sources that a later one, or the output, receives."""
    needed: list[Sources] = [[] for _ in range(last + 1)]
    consumers = [(level, s.current.terms) for s, level in levels.items() if s.current is not None]
    for level, terms in [*consumers, (last + 1, recording.output.terms)]:
        for source in terms:
            for between in range(levels[source], level):
                if source not in needed[between]:
                    needed[between].append(source)
    for each in needed:  # in one order, whatever the order of the consumers
        each.sort(key=[recording.input, *recording.sources].index)
    return needed


def _layer(
    before: Sources, members: Sources, relayed: Sources, steps: int, number: int
) -> ChainLayer:
    first = members[0]
    assert first.current is not None
    assert first.te is not None
    if len(members) == len(before) == 1 and not relayed and first.current.terms:
        return _plain(first, steps)
    names = ", ".join(s.name for s in members)
    for source in (*members, *before):
        if source.shape.size != source.shape.channels and not source.is_input:
            raise ModelError(
                f"network forward: {names}: expected vectors where the outputs of several layers "
                f"meet, got images from {source.name}; flatten them, or use a chain of blocks"
            )
    alike = {(s.kind, s.params[2:], s.width) for s in members}
    if len(alike) > 1:
        raise ModelError(
            f"network forward: {names}: expected neurons with the same constants (kind, Θ0, γ, Γ), "
            f"because these layers stand side by side in the file, got {sorted(alike)}"
        )
    if relayed and first.kind not in RELAYING:
        raise ModelError(
            f"network forward: {names}: expected neurons of kind {' or '.join(RELAYING)}, because "
            f"spikes of {', '.join(s.name for s in relayed)} have to pass, got {first.kind}"
        )
    theta0 = first.params[2]
    if relayed and theta0 <= 0:
        raise ModelError(
            f"network forward: {names}: expected Θ0 > 0, because spikes of "
            f"{', '.join(s.name for s in relayed)} have to pass, got {theta0:g}"
        )
    columns = {s: slice(start, start + s.neurons) for s, start in _starts(before)}
    width = sum(s.neurons for s in before)
    blocks = []
    for source in members:
        assert source.current is not None
        row = source.current.bias.new_zeros(source.neurons, width)
        for origin, matrix in source.current.matrices().items():
            row = row + nn.functional.pad(
                matrix, (columns[origin].start, width - columns[origin].stop)
            )
        blocks.append(row)
    largest = max(float(b.detach().abs().max()) for b in blocks)
    gain = max(largest, RELAY_MARGIN * theta0)
    for source in relayed:
        row = blocks[0].new_zeros(source.neurons, width)
        row[torch.arange(source.neurons), columns[source].start + torch.arange(source.neurons)] = (
            gain
        )
        blocks.append(row.detach())
    relays = sum(s.neurons for s in relayed)
    zeros = first.te.new_zeros(relays)
    return ChainLayer(
        name=names,
        weight=torch.cat(blocks),
        geometry=None,
        bias=torch.cat([*(s.current.bias for s in members if s.current is not None), zeros]),
        te=torch.cat([*(_te(s, steps) for s in members), first.te.new_zeros(relays, steps)]),
        turns=None,
        table=1 + number,
        kind=first.kind,
        params=(
            joined_decays(members, 0, relays),
            joined_decays(members, 1, relays),
            *first.params[2:],
        ),
        width=first.width,
        weight_rec=_feedback(members, relays),
        delay=_delays(members, relays),
        weight_bits=max(s.weight_bits or 0 for s in members) or None,
        relays=relays,
    )


def _plain(source: SpikeSource, steps: int) -> ChainLayer:
    """The layer of a source that receives only what the layer before it sends."""
    value = source.current
    assert value is not None
    (term,) = value.terms.values()
    positions = source.neurons // source.rows
    geometry, weight, bias = term.geometry, term.weight, value.bias
    if weight is None:  # one neuron for each input
        weight = bias.new_ones(source.rows, 1, 1, 1)
        geometry = Geometry(source.shape, groups=source.rows)
    elif geometry is None and positions > 1:
        raise ModelError(
            f"network forward: {source.name}: expected a convolution before neurons that share the "
            "temporal encoding of their channel, got a matrix; flatten the images first"
        )
    by_row = bias.reshape(source.rows, positions)
    # NaN equals nothing; whoever reads the chain reports where it is.
    if not bool(((by_row == by_row[:, :1]) | ~by_row.isfinite()).all()):
        raise ModelError(
            f"network forward: {source.name}: expected one bias for all pixels of a channel, got "
            "several"
        )
    return ChainLayer(
        name=source.name,
        weight=weight,
        geometry=geometry,
        bias=by_row[:, 0],
        te=_te(source, steps),
        turns=None if source.turns is None else source.turns[: source.rows],
        table=-source.te_key,
        kind=source.kind,
        params=source.params,
        width=source.width,
        weight_rec=source.weight_rec,
        delay=source.delay,
        weight_bits=source.weight_bits,
    )


def _te(source: SpikeSource, steps: int) -> torch.Tensor:
    assert source.te is not None
    return source.te[: source.rows, :steps]


def _starts(sources: Sources) -> list[tuple[SpikeSource, int]]:
    ends = np.cumsum([s.neurons for s in sources]).tolist()
    return list(zip(sources, [0, *ends[:-1]], strict=True))


def _feedback(members: Sources, relays: int) -> torch.Tensor | None:
    if all(s.weight_rec is None for s in members):
        return None
    like = next(s.weight_rec for s in members if s.weight_rec is not None)
    parts = [
        like.new_zeros(s.neurons, s.neurons) if s.weight_rec is None else s.weight_rec
        for s in members
    ]
    return torch.block_diag(*parts, like.new_zeros(relays, relays))


def _delays(members: Sources, relays: int) -> np.ndarray | None:
    if all(s.delay is None for s in members):
        return None
    rows = [np.zeros(s.rows, np.int64) if s.delay is None else s.delay for s in members]
    return np.concatenate([*rows, np.zeros(relays, np.int64)])


def _readout(output: Value, before: Sources) -> tuple[torch.Tensor, torch.Tensor] | None:
    """Weight and bias of the classifier, or None for the spikes of the last layer themselves."""
    if not output.rate and any(term.weight is not None for term in output.terms.values()):
        raise ModelError(
            "network forward: expected logits that are means over time, or the spikes of the last "
            "layer, got a value for every step; take the mean over time"
        )
    samples = len(output.index)
    count = output.neurons * samples * (1 if output.rate else output.steps)
    if output.index.numel() != count or not torch.equal(
        output.index.flatten(), torch.arange(count)
    ):
        raise ModelError(
            "network forward: expected an output in the order of its neurons, got another; return "
            "the logits, or the spikes, as they are"
        )
    itself = list(output.terms) == before and not bool(output.bias.detach().any())
    (term, *_) = output.terms.values() or (Term(torch.zeros(())),)
    if itself and len(before) == 1 and _is_mean_or_sum(term, output.steps):
        return None
    if not output.rate:
        raise ModelError(
            "network forward: expected the spikes of the last layer alone, or logits that are "
            "means over time, got spikes of several layers"
        )
    columns = output.matrices()
    parts = [
        columns.get(source, output.bias.new_zeros(output.neurons, source.neurons))
        for source in before
    ]
    return torch.cat(parts, 1), output.bias


def _is_mean_or_sum(term: Term, steps: int) -> bool:
    """Whether an output is the last layer's spikes, or their mean or sum over time."""
    if term.weight is None:
        return True
    if term.geometry is not None or term.weight.shape[0] != term.weight.shape[1]:
        return False
    weight = term.weight.detach()
    identity = torch.eye(len(weight)).to(weight)
    rounding = 8 * torch.finfo(weight.dtype).eps  # of sums that were divided by the steps
    return any(torch.allclose(weight, factor * identity, rounding, 0) for factor in (1, steps))
