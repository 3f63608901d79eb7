"""A teacher for Seq-MNIST: small convolutional networks, which see an image as a whole."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

from celif.experiments.machinery.runs import train
from celif.inputs import teachers
from training.tasks import Task, distilled
from training.trainer.progress import Progress
from training.trainer.recipe import Recipe

TEACHERS = 2
"""Networks from different seeds, whose mean outputs are the teacher's."""
RECIPE = Recipe(epochs=8, batch=128, lr=4e-3)
CHANNELS = (16, 32)
"""Channels of each stage: two convolutions and a pooling that halves rows and columns."""
UNITS = 128
DESCRIPTION = (
    f"The teacher is the mean of {TEACHERS} convolutional networks with two stages of "
    f"{CHANNELS[0]} and {CHANNELS[1]} channels and {UNITS} hidden units, trained for "
    f"{RECIPE.epochs} epochs on the same 55,000 images, which were not shifted or changed. It sees "
    "an image as a whole, while the network that learns from it reads a pixel a step."
)


class Convolutional(nn.Module):
    """Two stages of convolutions and two dense layers, for images read pixel by pixel.

    Parameters
    ----------
    channels
        Inputs of a step, one for grey images.
    image
        Rows and columns.
    classes
        Number of classes.
    """

    def __init__(self, channels: int, image: tuple[int, int], classes: int) -> None:
        super().__init__()
        self.image = image
        rows, columns = image
        stages: list[nn.Module] = []
        for width in CHANNELS:
            stages += [*_convolution(channels, width), *_convolution(width, width)]
            stages += [nn.MaxPool2d(2), nn.Dropout(0.25)]
            channels, rows, columns = width, rows // 2, columns // 2
        dense = [nn.Linear(channels * rows * columns, UNITS), nn.BatchNorm1d(UNITS), nn.ReLU()]
        self.layers = nn.Sequential(
            *stages, nn.Flatten(), *dense, nn.Dropout(0.5), nn.Linear(UNITS, classes)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return logits (sample, class) of images (sample, channel, pixel)."""
        logits: torch.Tensor = self.layers(x.unflatten(2, self.image))
        return logits


def _convolution(channels: int, width: int) -> list[nn.Module]:
    return [nn.Conv2d(channels, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU()]


def taught(task: Task, out: Path, report: Callable[[Progress], None]) -> Task | None:
    """Return ``task`` distilled from the teacher, trained now or before; None if time was up."""
    if task.image is None or math.prod(task.image) != task.steps or task.permutation is not None:
        raise ValueError(f"teacher: expected a task of images in their order, got {task.name}")
    outputs = torch.zeros(len(task.train), task.classes)
    for seed in range(TEACHERS):
        recipe = Recipe(**{**vars(RECIPE), "seed": seed})
        torch.manual_seed(seed)
        net = Convolutional(task.channels, task.image, task.classes)
        name = f"{task.name}-teacher-{seed}"
        if not train(name, net, task, recipe, out, measured=False, report=report).finished:
            return None
        outputs += teachers.outputs(net, task.train.x) / TEACHERS
    return distilled(task, outputs)
