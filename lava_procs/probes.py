"""Traces through memory-mapped files, because ``Var.get`` costs 30 µs a value.

The runner creates ``<prefix>.<variable>.npy`` for what it wants to see before it starts Lava; the
models write there whatever they find a file for. Layout: (sample, step, neuron), so that a step
is one contiguous row.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import DTypeLike

VARIABLES = ("v", "theta", "s", "sum", "time")


def _file(prefix: str, variable: str) -> Path:
    return Path(f"{prefix}.{variable}.npy")


def create(prefix: str, variable: str, shape: tuple[int, ...], dtype: DTypeLike) -> None:
    """Make an empty trace."""
    path = _file(prefix, variable)
    open_memmap(path, mode="w+", dtype=dtype, shape=shape)
    # The file is sparse: without its blocks reserved, a full disk would kill a model in mid-run.
    if hasattr(os, "posix_fallocate"):
        with path.open("rb+") as f:
            os.posix_fallocate(f.fileno(), 0, path.stat().st_size)


def load(prefix: str, variable: str) -> np.ndarray:
    """Read a trace into memory."""
    return np.load(_file(prefix, variable))


def store(prefix: str, variable: str, values: np.ndarray) -> None:
    """Fill a trace that is there already with values that came by another way."""
    open_memmap(_file(prefix, variable), mode="r+")[:] = values


class Probe:
    """A model's end of the traces; without a prefix, or without files, it writes nothing."""

    def __init__(self, prefix: str | None):
        paths = {name: _file(prefix, name) for name in VARIABLES} if prefix else {}
        self._files = {
            name: np.asarray(open_memmap(path, mode="r+"))
            for name, path in paths.items()
            if path.exists()
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
