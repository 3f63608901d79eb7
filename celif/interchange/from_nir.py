"""Reading a NIR graph as a PyTorch module that can be exported.

NIR describes neurons by differential equations; :mod:`celif.interchange.neurons` and
:mod:`celif.interchange.cuba` have the steps that they become.
"""

from __future__ import annotations

import os
from typing import Any

import torch
from torch import nn

from celif.interchange import cuba, neurons
from celif.interchange.graph import (
    Edges,
    Nodes,
    flattened,
    kind,
    ordered,
    require_sources,
    without_loops,
)
from celif.interchange.neurons import DISCRETISATIONS, Time
from celif.interchange.nir_file import read_nir
from celif.interchange.nodes import NirError, nir_package
from celif.interchange.weights import output_shape, stateless

_KNOWN = (
    "Input, Output, Linear, Affine, Scale, Conv2d, AvgPool2d, SumPool2d, Flatten, LIF, CELIF, I, "
    "LI, or CubaLIF and IF in a chain"
)


def from_nir(source: Any, dt: float, steps: int, *, discretisation: str = "euler") -> nn.Module:
    """Read a NIR graph as a module for inputs (batch, channel, time).

    Parameters
    ----------
    source
        A NIR file, or a graph of the package ``nir``.
    dt
        Length of a time step in the unit of the graph's time constants.
    steps
        Longest sequence that the module takes.
    discretisation
        How decays follow from time constants: ``"euler"``, 1 − dt/τ, or ``"exact"``, exp(−dt/τ).

    Returns
    -------
    nn.Module
        A module that returns spikes (batch, neuron, time), or the last potentials (batch, neuron)
        if the graph ends with an integrator; :func:`export.to_netx` exports it unless that is LI.
        Behind LIF or CELIF nodes, Linear or Affine without an integrator returns the currents of
        every step, whose mean over time is a module that can be exported. A chain of CubaLIF and IF
        nodes becomes SLAYER's CUBA blocks, which need lava-dl.
    """
    nir_package()
    if discretisation not in DISCRETISATIONS:
        expected = ", ".join(DISCRETISATIONS)
        raise ValueError(f"discretisation: expected one of {expected}, got {discretisation!r}")
    time = Time(dt, steps, discretisation)  # refuses impossible values, before a file is read
    is_path = isinstance(source, (str, os.PathLike))
    nodes, edges = flattened(read_nir(source) if is_path else source)
    if any(kind(node) in cuba.KINDS for node in nodes.values()):
        return cuba.cuba_chain(nodes, edges, time)
    return NirNetwork(nodes, edges, time)


class NirNetwork(nn.Module):
    """A NIR graph; inputs of a node are added up."""

    def __init__(self, nodes: Nodes, edges: Edges, time: Time) -> None:
        super().__init__()
        loops, edges = without_loops(nodes, edges)
        inside = set(loops.values())
        self.order = ordered([name for name in nodes if name not in inside], edges)
        require_sources(self.order, nodes, edges)
        self.sources = {name: [a for a, b in edges if b == name] for name in self.order}
        outputs = [name for name in self.order if kind(nodes[name]) == "Output"]
        if len(outputs) != 1:
            found = f"{len(outputs)} outputs: {', '.join(outputs)}" if outputs else "none"
            raise NirError(" and ".join(outputs) or "Output", "one output", found)
        self.output = outputs[0]
        self.parts = nn.ModuleDict()
        self.keys: dict[str, str] = {}
        shapes: dict[str, tuple[int, ...]] = {}
        for name in self.order:
            before = next((shapes[each] for each in self.sources[name]), ())
            shapes[name] = output_shape(nodes[name], before)
            last = (name, self.output) in edges and sum(a == name for a, _ in edges) == 1
            loop = nodes[loops[name]] if name in loops else None
            part = stateless(name, nodes[name])
            if kind(nodes[name]) in ("I", "LI"):
                before_it = [self.parts[self.keys[each]] for each in self.sources[name]]
                shared = any(a in self.sources[name] and b != name for a, b in edges)
                part = neurons.integrator(name, nodes[name], time, before_it, last and not shared)
            elif part is None:
                part = _neurons(name, nodes[name], time, loop, shapes[name])
            self.keys[name] = _key(name, self.parts)
            self.parts[self.keys[name]] = part

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """What reaches the output, for ``x`` (batch, channel, …, time)."""
        values: dict[str, torch.Tensor] = {}
        for name in self.order:
            given = [values[each] for each in self.sources[name]]
            total = x if not given else given[0]
            for each in given[1:]:
                total = total + each
            values[name] = self.parts[self.keys[name]](total)
        return values[self.output]


def _key(name: str, parts: nn.ModuleDict) -> str:
    """A node's name as ``parts`` can hold it, and as no other node of it has."""
    key = name.replace(".", "_") or "_"
    while hasattr(parts, key):  # another node, or an attribute of every module such as "type"
        key += "_"
    return key


def _neurons(name: str, node: Any, time: Time, loop: Any, shape: tuple[int, ...]) -> nn.Module:
    which = kind(node)
    if which == "LIF":
        return neurons.lif(name, node, time, loop, shape)
    if which == "CELIF":
        return neurons.celif(name, node, time, loop)
    remedy = "end the graph at the spikes before it" if which == "CubaLI" else ""
    raise NirError(name, f"one of {_KNOWN}", which, remedy)
