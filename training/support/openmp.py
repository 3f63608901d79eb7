"""OpenMP's wait policy: waiting threads sleep instead of spinning.

Torch and numba have a pool of OpenMP threads each, and they take turns. With OpenMP's default, the
threads of the waiting pool spin for a while and take the cores from the other: a factor of 4 to 20
on a busy machine. ``OMP_WAIT_POLICY=passive`` prevents that, but only if it is set before torch is
imported, because OpenMP reads it once, when its library is loaded. ``training``, which every room
imports first, therefore sets it before it imports torch.
"""

from __future__ import annotations

import os
import sys
import warnings

VARIABLE = "OMP_WAIT_POLICY"

_LATE = False


def set_wait_policy() -> None:
    """Ask OpenMP for sleeping threads, unless the user has asked for something else."""
    global _LATE
    if VARIABLE in os.environ:
        return
    # Even if it is too late for torch, numba's pool and child processes still read it.
    os.environ[VARIABLE] = "passive"
    _LATE = "torch" in sys.modules


def wait_policy() -> str:
    """Return the policy that is in force, as far as it is known, for the record of a run."""
    policy = os.environ.get(VARIABLE, "not set")
    return f"{policy}, but set after torch had been imported" if _LATE else policy


def warn_if_late() -> None:
    """Warn if torch was imported before celif, so that its waiting threads spin."""
    if _LATE:
        warnings.warn(
            f"torch was imported before celif, too early for {VARIABLE}=passive: waiting threads "
            "spin, which can slow training several times on a busy machine; import celif (or "
            f"training) before torch, or set {VARIABLE}=passive in the environment",
            stacklevel=3,
        )
