"""Distillation: a network also learns the outputs of a teacher, a model trained before.

The outputs of a good model say of every sample which classes it resembles, where a label names one
class (Hinton et al., 2015). With the teacher's outputs z and a temperature K the loss is

    (1 − share)·CE(outputs, class) + share·K²·KL(softmax(z / K) ‖ softmax(outputs / K))

with means over the samples. The second part is zero where both give the same probabilities; K²
keeps its gradients of one size, whatever K is.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import torch
from torch.nn import functional as F

from training.tasks.objective import require_classes
from training.tasks.task import Split, Task, Teacher

TEMPERATURE, SHARE = 4.0, 0.9


def distilled(
    task: Task,
    outputs: torch.Tensor | np.ndarray,
    temperature: float = TEMPERATURE,
    share: float = SHARE,
) -> Task:
    """Return ``task`` with training targets that also hold a teacher's outputs.

    Validation and test data stay as they are, and so does the measure. Where a recipe moves inputs,
    by ``augment`` or ``adversarial``, the teacher's outputs remain those of the sample as it was.

    Parameters
    ----------
    task
        A task with a class for each sample, whose training samples are held in memory. Its own loss
        takes the place of the cross entropy above.
    outputs
        The teacher's outputs (sample, class), before a softmax, for the training samples
        ``task.train.x`` in their order.
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
    if task.teacher is not None:
        raise ValueError(
            f"task {task.name}: expected a task without a teacher, got one that has a teacher; "
            "distil the task that it was made of"
        )
    if not isinstance(task.train, Split):
        raise ValueError(
            f"task {task.name}: expected training samples in memory, for which a teacher has "
            f"outputs, got a {type(task.train).__name__}"
        )
    found = torch.as_tensor(outputs).detach().cpu().to(torch.float32)
    wanted = (len(task.train), task.classes)
    if tuple(found.shape) != wanted:
        raise ValueError(
            f"teacher: expected outputs (sample, class) of shape {wanted} for the training samples "
            f"of {task.name}, got {tuple(found.shape)}; compute them for task.train.x"
        )
    if not torch.isfinite(found).all():
        raise ValueError("teacher: expected outputs that are finite in float32, got others")
    teacher, plain = Teacher(_digest(found), float(temperature), float(share)), task.objective
    labels = F.one_hot(task.train.y, task.classes).to(torch.float32)

    def loss(ours: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        if y.ndim == 1:
            return plain.loss(ours, y)
        theirs = F.log_softmax(y[:, 1] / temperature, 1)
        ours_softened = F.log_softmax(ours / temperature, 1)
        kl = F.kl_div(ours_softened, theirs, reduction="batchmean", log_target=True)
        return (1 - share) * plain.loss(ours, classes_of(y)) + share * temperature**2 * kl

    def scores(ours: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return plain.scores(ours, classes_of(y))

    return replace(
        task,
        train=Split(task.train.x, torch.stack([labels, found], 1)),
        objective=replace(plain, loss=loss, scores=scores),
        teacher=teacher,
    )


def _digest(outputs: torch.Tensor) -> str:
    return hashlib.sha256(outputs.contiguous().numpy().tobytes()).hexdigest()[:16]


def classes_of(y: torch.Tensor) -> torch.Tensor:
    """The classes of targets, with a teacher's outputs (sample, 2, class) or without."""
    return y if y.ndim == 1 else y[:, 0].argmax(1)
