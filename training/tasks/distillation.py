"""Distillation: a network also learns the outputs of a teacher, a model trained before.

The outputs of a good model say of every sample which classes it resembles, where a label names one
class (Hinton et al., 2015). With the teacher's outputs z and a temperature K the loss is

    (1 − share)·CE(outputs, class) + share·K²·KL(softmax(z / K) ‖ softmax(outputs / K))

of which the second part is zero where both give the same probabilities.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import replace

import torch
from torch.nn import functional as F

from training.tasks.objective import CLASS, Objective, require_classes
from training.tasks.task import Split, Task, Teacher

TEMPERATURE, SHARE = 4.0, 0.9


def distilled(
    task: Task, outputs: torch.Tensor, temperature: float = TEMPERATURE, share: float = SHARE
) -> Task:
    """Return ``task`` with training targets that also hold a teacher's outputs.

    Validation and test data stay as they are.

    Parameters
    ----------
    task
        A task with a class for each sample, whose training samples are held in memory.
    outputs
        The teacher's outputs (sample, class), before a softmax, for the training samples in their
        order.
    temperature
        Divides the outputs of both; the higher it is, the more the unlikely classes count.
    share
        Part of the loss that is the teacher's, above 0 and up to 1.

    Examples
    --------
    >>> task = distilled(task, teacher_outputs)
    >>> net = Trainer(start(task, (64, 88), recipe), task, recipe, "runs/mine").run()
    """
    require_classes(task.objective, f"task {task.name}")
    if not isinstance(task.train, Split):
        raise ValueError(
            f"task {task.name}: expected training samples in memory, for which a teacher has "
            f"outputs, got a {type(task.train).__name__}"
        )
    wanted = (len(task.train), task.classes)
    if tuple(outputs.shape) != wanted:
        raise ValueError(
            f"teacher: expected outputs (sample, class) of shape {wanted} for the training samples "
            f"of {task.name}, got {tuple(outputs.shape)}"
        )
    outputs = outputs.detach().to(torch.float32)
    if not torch.isfinite(outputs).all():
        raise ValueError("teacher: expected finite outputs, got NaN or infinity")
    if not (math.isfinite(temperature) and temperature > 0):
        raise ValueError(f"teacher temperature: expected a number above 0, got {temperature:g}")
    if not 0 < share <= 1:
        raise ValueError(f"teacher share: expected a number above 0 and up to 1, got {share:g}")
    digest = hashlib.sha256(outputs.contiguous().numpy().tobytes()).hexdigest()[:16]
    targets = torch.cat([task.train.y[:, None].to(torch.float32), outputs], 1)

    def loss(found: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        if y.ndim == 1:
            return CLASS.loss(found, y)
        softened = F.log_softmax(y[:, 1:] / temperature, 1)
        kl = F.kl_div(
            F.log_softmax(found / temperature, 1), softened, reduction="batchmean", log_target=True
        )
        return (1 - share) * CLASS.loss(found, _classes(y)) + share * temperature**2 * kl

    return replace(
        task,
        train=Split(task.train.x, targets),
        objective=Objective(CLASS.name, loss, _hits, CLASS.targets),
        teacher=Teacher(digest, temperature, share),
    )


def _classes(y: torch.Tensor) -> torch.Tensor:
    """The classes of targets, with a teacher's outputs or without."""
    return y if y.ndim == 1 else y[:, 0].to(CLASS.targets)


def _hits(outputs: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return CLASS.scores(outputs, _classes(y))
