"""The teacher of a training run: a checkpoint, or another model's outputs in a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from celif import console
from celif import outputs as places
from celif.inputs import samples
from celif.inputs.arrays import read_outputs, write_outputs
from training.checkpoint import CheckpointError
from training.tasks import Split, distilled
from training.tasks.task import Teacher
from training.trainer import evaluation

if TYPE_CHECKING:
    from training.tasks import Task
    from training.trainer.distributed import Group

KEPT = "teacher.npy"
"""The teacher's outputs in the folder of a run, with which it is resumed."""
_FORMS = "a network's checkpoint, or outputs (sample, class) in an .npy file"


def teach(
    task: Task, path: Path | None, out: Path, known: Teacher | None, group: Group,
    device: torch.device, **options: float,
) -> Task:  # fmt: skip
    """Return ``task`` distilled from the teacher of a run.

    The first process finds the outputs and keeps them in the run's folder, where the others read
    them.

    Parameters
    ----------
    task
        What is trained on.
    path
        Checkpoint of a network for the same task, or an ``.npy`` file with the outputs (sample,
        class) of any model for the training samples in their order; None to resume with those that
        are kept.
    out, known
        The run's folder, and the teacher of the run in it, if that continues.
    group, device
        The processes that train, and where this one does.
    options
        ``temperature`` and ``share`` of :func:`training.tasks.distilled`, if they are not those of
        ``known``.
    """
    if known is not None:
        options = {"temperature": known.temperature, "share": known.share, **options}
    if group.rank == 0 and not (known is not None and (out / KEPT).is_file()):
        if path is None:
            raise ValueError(
                f"{out}: expected {KEPT}, the outputs that this run learns, found none; pass the "
                "run's --teacher"
            )
        outputs = _outputs(path, task)
        found = distilled(task, outputs, **options)  # refuses what does not fit
        if known is not None and found.teacher != known:
            raise ValueError(
                f"--teacher {path}: expected the teacher that the run in {out} began with, "
                f"{known}, found {found.teacher}; use another folder for another run"
            )
        look(found, outputs)
        out.mkdir(parents=True, exist_ok=True)
        write_outputs(out / KEPT, outputs)
    elif group.rank == 0 and path is not None:
        _require_same(read_outputs(out / KEPT, "teacher"), _outputs(path, task), path, out)
    group.totals([0.0], device)  # until the first process is done
    return distilled(task, read_outputs(out / KEPT, "teacher"), **options)


def require_place(out: Path, inputs: places.Inputs) -> None:
    """Refuse a folder for a new run in which the teacher's outputs would replace a file."""
    if (out / KEPT).exists():
        places.require_output(out / KEPT, None, inputs, "--out", "choose another folder")


def _outputs(path: Path, task: Task) -> np.ndarray:
    if path.suffix.lower() == ".npy":
        return read_outputs(path)
    if not path.is_file():
        raise ValueError(f"--teacher {path}: expected {_FORMS}, found no such file")
    try:
        model = samples.open_model(path)
    except CheckpointError as error:
        raise ValueError(
            f"--teacher {path}: expected {_FORMS}; save the outputs of other models for the "
            f"training samples with numpy.save ({error})"
        ) from None
    if model.net is None:
        raise ValueError(
            f"--teacher {path}: expected {_FORMS}, found a netx file; pass the checkpoint that it "
            "was exported from"
        )
    try:
        samples.require_same_task(model, task)
    except ValueError as error:
        raise ValueError(f"--teacher: expected a network for task {task.name}; {error}") from None
    return evaluation.outputs(model.net, task.train.x).numpy()


def look(task: Task, outputs: np.ndarray) -> None:
    """Say how good a teacher is, and warn of what cannot be right."""
    assert isinstance(task.train, Split)
    labels = task.train.y[:, 0].argmax(1)  # y holds labels and the teacher's outputs
    right = float((outputs.argmax(1) == labels.numpy()).mean())
    console.note(f"the teacher is right for {right:.2%} of the training samples")
    chance = 1 / task.classes
    if right < chance + 0.1 * (1 - chance):
        console.warn(
            "the teacher is hardly better than chance: its outputs must be those for the training "
            "samples, task.train.x, in their order"
        )
    if (outputs >= 0).all() and np.allclose(outputs.sum(1), 1, atol=1e-3):
        console.warn(
            "the teacher's outputs look like probabilities, and are expected as they are before a "
            "softmax; pass their logarithms"
        )


def _require_same(kept: np.ndarray, given: np.ndarray, path: Path, out: Path) -> None:
    """Refuse another teacher; the same one has sums in another order on another processor."""
    same = kept.shape == given.shape
    if not same or float(np.abs(kept - given).mean()) > 0.01 * float(kept.std()):
        raise ValueError(
            f"--teacher {path}: expected the teacher that the run began with, whose outputs are in "
            f"{out / KEPT}, found another; use another folder for another run"
        )


def of_run(content: dict[str, Any]) -> Teacher | None:
    """Return the teacher of a checkpoint's run, or None if it has none."""
    known = content.get("teacher")
    return None if known is None else Teacher(**known)
