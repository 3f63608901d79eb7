"""The float world: the CE-LIF recurrence, its kernels, neurons, networks, tasks and trainer.

Importing this package sets OpenMP's wait policy and imports nothing else; names load on first use.
"""

import importlib
from typing import TYPE_CHECKING, Any

from training.support import openmp

openmp.set_wait_policy()  # before anything imports torch

if TYPE_CHECKING:
    from training import block, checkpoint, functional, tasks, trainer
    from training.modules import CELIF
    from training.network.network import Network

__all__ = ["CELIF", "Network", "block", "checkpoint", "functional", "tasks", "trainer"]

_HOMES = {"CELIF": "training.modules", "Network": "training.network.network"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in __all__:
        return importlib.import_module(f"training.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
