"""Tasks by name, by a user's function, or from a user's file, as the command line gives them."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from celif import console
from celif.inputs.arrays import read_archive, read_labels, read_samples
from celif.inputs.likeness import unlike
from export.model.network import Encoding
from export.model.task_label import TaskLabel
from training import tasks
from training.tasks import Task
from training.tasks.labels import conversion

SUFFIXES = (".npz", ".npy")
"""Files of a user's own samples."""


def is_file_of_samples(data: Path | None) -> bool:
    """Whether ``--data`` names a file of samples, not the folder of a known data set."""
    return data is not None and data.suffix in SUFFIXES


def load_task(name: str | None, data: Path | None = None, labels: Path | None = None) -> Task:
    """Find a task as the command line describes it.

    Parameters
    ----------
    name
        A known task, ``module:function`` of a user's own, or the name under which a run in Python
        was made; None if the data say it all.
    data
        An ``.npz`` or ``.npy`` file of the user's own samples, or the folder of a known data set.
    labels
        Classes of the samples, where ``data`` does not hold them.
    """
    if labels is not None and not is_file_of_samples(data):
        raise ValueError("--labels: expected together with --data FILE.npz or FILE.npy")
    if is_file_of_samples(data):
        assert data is not None
        return from_file(data, labels, name)
    if name is None:
        raise ValueError(
            "task: expected --task NAME, --task module:function or --data FILE.npz, got none"
        )
    if ":" in name:
        return _from_function(name, data)
    if Path(name).suffix in SUFFIXES:  # the name of a run that was trained on a file
        if Path(name).is_file():
            return from_file(Path(name), labels, name)
        raise ValueError(f"{name}: expected the samples of this run, found no file; pass --data")
    try:
        return tasks.load(name, data)
    except ValueError as error:
        if "expected one of" not in str(error):
            raise
        raise ValueError(
            f"{error}; for a task made in Python, pass --task module:function or --data FILE.npz"
        ) from None


def from_file(file: Path, labels: Path | None = None, name: str | None = None) -> Task:
    """Make a task of a user's file.

    An ``.npz`` archive holds ``x`` (sample, channel, time) and classes ``y``, optionally with
    ``x_test`` and ``y_test``; without these, a tenth of the samples is set aside for testing, and a
    tenth for validation in any case. An ``.npy`` file holds ``x`` alone and needs ``labels``.
    """
    if file.suffix == ".npy":
        arrays = {"x": read_samples(file, "--data")}
    else:
        arrays = read_archive(file, "--data")
    if labels is not None:
        arrays["y"] = read_labels(labels, len(arrays["x"]))
    if "y" not in arrays:
        raise ValueError(
            f"--data {file}: expected classes y for the samples x, found "
            f"{', '.join(sorted(arrays))}; add y to the archive, or pass --labels FILE.npy"
        )
    test = None
    if "x_test" in arrays or "y_test" in arrays:
        if not {"x_test", "y_test"} <= set(arrays):
            raise ValueError(
                f"--data {file}: expected both x_test and y_test, found "
                f"{', '.join(sorted(arrays))}; add the other one, or leave both out"
            )
        test = arrays["x_test"], arrays["y_test"]
    return tasks.from_arrays(
        name or str(file), arrays["x"], arrays["y"], test=test, objective=_objective(file, arrays)
    )


def _objective(file: Path, arrays: dict[str, np.ndarray]) -> tasks.Objective:
    """Tell classes from values to be predicted; refuse what could be either."""
    y = arrays["y"]
    if y.dtype.kind != "f":
        return tasks.CLASS
    if np.array_equal(y, np.round(y)):
        raise ValueError(
            f"--data {file} y: expected whole numbers for classes, or real values to be predicted, "
            f"found {y.dtype} numbers that are all whole; for classes write {conversion(y)}, for "
            "values make a task in Python and pass --task module:function"
        )
    return tasks.VALUE


