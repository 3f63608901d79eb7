"""Which models a Process has: found once for each class of an installed package.

Lava looks for models at every start, and executes each file of the Process's folder to do so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lava.magma.compiler.compiler_graphs import ProcGroupDiGraphs

_PACKAGES = ("lava", "lava_procs")
"""Packages whose models do not change while a program runs; a notebook's may."""

_found: dict[type, list[Any]] = {}
_search: Callable[[Any], list[Any]] = ProcGroupDiGraphs._find_proc_models


def find_models(proc: Any) -> list[Any]:
    """Return the classes of models that implement a Process, as Lava's own search does."""
    kind = type(proc)
    if kind.__module__.partition(".")[0] not in _PACKAGES:
        return _search(proc)
    if kind not in _found:
        _found[kind] = _search(proc)
    return list(_found[kind])


def install() -> None:
    """Let Lava's compiler ask here."""
    ProcGroupDiGraphs._find_proc_models = staticmethod(find_models)


def uninstall() -> None:
    """Let Lava's compiler search by itself."""
    ProcGroupDiGraphs._find_proc_models = staticmethod(_search)
