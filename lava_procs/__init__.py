"""The Lava world: CE-LIF Processes, a netx network that loads them, a runner that never hangs.

Names are imported when they are first used. Importing this package prepares the import of Lava,
see :mod:`lava_procs.mends`, and imports nothing of it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import training as training  # first: it sets OpenMP's wait policy before torch loads
from lava_procs import mends

if TYPE_CHECKING:
    from lava_procs.errors import (
        LavaDeadlockError,
        LavaInlineError,
        LavaRunError,
        LavaStalledError,
        LavaTimeoutError,
    )
    from lava_procs.loihi.chip_models import register_chip_model, unregister_chip_model
    from lava_procs.loihi.host import Loihi, LoihiMissingError
    from lava_procs.one_process import inline
    from lava_procs.processes.celif.process import CELIF
    from lava_procs.processes.cuba.process import CUBA
    from lava_procs.processes.network.process import Network
    from lava_procs.processes.readout.process import Readout
    from lava_procs.processes.recorder.process import Recorder
    from lava_procs.processes.sigma_delta.process import SigmaDelta
    from lava_procs.running import run, run_stream

__all__ = [
    "CELIF",
    "CUBA",
    "LavaDeadlockError",
    "LavaInlineError",
    "LavaRunError",
    "LavaStalledError",
    "LavaTimeoutError",
    "Loihi",
    "LoihiMissingError",
    "Network",
    "Readout",
    "Recorder",
    "SigmaDelta",
    "inline",
    "register_chip_model",
    "run",
    "run_stream",
    "unregister_chip_model",
]

_HOMES = {
    "CELIF": "processes.celif.process",
    "CUBA": "processes.cuba.process",
    "LavaDeadlockError": "errors",
    "LavaInlineError": "errors",
    "LavaRunError": "errors",
    "LavaStalledError": "errors",
    "LavaTimeoutError": "errors",
    "Loihi": "loihi.host",
    "LoihiMissingError": "loihi.host",
    "Network": "processes.network.process",
    "Readout": "processes.readout.process",
    "Recorder": "processes.recorder.process",
    "SigmaDelta": "processes.sigma_delta.process",
    "inline": "one_process",
    "register_chip_model": "loihi.chip_models",
    "run": "running",
    "run_stream": "running",
    "unregister_chip_model": "loihi.chip_models",
}
"""The module in which each name is defined."""

mends.install()


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