def _from_function(name: str, data: Path | None) -> Task:
    """Call a user's function, which returns a task; with ``data`` if it takes it."""
    function = user_object(name, "--task")
    arguments: dict[str, Any] = {}
    if "data" in inspect.signature(function).parameters:
        arguments["data"] = data
    elif data is not None:
        raise ValueError(f"--task {name}: expected a parameter data, to pass --data to; add one")
    found = function(**arguments)
    if not isinstance(found, Task):
        raise ValueError(
            f"--task {name}: expected a training.tasks.Task, got {type(found).__name__}; make one "
            "with training.tasks.from_arrays"
        )
    return replace(found, name=name)


def user_object(name: str, option: str) -> Callable[..., Any]:
    """Import ``module:function``; modules in the current folder are found, too."""
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise ValueError(f"{option}: expected MODULE:FUNCTION, got {name!r}")
    sys.path.insert(0, os.getcwd())
    try:
        found = getattr(importlib.import_module(module), attribute, None)
    except ModuleNotFoundError as error:
        raise ValueError(
            f"{option} {name}: expected a module {module}, found none ({error}); run celif in the "
            "folder of the module, or install it"
        ) from None
    finally:
        sys.path.remove(os.getcwd())
    if not callable(found):
        raise ValueError(f"{option} {name}: expected a function {attribute} in {module}, got none")
    return found


def require_name(model: str, known: TaskLabel | None, name: str) -> None:
    """Refuse the name of another task than a model's, where either is one that celif knows.

    The name of a file does not decide: what it holds may be samples of any task.
    """
    if known is None or known.name == name or Path(name).suffix in SUFFIXES:
        return
    if tasks.is_known(name) or tasks.is_known(known.name):
        raise ValueError(
            f"{model}: expected task {known.name}, got task {name}; pass the task that the network "
            "was trained on"
        )


def require_task(
    model: str, shape: tuple[int, int], outputs: int, known: TaskLabel | None, task: Task
) -> None:
    """Refuse a task that a model was not made for.

    That is one of another name, where either is a task that celif knows; one whose samples were
    made otherwise; or one with other channels, steps or classes. Of a user's own data a part may
    lack the last classes.
    """
    ours = tasks.is_known(task.name)
    remedy = "pass the task that the network was trained on"
    require_name(model, known, task.name)
    if known is not None and known.encoding and task.encoding not in ("", known.encoding):
        raise ValueError(
            f"{model}: expected samples of task {known}, got {task.name} ({task.encoding}); "
            f"{remedy}"
        )
    found = task.channels, task.steps
    wrong = task.classes != outputs if ours else task.classes > outputs
    if found == shape and not (task.objective.of_classes and wrong):
        return
    if found == shape[::-1]:
        remedy = "channels and time are exchanged: transpose the samples"
    elif found == shape and not ours:
        remedy = "classes are numbered from 0"
    made_for = f"task {known.name}, " if known else ""
    most = "" if ours else "at most "
    raise ValueError(
        f"{model}: expected {made_for}samples of {shape[0]} channel(s) × {shape[1]} steps and "
        f"{most}{outputs} classes, got task {task.name} with {found[0]} × {found[1]} and "
        f"{task.classes}; {remedy}"
    )


def read_calibration(file: Path) -> np.ndarray:
    """Return the samples of a user's file that calibrate an export."""
    if file.suffix == ".npy":
        return read_samples(file, "--calibration").astype(np.float32)
    return read_archive(file, "--calibration")["x"].astype(np.float32)


def compare_calibration(
    encoding: Encoding, task: TaskLabel | None, data: Path | None, labels: Path | None
) -> None:
    """Warn if an export's calibration is not like the samples of its task, if these are at hand."""
    name = None if task is None else task.name
    if data is None and not (name == "digits" or (name is not None and Path(name).is_file())):
        return
    found = unlike(encoding, load_task(name, data, labels).train.x.numpy())
    if found is not None:
        console.warn(f"--calibration is not like the training samples of {name or data}: {found}")
