"""Sequence tasks behind one interface: samples of (channel, time), an objective, a measure."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from training.tasks.bundled_digits import digits
from training.tasks.distillation import distilled
from training.tasks.events import from_tonic, shd, ssc
from training.tasks.mnist_files import download, mnist
from training.tasks.objective import CLASS, STEPS, VALUE, Objective, require_classes
from training.tasks.own_data import from_arrays, from_dataset
from training.tasks.synthetic import adding, copy_memory
from training.tasks.task import Source, Split, Stream, Task

__all__ = [
    "CLASS",
    "NAMES",
    "STEPS",
    "VALUE",
    "Objective",
    "Source",
    "Split",
    "Stream",
    "Task",
    "adding",
    "copy_memory",
    "digits",
    "distilled",
    "download",
    "from_arrays",
    "from_dataset",
    "from_tonic",
    "is_known",
    "load",
    "mnist",
    "require_classes",
    "shd",
    "ssc",
]

NAMES = ("digits", "seq-mnist", "ps-mnist", "adding-T", "copy-T", "shd", "ssc", "tonic-NAME")
"""What :func:`load` knows; T stands for a length, NAME for a data set of tonic's."""

_OF_ANY_LENGTH: dict[str, Callable[[int], Task]] = {"adding": adding, "copy": copy_memory}
_GENERATED = re.compile(r"(adding|copy)-(\d{1,6})")


def is_known(name: str) -> bool:
    """Whether :func:`load` knows a task of this name, so that the name says which data it has."""
    listed = name in NAMES and "-T" not in name
    return listed or name.startswith("tonic-") or _GENERATED.fullmatch(name) is not None


def load(name: str, data: str | Path | None = None) -> Task:
    """Load a task by name.

    Parameters
    ----------
    name
        ``"digits"``, ``"seq-mnist"``, ``"ps-mnist"``, ``"adding-100"`` or ``"copy-100"`` with any
        length, ``"shd"``, ``"ssc"``, or ``"tonic-NMNIST"`` with any data set of tonic's.
    data
        The folder of the data: MNIST in torchvision's layout, the HDF5 files of SHD and SSC, or
        where tonic keeps its files.
    """
    if name == "digits":
        return digits()
    if name in ("seq-mnist", "ps-mnist"):
        if data is None:
            raise ValueError("task data: expected --data DIR with MNIST in torchvision's layout")
        return mnist(data, permuted=name == "ps-mnist")
    if name in ("shd", "ssc") or name.startswith("tonic-"):
        if data is None:
            raise ValueError(f"task data: expected --data DIR with the files of {name}")
        if name.startswith("tonic-"):
            return from_tonic(name.partition("-")[2], data)
        return shd(data) if name == "shd" else ssc(data)
    made = _GENERATED.fullmatch(name)
    if made is None:
        raise ValueError(f"task: expected one of {', '.join(NAMES)}, got {name!r}")
    return _OF_ANY_LENGTH[made[1]](int(made[2]))
