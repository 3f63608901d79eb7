"""The float world: the CE-LIF recurrence, its kernels, networks, tasks and trainer.

Each name is imported when it is first used, so that what needs no torch does not import it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from training import functional
    from training.network.network import Network

__all__ = ["Network", "functional"]

_HOMES = {"Network": "training.network.network"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in __all__:
        return importlib.import_module(f"training.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
