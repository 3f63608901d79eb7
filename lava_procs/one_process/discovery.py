"""Which models a Process has: found once for each class of an installed package, by importing.

Lava looks for models at every start, and executes each file of the Process's folder to do so.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from collections.abc import Callable
from typing import Any

from lava.magma.compiler.compiler_graphs import ProcGroupDiGraphs

_PACKAGES = ("lava", "lava_procs")
"""Packages whose models do not change while a program runs; a notebook's may."""

_found: dict[type, list[Any]] = {}
_search: Callable[[Any], list[Any]] = ProcGroupDiGraphs._find_proc_models
_in_module: Callable[[Any, Any], list[Any]] = ProcGroupDiGraphs._find_proc_models_in_module


def find_models(proc: Any) -> list[Any]:
    """Return the classes of models that implement a Process, in the order of Lava's own search."""
    kind = type(proc)
    if kind.__module__.partition(".")[0] not in _PACKAGES:
        return _search(proc)
    if kind not in _found:
        try:
            models = _imported(proc)
        except Exception:  # a sibling that cannot be imported, of which Lava's search warns
            models = []
        _found[kind] = models or _search(proc)
    return list(_found[kind])


def _imported(proc: Any) -> list[Any]:
    home = sys.modules[type(proc).__module__]
    models = _in_module(proc, home)
    package = importlib.import_module(home.__name__.rpartition(".")[0])
    folder = os.path.dirname(home.__file__ or "")
    # The Process's own folder comes first, then others that the package may be spread over.
    for path in [folder, *(path for path in package.__path__ if path != folder)]:
        for found in pkgutil.iter_modules([path]):
            if not found.ispkg:
                module = importlib.import_module(f"{package.__name__}.{found.name}")
                models += [model for model in _in_module(proc, module) if model not in models]
    return models


def install() -> None:
    """Let Lava's compiler ask here."""
    ProcGroupDiGraphs._find_proc_models = staticmethod(find_models)


def uninstall() -> None:
    """Let Lava's compiler search by itself."""
    ProcGroupDiGraphs._find_proc_models = staticmethod(_search)
