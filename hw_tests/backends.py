"""The back ends that can run an exported network, behind one call.

``torch`` runs the dequantised parameters in float32, and the integers as quantisation-aware
training does; ``twin`` runs the integers in the batched simulator; ``lava`` runs both in Lava on
the CPU, in one process; ``loihi2`` runs the integers on the chip. ``oracle``, in plain Python
integers, is a judge and not one of the targets.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from export import FixedNetwork, QuantizedNetwork, Trace, simulate
from hw_tests.dequantised import run_torch
from hw_tests.oracle.backend import run_oracle
from lava_procs.mends import lava_command

if TYPE_CHECKING:
    from lava_procs import Loihi

TARGETS = ("torch", "twin", "lava", "loihi2")


@dataclass(frozen=True)
class Backend:
    """A way to run a network; ``arithmetic`` is ``"float"`` or ``"fixed"``."""

    target: str
    arithmetic: str
    run: Callable[[FixedNetwork, np.ndarray], Trace]
    missing: Callable[[], str | None] = lambda: None
    """Returns why the back end cannot run here, or None if it can."""
    runtime: str = "inline"
    """What runs Lava's models, see :func:`lava_procs.run`."""

    def __str__(self) -> str:
        own = ", own runtime" if self.runtime == "lava" else ""
        return f"{self.target} {self.arithmetic}{own}"


def _run_lava(
    precision: str, runtime: str = "inline"
) -> Callable[[FixedNetwork, np.ndarray], Trace]:
    def run(net: FixedNetwork, x: np.ndarray) -> Trace:
        from lava_procs import run as run_in_lava  # slow to import, and an extra

        return run_in_lava(net, x, precision=precision, runtime=runtime)

    return run


def _no_lava() -> str | None:
    if importlib.util.find_spec("lava") is None or importlib.util.find_spec("lava.magma") is None:
        return f"Lava is not installed; {lava_command()}"
    return None


def run_quantised(net: FixedNetwork, x: np.ndarray) -> Trace:
    """Run the forward pass of quantisation-aware training."""
    return QuantizedNetwork.of(net).trace(torch.from_numpy(net.encode(x)))


def no_loihi2(chip: Loihi | None = None) -> str | None:
    """Say in one sentence why the chip cannot be used and what to do, or return None."""
    try:
        from lava_procs.loihi.host import Loihi, missing
    except ImportError as error:
        return str(error)
    return missing(chip or Loihi())


def loihi2(chip: Loihi | None = None) -> Backend:
    """Return the back end of a Loihi 2; by default the one that the environment names."""

    def run(net: FixedNetwork, x: np.ndarray) -> Trace:
        from lava_procs import Loihi
        from lava_procs import run as run_in_lava

        return run_in_lava(net, x, target=chip or Loihi())

    return Backend("loihi2", "fixed", run, lambda: no_loihi2(chip))


BACKENDS = (
    Backend("oracle", "fixed", run_oracle),
    Backend("torch", "float", run_torch),
    Backend("torch", "fixed", run_quantised),
    Backend("twin", "fixed", lambda net, x: simulate(net, x, trace=True)),
    Backend("lava", "float", _run_lava("float"), _no_lava),
    Backend("lava", "fixed", _run_lava("fixed"), _no_lava),
    loihi2(),
)


LAVA_OWN = Backend("lava", "fixed", _run_lava("fixed", "lava"), _no_lava, "lava")
"""Lava's own runtime, with a process for each model; too slow to be in :data:`BACKENDS`."""


def backend(target: str, arithmetic: str) -> Backend:
    """Find the back end of a target and an arithmetic."""
    return next(b for b in BACKENDS if (b.target, b.arithmetic) == (target, arithmetic))
