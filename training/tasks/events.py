"""Event data as tasks: spikes of many channels, binned in time.

A sample is a list of events, each with a time and a channel. It becomes (channel, step), the
number of events in each bin: neighbouring channels are pooled, and a step lasts
``seconds / steps``. Events after ``seconds`` are left out and counted.

The Spiking Heidelberg Digits (SHD) and Spiking Speech Commands (SSC) are read from the HDF5 files
of their authors, ``shd_train.h5`` and so on; other data sets through tonic, if it is installed.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from training.tasks.own_data import from_arrays, split
from training.tasks.task import Task

CHANNELS = 700
"""Channels of SHD and SSC, the hair cells of a model of the inner ear."""

_LATE = 0.01
"""Share of events after the last step from which a warning is given."""

Event = tuple[np.ndarray, np.ndarray]
"""Times in seconds, and channels."""


def binned(
    samples: Iterable[Event], channels: int, *, steps: int, seconds: float, pool: int, name: str
) -> np.ndarray:
    """Count the events of each sample: (sample, channel, step), float32.

    Parameters
    ----------
    samples
        Times in seconds and channels of each sample's events.
    channels
        Number of channels before pooling.
    steps, seconds
        Number of steps, and the time that they cover together.
    pool
        Neighbouring channels that become one; it must divide ``channels``.
    name
        The data set, for messages.
    """
    if pool < 1 or channels % pool:
        raise ValueError(f"{name} pool: expected a divisor of {channels}, got {pool}")
    if steps < 1 or seconds <= 0:
        raise ValueError(f"{name}: expected steps and seconds above 0, got {steps} and {seconds}")
    counted, late, total = [], 0, 0
    for i, (times, units) in enumerate(samples):
        if len(times) != len(units):
            raise ValueError(
                f"{name} sample {i}: expected a channel for each time, got {len(times)} times and "
                f"{len(units)} channels"
            )
        units = np.asarray(units, np.int64)
        if len(units) and not 0 <= units.min() <= units.max() < channels:
            raise ValueError(
                f"{name} sample {i}: expected channels 0..{channels - 1}, got "
                f"{units.min()}..{units.max()}"
            )
        step = np.floor(np.asarray(times, np.float64) * (steps / seconds)).astype(np.int64)
        if len(step) and step.min() < 0:
            raise ValueError(f"{name} sample {i}: expected times from 0 up, got {min(times):g} s")
        kept = step < steps
        late, total = late + int((~kept).sum()), total + len(step)
        image = np.zeros((channels // pool, steps), np.float32)
        np.add.at(image, (units[kept] // pool, step[kept]), 1)
        counted.append(image)
    if late > _LATE * total:
        warnings.warn(
            f"{name}: {late / total:.1%} of the events come after {seconds:g} s and are left out; "
            "pass more seconds",
            stacklevel=3,
        )
    return np.stack(counted) if counted else np.zeros((0, channels // pool, steps), np.float32)


def _hdf5(file: Path) -> tuple[Iterator[Event], np.ndarray]:
    """Read the events and the labels of a file of SHD or SSC."""
    import h5py

    if not file.is_file():
        raise ValueError(
            f"{file}: expected the file of the data set, found none; download it from "
            "zenkelab.org/datasets and pass its folder with --data DIR"
        )
    with h5py.File(file, "r") as content:
        missing = [
            name for name in ("spikes/times", "spikes/units", "labels") if name not in content
        ]
        if missing:
            raise ValueError(f"{file}: expected {missing[0]}, found none; is it SHD or SSC?")
        times, units = content["spikes/times"][:], content["spikes/units"][:]
        labels = np.asarray(content["labels"][:], np.int64)
    if not len(times) == len(units) == len(labels):
        raise ValueError(
            f"{file}: expected as many times and channels as labels, found {len(times)}, "
            f"{len(units)} and {len(labels)}"
        )
    return zip(times, units, strict=True), labels


def shd(
    data: str | Path, *, steps: int = 100, seconds: float = 1.4, pool: int = 5, seed: int = 0
) -> Task:
    """The Spiking Heidelberg Digits: spoken digits, 20 classes.

    By default 140 channels and 100 steps of 14 ms. A tenth of the training samples, by ``seed``, is
    for validation.
    """
    return _task("shd", Path(data), 20, ("train", "test"), steps, seconds, pool, seed)


def ssc(
    data: str | Path, *, steps: int = 100, seconds: float = 1.0, pool: int = 5, seed: int = 0
) -> Task:
    """The Spiking Speech Commands: spoken words, 35 classes.

    By default 140 channels and 100 steps of 10 ms; the authors' own validation samples.
    """
    return _task("ssc", Path(data), 35, ("train", "test", "valid"), steps, seconds, pool, seed)


def _task(
    name: str,
    data: Path,
    classes: int,
    parts: tuple[str, ...],
    steps: int,
    seconds: float,
    pool: int,
    seed: int,
) -> Task:
    arrays = []
    for part in parts:
        samples, labels = _hdf5(data / f"{name}_{part}.h5")
        x = binned(
            samples,
            CHANNELS,
            steps=steps,
            seconds=seconds,
            pool=pool,
            name=f"{name} {part}",
        )
        arrays.append((x, labels))
    train, test, *validation = arrays
    task = from_arrays(name, *train, test=test, classes=classes, seed=seed)
    task = replace(task, encoding=_in_words(steps, seconds, pool))
    if not validation:
        return task
    whole = split(*train, name=name)
    return replace(task, train=whole, validation=split(*validation[0], name=name))


def _in_words(steps: int, seconds: float, pool: int) -> str:
    return f"{steps} bins of {1000 * seconds / steps:g} ms, {pool} neighbouring channels in one"


def from_tonic(
    name: str, data: str | Path, *, steps: int = 100, seconds: float = 1.0, pool: int = 1
) -> Task:
    """A data set of tonic's, such as ``"NMNIST"``; it is downloaded to ``data`` if need be.

    Pixels and polarities are channels; ``pool`` joins that many neighbours in a row of pixels.
    """
    try:
        datasets = importlib.import_module("tonic").datasets
    except ImportError:
        raise ValueError(f"tonic-{name}: expected tonic, found none; pip install tonic") from None
    kind = getattr(datasets, name, None)
    if kind is None:
        raise ValueError(f"tonic-{name}: expected a data set of tonic's, got {name!r}")
    arrays = []
    for train in (True, False):
        items = kind(save_to=str(data), train=train)
        width, height, polarities = kind.sensor_size
        labels = np.array([int(items[i][1]) for i in range(len(items))])
        x = binned(
            _addressed(items, width, height),
            width * height * polarities,
            steps=steps,
            seconds=seconds,
            pool=pool,
            name=f"tonic-{name}",
        )
        arrays.append((x, labels))
    (x, y), test = arrays
    task = from_arrays(f"tonic-{name}", x, y, test=test)
    return replace(task, encoding=_in_words(steps, seconds, pool))


def _addressed(items: Any, width: int, height: int) -> Iterator[Event]:
    """Yield the times in seconds and the channels of tonic's structured events."""
    for i in range(len(items)):
        events = items[i][0]
        names = events.dtype.names
        row = events["y"].astype(np.int64) if "y" in names else 0
        polarity = events["p"].astype(np.int64) if "p" in names else 0
        channel = (polarity * height + row) * width + events["x"].astype(np.int64)
        yield events["t"] * 1e-6, channel
