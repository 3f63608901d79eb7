"""The samples and checkpoints that the commands read, and the traces that they write."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from celif import console
from celif.inputs.arrays import read_archive, read_labels, read_samples
from celif.inputs.likeness import clipped, unlike
from celif.inputs.user_tasks import is_file_of_samples, load_task, require_task, user_object
from export import FixedNetwork, QuantizedNetwork, Trace, read_netx, simulate
from export.model.task_label import TaskLabel
from export.model.trace import joined
from training import Network, checkpoint
from training.support.atomic import atomic_file
from training.tasks.labels import class_labels

if TYPE_CHECKING:
    from torch import nn

    from training.tasks import Task

_HDF5 = b"\x89HDF\r\n\x1a\n"
_CHUNK = 256
"""Samples that the twin runs between two reports of its progress."""


def read_checkpoint(path: Path, network: str | None = None) -> tuple[nn.Module, dict[str, Any]]:
    """Read a checkpoint once: its module in evaluation mode, and the record that lies beside it.

    ``network`` names a user's function that builds the module of a checkpoint of another kind.
    """
    content = checkpoint.read(path)
    try:
        if network is None:
            return checkpoint.build(content).eval(), content
    except checkpoint.CheckpointError as error:
        raise checkpoint.CheckpointError(
            f"{path}: {error}; on the command line, pass --network MODULE:FUNCTION"
        ) from None
    net = user_object(network, "--network")()
    try:
        net.load_state_dict(content["weights"])
    except (AttributeError, RuntimeError, TypeError) as error:
        reason = " ".join(str(error).split())
        if len(reason) > 300:  # one clause for each tensor
            reason = f"{reason[:300]} …"
        raise ValueError(
            f"--network {network}: expected the module of {path}, found {reason}"
        ) from None
    return net.eval(), content


class Model(NamedTuple):
    """A checkpoint or a netx file, opened: one of ``net`` and ``fixed`` is not None."""

    path: str
    task: TaskLabel | None
    """The task that it was made for, if it says so."""
    net: nn.Module | None = None
    fixed: FixedNetwork | None = None

    @property
    def sizes(self) -> tuple[int, int, int] | None:
        """Channels, steps and classes; None of a module that does not say what it takes."""
        if self.fixed is not None:
            last = self.fixed.all_layers[-1]
            return self.fixed.encoding.channels, self.fixed.steps, last.neurons
        net = self.net.net if isinstance(self.net, QuantizedNetwork) else self.net
        if isinstance(net, Network):
            return net.in_features, net.steps, net.config.classes
        return None


def open_model(path: Path, network: str | None = None) -> Model:
    """Read a checkpoint or a netx file, told apart by how the file begins."""
    start = b""
    if path.is_file():
        with path.open("rb") as file:
            start = file.read(len(_HDF5))
    if start == _HDF5 or path.suffix == ".net":
        return _opened(read_netx(path))
    net, about = read_checkpoint(path, network)
    return Model(str(path), task_of(about), net=net)


def task_of(about: dict[str, Any]) -> TaskLabel | None:
    """Return the task that the record of a checkpoint names."""
    return TaskLabel(about["task"], about.get("encoding") or "") if about.get("task") else None


def _opened(fixed: FixedNetwork) -> Model:
    return Model(fixed.path or "network", fixed.task, fixed=fixed)


def require_same_task(model: Model, task: Task) -> None:
    """Refuse a task that is not the one that a model was made for.

    Names of a user's own do not decide: a file may be moved, and a function renamed.
    """
    if (sizes := model.sizes) is not None:
        channels, steps, classes = sizes
        require_task(model.path, (channels, steps), classes, model.task, task)
    if model.task is not None and model.task.name != task.name:
        console.note(f"{model.path} was made for task {model.task.name}, this is {task.name}")


def load(
    task: str | None,
    data: Path | None,
    file: Path | None,
    count: int | None,
    labels: Path | None = None,
    fixed: FixedNetwork | None = None,
    judged: bool = True,
    classes: int | None = None,
) -> tuple[np.ndarray, np.ndarray | None]:
    """Read samples (batch, channel, time), and labels where they are known and are classes.

    Parameters
    ----------
    task, data
        Task whose test samples are taken, as :func:`celif.inputs.user_tasks.load_task` finds it;
        by default the one that the file of ``fixed`` names.
    file
        In place of a task, a file of samples to be used as they are.
    count
        Take only the first ones; None takes all.
    labels
        File of classes, where the samples' file holds none.
    fixed
        The network that will see the samples; one made for another task is refused.
    judged
        Whether the labels are wanted; without, those in ``file`` may be anything.
    classes
        Number of classes that the labels in ``file`` may name, if not that of ``fixed``.
    """
    if file is not None and (task is not None or data is not None):
        raise ValueError("samples: expected either --task or --data, or --input, got both")
    if file is not None:
        if fixed is not None:
            classes = fixed.all_layers[-1].neurons
        x, y = _as_they_are(file, labels, classes, judged)
        if fixed is not None:
            note_of_integers(fixed, x)
        return x[:count], None if y is None else y[:count]
    task = name_of_task(task, data, None if fixed is None else fixed.task)
    if task is None and data is None:
        raise ValueError("samples: expected --task, --data or --input, got none of them")
    found = load_task(task, data, labels)
    if fixed is not None:
        require_same_task(_opened(fixed), found)
    x, y = found.test.x.numpy()[:count], None
    if found.objective.of_classes:
        y = found.test.y.numpy()[:count]
    elif judged:
        console.note(f"{found.name} has no class for each sample, so that there is no accuracy")
    return x, y


def name_of_task(task: str | None, data: Path | None, known: TaskLabel | None) -> str | None:
    """Return the task that is asked for, or else the one that a model knows to be its own.

    A file of samples has a name of its own.
    """
    if task is not None or known is None or is_file_of_samples(data):
        return task
    return known.name


def _as_they_are(
    file: Path, labels: Path | None, classes: int | None, judged: bool
) -> tuple[np.ndarray, np.ndarray | None]:
    if file.suffix == ".npz":
        arrays = read_archive(file, "--input")
        x, y = arrays["x"], arrays.get("y")
    else:
        x, y = read_samples(file), None
    if labels is not None:
        return x, read_labels(labels, len(x), classes)
    if y is None or not judged:
        return x, None
    return x, class_labels(f"--input {file} y", y, len(x), classes)


def note_of_integers(fixed: FixedNetwork, x: np.ndarray) -> None:
    """Say that integers are taken as graded spikes, where a network scales other numbers."""
    unit = fixed.encoding.scale
    if x.dtype.kind != "f" and unit != 1:
        console.note(
            f"{fixed.path or 'network'} takes {x.dtype} samples as graded spikes, as they are; to "
            f"have them divided by its input unit, {unit:.4g}, convert them to floats: "
            "x.astype(numpy.float32)"
        )


def warn_of_inputs(fixed: FixedNetwork, x: np.ndarray) -> None:
    """Warn of samples that do not look like those that a file was calibrated with.

    Those that are clipped are the encoding's own to warn of.
    """
    code = fixed.encoding
    if x.dtype.kind != "f" or clipped(code, x):
        return
    if (found := unlike(code, x)) is not None:
        console.warn(f"inputs: {found}")


def run_twin(fixed: FixedNetwork, x: np.ndarray, trace: bool = False) -> Trace:
    """:func:`export.simulate`, with a progress bar and a warning of saturations."""
    warn_of_inputs(fixed, x)
    graded = fixed.encode(x)
    parts = []
    with console.progress_bar("samples") as report:
        for start in range(0, len(graded), _CHUNK):
            parts.append(simulate(fixed, graded[start : start + _CHUNK], trace=trace))
            report(min(start + _CHUNK, len(graded)), len(graded))
    whole = joined(parts)
    counts = zip(fixed.layers, whole.saturations or (), strict=True)
    if full := [f"{layer.name} ({n:,})" for layer, n in counts if n]:
        console.warn(
            f"V or Θ stood at the end of its register in {', '.join(full)}, and was cut off "
            "there; export with calibration samples that are like these"
        )
    return whole


def save_trace(trace: Trace, path: Path | None) -> None:
    """Write logits, and spikes, V and Θ of each layer, as ``.npz``."""
    if path is None:
        return
    arrays: dict[str, Any] = {"logits": trace.logits}
    for name in ("spikes", "v", "theta"):
        for i, values in enumerate(getattr(trace, name) or ()):
            if values is not None:
                arrays[f"{name}/{i}"] = values
    with atomic_file(path) as draft, draft.open("wb") as f:
        np.savez_compressed(f, **arrays)


def summary(trace: Trace, labels: np.ndarray | None) -> dict[str, Any]:
    """Print what a run found; return it as plain values, for JSON."""
    result: dict[str, Any] = {
        "samples": len(trace.logits),
        "predictions": trace.predictions.tolist(),
    }
    line = f"{result['samples']} samples"
    if labels is not None:
        result["accuracy"] = float((trace.predictions == labels).mean())
        line += f", accuracy {result['accuracy']:.2%}"
    if trace.saturations is not None:
        result["saturations"] = trace.saturations
        line += f", {sum(trace.saturations):,} saturations"
    console.say(line)
    return result
