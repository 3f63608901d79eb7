"""In which order to run models, so that few of them have to wait for a message."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")


def along_the_wires(nodes: Sequence[T], wires: Iterable[tuple[T, T]]) -> list[T]:
    """Sort nodes so that a wire's source comes before its destination.

    A loop is cut where the first of its nodes, in the given order, stands. The order has no
    influence on what the models compute, as each waits for the messages that it needs.
    """
    sources: dict[int, set[int]] = {id(node): set() for node in nodes}
    for source, destination in wires:
        if source is not destination:
            sources[id(destination)].add(id(source))
    left, ordered = list(nodes), []
    while left:
        node = next((n for n in left if not sources[id(n)]), left[0])
        left = [n for n in left if n is not node]
        ordered.append(node)
        for before in sources.values():
            before.discard(id(node))
    return ordered
