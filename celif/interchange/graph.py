"""The shape of a NIR graph: graphs inside it, its order, and the loops of recurrent layers."""

from __future__ import annotations

from typing import Any

from celif.interchange.nodes import NirError

Nodes = dict[str, Any]
Edges = list[tuple[str, str]]

WEIGHTS = ("Linear", "Affine")
"""Nodes that are a matrix, and may stand in the loop of a recurrent layer."""


def kind(node: Any) -> str:
    """Return the name of a node's type."""
    return type(node).__name__


def flattened(graph: Any, prefix: str = "") -> tuple[Nodes, Edges]:
    """Nodes and edges of a graph, with those of graphs inside it in their place.

    Inputs and outputs of graphs inside it are left out: what reaches them goes on to the nodes
    behind them.
    """
    nodes: Nodes = {}
    edges = [(prefix + a, prefix + b) for a, b in graph.edges]
    ports: list[str] = []
    for name, node in graph.nodes.items():
        inner: Nodes = {prefix + name: node}
        between: Edges = []
        if kind(node) == "NIRGraph":
            inner, between = flattened(node, f"{prefix}{name}.")
        for each in inner:
            if each in nodes:
                raise NirError(each, "a name of its own", "two nodes of it", "rename one")
        nodes |= inner
        if kind(node) != "NIRGraph":
            continue
        ends = {
            which: [each for each, n in inner.items() if kind(n) == which]
            for which in ("Input", "Output")
        }
        if len(ends["Input"]) != 1 or len(ends["Output"]) != 1:
            raise NirError(prefix + name, "a graph with one input and one output", "others")
        ports += [*ends["Input"], *ends["Output"]]
        edges = [
            (
                ends["Output"][0] if a == prefix + name else a,
                ends["Input"][0] if b == prefix + name else b,
            )
            for a, b in edges
        ] + between
    for end in {end for edge in edges for end in edge} - set(nodes):
        raise NirError(end, "a node for every edge", "none of this name")
    for port in ports:
        edges = _joined(port, edges)
        del nodes[port]
    return nodes, edges


def _joined(port: str, edges: Edges) -> Edges:
    """Edges that lead past the input or output of an inner graph instead of through it."""
    before, after = [a for a, b in edges if b == port], [b for a, b in edges if a == port]
    if not before or not after or port in before:
        found = "none into it" if not before else "none out of it" if not after else "a loop"
        raise NirError(port, "edges into and out of it, as an end of an inner graph", found)
    others = [edge for edge in edges if port not in edge]
    return others + [(a, b) for a in before for b in after]


def require_sources(order: list[str], nodes: Nodes, edges: Edges) -> None:
    """Raise NirError unless there is one input, and every other node receives something."""
    inputs = [name for name in order if kind(nodes[name]) == "Input"]
    if len(inputs) != 1:
        found = f"{len(inputs)} inputs: {', '.join(inputs)}" if inputs else "none"
        raise NirError(" and ".join(inputs) or "Input", "one input", found)
    fed = {b for _, b in edges}
    if inputs[0] in fed:
        raise NirError(inputs[0], "an input without edges into it", "some")
    for name in order:
        if name not in fed and name != inputs[0]:
            raise NirError(name, "an edge into every node but the input", "none")


def without_loops(nodes: Nodes, edges: Edges) -> tuple[dict[str, str], Edges]:
    """The weights by which each layer of neurons feeds back to itself, and the other edges."""
    loops: dict[str, str] = {}
    for a, b in edges:
        spiking = hasattr(nodes[a], "v_threshold") or kind(nodes[a]) == "CELIF"
        if (b, a) in edges and kind(nodes[b]) in WEIGHTS and spiking:
            others = [edge for edge in edges if b in edge and edge not in ((a, b), (b, a))]
            if others:
                expected = f"no edges but those from and to {a} at the weights of its loop"
                found = ", ".join(" → ".join(edge) for edge in others)
                raise NirError(b, expected, found, "give the other edges a node of their own")
            if loops.get(a, b) != b:
                remedy = "add up their weights in one node"
                raise NirError(a, "one loop", f"those of {loops[a]} and {b}", remedy)
            loops[a] = b
    inside = set(loops.values())
    return loops, [(a, b) for a, b in edges if a not in inside and b not in inside]


def ordered(names: list[str], edges: Edges) -> list[str]:
    """Return the nodes in such an order that each comes after those that it receives from."""
    waiting, done = list(names), []
    while waiting:
        ready = [n for n in waiting if all(a in done for a, b in edges if b == n)]
        if not ready:
            raise NirError(
                waiting[0],
                "a graph without loops other than neurons → weights → the same neurons",
                "another loop",
            )
        done += ready
        waiting = [n for n in waiting if n not in ready]
    return done
