"""Traces through shared arrays, because ``Var.get`` costs 30 µs a value.

The runner creates an array for each variable that it wants to see before it starts Lava; the models
write to every array that they find. The arrays are memory-mapped files ``<prefix>.<variable>.npy``,
or plain memory if the models run in this process. Layout: (sample, step, neuron), so that a step is
one contiguous row.
"""

from __future__ import annotations

import os

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import DTypeLike

VARIABLES = ("v", "theta", "s", "sum", "time")


_in_memory: dict[str, np.ndarray] = {}
"""Traces of runs in this process, by the name that their file would have."""


def _file(prefix: str, variable: str) -> str:
    return f"{prefix}.{variable}.npy"


def create(
    prefix: str, variable: str, shape: tuple[int, ...], dtype: DTypeLike, in_memory: bool = False
) -> None:
    """Make an empty trace, in a file or for this process only."""
    path = _file(prefix, variable)
    if in_memory:
        _in_memory[path] = np.zeros(shape, dtype)
        return
    open_memmap(path, mode="w+", dtype=dtype, shape=shape)
    # The file is sparse: without its blocks reserved, a full disk would kill a model in mid-run.
    if hasattr(os, "posix_fallocate"):
        with open(path, "rb+") as f:
            os.posix_fallocate(f.fileno(), 0, os.path.getsize(path))


def load(prefix: str, variable: str) -> np.ndarray:
    """Read a trace into memory."""
    path = _file(prefix, variable)
    return _in_memory[path] if path in _in_memory else np.load(path)


def forget(prefix: str) -> None:
    """Drop the traces in memory that this prefix has."""
    for variable in VARIABLES:
        _in_memory.pop(_file(prefix, variable), None)


def store(prefix: str, variable: str, values: np.ndarray) -> None:
    """Fill an existing trace with values that no model wrote."""
    open_memmap(_file(prefix, variable), mode="r+")[:] = values


class Probe:
    """A model's end of the traces; without a prefix, or without files, it writes nothing."""

    def __init__(self, prefix: str | None):
        paths = {name: _file(prefix, name) for name in VARIABLES} if prefix else {}
        self._files = {
            name: _in_memory[path] if path in _in_memory else np.asarray(open_memmap(path, "r+"))
            for name, path in paths.items()
            if path in _in_memory or os.path.exists(path)
        }

    def write(self, index: tuple[int, ...], **values: np.ndarray) -> None:
        """Store values at (sample, ...); samples after the last one asked for are dropped."""
        for name, value in values.items():
            if name in self._files and index[0] < len(self._files[name]):
                self._files[name][index] = value

    def tick(self, time_step: int) -> None:
        """Tell the runner how far this model has come."""
        if "time" in self._files:
            self._files["time"][0] = time_step
