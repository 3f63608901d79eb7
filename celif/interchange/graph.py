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
    """Nodes and edges of a graph, with those of graphs inside it in their place."""
    nodes: Nodes = {}
    edges = [(prefix + a, prefix + b) for a, b in graph.edges]
    for name, node in graph.nodes.items():
        if kind(node) != "NIRGraph":
            nodes[prefix + name] = node
            continue
        inner, between = flattened(node, f"{prefix}{name}.")
        ends = {
            which: [each for each, n in inner.items() if kind(n) == which]
            for which in ("Input", "Output")
        }
        if len(ends["Input"]) != 1 or len(ends["Output"]) != 1:
            raise NirError(prefix + name, "a graph with one input and one output", "others")
        nodes |= inner
        edges = [
            (
                ends["Output"][0] if a == prefix + name else a,
                ends["Input"][0] if b == prefix + name else b,
            )
            for a, b in edges
        ] + between
    return nodes, edges


def without_loops(nodes: Nodes, edges: Edges) -> tuple[dict[str, str], Edges]:
    """The weights by which each layer of neurons feeds back to itself, and the other edges."""
    loops: dict[str, str] = {}
    for a, b in edges:
        spiking = hasattr(nodes[a], "v_threshold") or kind(nodes[a]) == "CELIF"
        if (b, a) in edges and kind(nodes[b]) in WEIGHTS and spiking:
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
