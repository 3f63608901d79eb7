"""Profilers of Intel's extension, attached to a run on the chip: power, time, activity, memory.

``lava.utils.loihi2_profiler`` has one class for each. They are used as lava-dl's public benchmark
notebooks use them: ``attach(board)`` before the run, ``get_results`` after it. Which figures they
then show is not published as a whole, so every public number of a profiler is kept, arrays as
their means. The public notebooks name ``avg_time_per_step``, in microseconds. That the powers are
called ``total_power`` and ``static_total_power``, in watts, is an assumption that no chip has
confirmed.
"""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from lava.magma.core.callback_fx import NxSdkCallbackFx

from training.support.atomic import atomic_file

MODULE = "lava.utils.loihi2_profiler"
PROFILERS = {
    "power": "Loihi2Power",
    "time": "Loihi2ExecutionTime",
    "activity": "Loihi2Activity",
    "memory": "Loihi2Memory",
}
TIME, POWER, STATIC = "avg_time_per_step", "total_power", "static_total_power"

Figures = dict[str, dict[str, float]]


def attached(steps: int) -> tuple[dict[str, Any], list[str]]:
    """Make the profilers that the extension has for a run of ``steps``; name those it lacks."""
    module = importlib.import_module(MODULE)
    found, missing = {}, []
    for name, cls in PROFILERS.items():
        make = getattr(module, cls, None)
        if make is None:
            missing.append(f"{MODULE}.{cls}")
        else:
            found[name] = make(**_accepted(make, num_steps=steps))
    return found, missing


def _accepted(function: Any, **arguments: Any) -> dict[str, Any]:
    """Keep the arguments that a function takes."""
    taken = inspect.signature(function).parameters
    return {name: value for name, value in arguments.items() if name in taken}


class ProfilerFx(NxSdkCallbackFx):
    """Lava's hook by which the profilers see the board, before and after the run.

    It writes their figures itself: Lava may call it in a process of its own.
    """

    def __init__(self, file: str, profilers: Mapping[str, Any], missing: list[str]) -> None:
        self.file, self.profilers, self.missing = file, dict(profilers), missing

    def pre_run_callback(self, board: Any = None, var_id_to_var_model_map: Any = None) -> None:
        """Attach them."""
        for profiler in self.profilers.values():
            profiler.attach(board)

    def post_run_callback(self, board: Any = None, var_id_to_var_model_map: Any = None) -> None:
        """Let them read their results; some take the board, some do not."""
        for profiler in self.profilers.values():
            if inspect.signature(profiler.get_results).parameters:
                profiler.get_results(board)
            else:
                profiler.get_results()
        write(self.file, self.profilers, self.missing)


def hooks(file: str, steps: int) -> list[NxSdkCallbackFx]:
    """Return the hooks that profile a run of ``steps`` and write its figures to a file."""
    Path(file).unlink(missing_ok=True)
    profilers, missing = attached(steps)
    if not profilers:
        raise LookupError(
            f"profile: expected one of {', '.join(missing)}, found none; leave it out"
        )
    return [ProfilerFx(file, profilers, missing)]


def figures(profilers: Mapping[str, Any]) -> Figures:
    """Return every public number that the profilers show."""
    return {name: _numbers(profiler) for name, profiler in profilers.items()}


def _numbers(profiler: Any) -> dict[str, float]:
    found = {}
    for name in dir(profiler):
        if name.startswith("_"):
            continue
        value = getattr(profiler, name)
        if isinstance(value, bool) or not isinstance(value, int | float | np.ndarray | np.number):
            continue
        array = np.asarray(value)
        if array.size and np.issubdtype(array.dtype, np.number):
            found[name] = float(np.mean(array))
    return found


def step_of(measured: Figures) -> dict[str, float]:
    """Return the measured time (µs) and energy (nJ) of a step, as far as they are shown."""
    found = {}
    time = measured.get("time", {}).get(TIME)
    power = measured.get("power", {})
    if time is not None:
        found["step_us"] = time
        for name, watts in (("step_nj", power.get(POWER)), ("static_nj", power.get(STATIC))):
            if watts is not None:
                found[name] = 1e3 * watts * time
    return found


def write(file: str | Path, profilers: Mapping[str, Any], missing: list[str]) -> None:
    """Write the figures of profilers, and the names of those that were not there, as JSON."""
    said = {"figures": figures(profilers), "missing": missing}
    with atomic_file(Path(file)) as draft:
        draft.write_text(json.dumps(said, indent=1), encoding="utf-8")
