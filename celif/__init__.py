"""The user's door: train a CE-LIF network, export it, run it in Lava and verify the result.

Each name below is imported when it is first used, so ``import celif`` itself takes no time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from celif.siblings import check_siblings

if TYPE_CHECKING:
    from celif import plots as plots
    from celif.interchange import from_nir as from_nir
    from celif.interchange import to_nir as to_nir
    from celif.verification.verify import Verification as Verification
    from celif.verification.verify import verify as verify
    from export import quantize as quantize
    from export import read_netx as read_netx
    from export import simulate as simulate
    from export import to_netx as to_netx
    from lava_procs import run as run
    from training import CELIF as CELIF
    from training import Network as Network
    from training import block as block
    from training import functional as functional
    from training import tasks as tasks
    from training import trainer as trainer
    from training.checkpoint import save as save

check_siblings()

import training as training  # noqa: E402  first: it sets OpenMP's wait policy before torch loads

_HOMES = {
    "CELIF": ("training", "CELIF"),
    "Network": ("training", "Network"),
    "Verification": ("celif.verification.verify", "Verification"),
    "block": ("training.block", None),
    "from_nir": ("celif.interchange", "from_nir"),
    "functional": ("training.functional", None),
    "plots": ("celif.plots", None),
    "quantize": ("export", "quantize"),
    "read_netx": ("export", "read_netx"),
    "run": ("lava_procs", "run"),
    "save": ("training.checkpoint", "save"),
    "simulate": ("export", "simulate"),
    "tasks": ("training.tasks", None),
    "to_netx": ("export", "to_netx"),
    "to_nir": ("celif.interchange", "to_nir"),
    "trainer": ("training.trainer", None),
    "verify": ("celif.verification.verify", "verify"),
}
"""The module of each name, and what it is called there; None stands for the module itself."""

__all__ = [  # noqa: RUF022, in the order in which they are used
    "Network",
    "CELIF",
    "block",
    "functional",
    "tasks",
    "trainer",
    "save",
    "to_netx",
    "read_netx",
    "simulate",
    "quantize",
    "run",
    "verify",
    "plots",
    "from_nir",
    "to_nir",
    "Verification",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'celif' has no attribute {name!r}")
    home, inner = _HOMES[name]
    module = import_module(home)
    value = module if inner is None else getattr(module, inner)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
