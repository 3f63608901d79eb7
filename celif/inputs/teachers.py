"""Teachers of a training run: checkpoints, or another model's outputs in a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from celif.inputs import samples
from celif.inputs.arrays import read_outputs
from training.tasks import distilled
from training.trainer.evaluation import placed

if TYPE_CHECKING:
    from torch import nn

    from training.tasks import Task

_BATCH = 256


def taught(task: Task, path: Path, **options: Any) -> Task:
    """Return ``task`` distilled from a teacher.

    Parameters
    ----------
    task
        What is trained on.
    path
        Checkpoint of a network for the same task, or an ``.npy`` file with the outputs (sample,
        class) of any model for the training samples in their order.
    options
        ``temperature`` and ``share`` of :func:`training.tasks.distilled`.
    """
    if path.suffix == ".npy":
        return distilled(task, torch.from_numpy(read_outputs(path)), **options)
    model = samples.open_model(path)
    if model.net is None:
        raise ValueError(
            f"--teacher {path}: expected a checkpoint, or outputs (sample, class) in an .npy file, "
            "found a netx file; pass the checkpoint that it was exported from"
        )
    samples.require_same_task(model, task)
    return distilled(task, outputs(model.net, task.train.x), **options)


@torch.no_grad()
def outputs(net: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """Return the outputs of a network in evaluation mode for samples, in their order."""
    net.eval()
    return torch.cat([net(placed(part, part, net)[0]).cpu() for part in x.split(_BATCH)])
