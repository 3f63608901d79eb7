"""A teacher for Seq-MNIST: small convolutional networks, which see an image as a whole."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import torch
from torch import nn

from celif.experiments.machinery.runs import train
from celif.inputs.arrays import read_outputs, write_outputs
from training.tasks import Task, distilled
from training.tasks.distillation import SHARE, TEMPERATURE
from training.trainer import evaluation
from training.trainer.progress import Progress
from training.trainer.recipe import Recipe

TEACHERS = 2
"""Networks from different seeds, whose mean outputs are the teacher's."""
RECIPE = Recipe(epochs=8, batch=128, lr=4e-3)
CHANNELS = (16, 32)
"""Channels of each stage: two convolutions and a pooling that halves rows and columns."""
UNITS = 128
DROPOUTS = 0.25, 0.5
"""After each stage, and before the classifier."""
DESCRIPTION = (
    f"The teacher is the mean of {TEACHERS} convolutional networks with two stages of "
    f"{CHANNELS[0]} and {CHANNELS[1]} channels and {UNITS} hidden units, trained for "
    f"{RECIPE.epochs} epochs on the same 55,000 images, which were not shifted or changed. It sees "
    "an image as a whole, while the network that learns from it reads a pixel a step. Outputs are "
    f"softened by a temperature of {TEMPERATURE:g}, and {SHARE:.0%} of the loss is the teacher's."
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
            stages += [nn.MaxPool2d(2), nn.Dropout(DROPOUTS[0])]
            channels, rows, columns = width, rows // 2, columns // 2
        dense = [nn.Linear(channels * rows * columns, UNITS), nn.BatchNorm1d(UNITS), nn.ReLU()]
        self.layers = nn.Sequential(
            *stages, nn.Flatten(), *dense, nn.Dropout(DROPOUTS[1]), nn.Linear(UNITS, classes)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return logits (sample, class) of images (sample, channel, pixel)."""
        logits: torch.Tensor = self.layers(x.unflatten(2, self.image))
        return logits


def _convolution(channels: int, width: int) -> list[nn.Module]:
    return [nn.Conv2d(channels, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU()]


def fingerprint(*teaching: float) -> str:
    """A digest of what decides the teacher and, with ``teaching``, a run, for names of folders."""
    made = (TEACHERS, asdict(RECIPE), CHANNELS, UNITS, DROPOUTS, *teaching)
    return hashlib.sha256(repr(made).encode()).hexdigest()[:8]


def run_fingerprint() -> str:
    """A digest of the teacher and of how it teaches: by another one it is another run."""
    return fingerprint(TEMPERATURE, SHARE)


def teach(task: Task, out: Path, report: Callable[[Progress], None]) -> Task | None:
    """Return ``task`` distilled from the teacher, trained now or before; None if time was up."""
    if task.image is None or math.prod(task.image) != task.steps or task.permutation is not None:
        raise ValueError(f"teacher: expected a task of images in their order, got {task.name}")
    network = f"{task.name}-teacher-{fingerprint()}"
    kept = out / f"{network}.npy"
    if not kept.is_file():
        outputs = torch.zeros(len(task.train), task.classes)
        for seed in range(TEACHERS):
            recipe = replace(RECIPE, seed=seed)
            torch.manual_seed(seed)
            net = Convolutional(task.channels, task.image, task.classes)
            name = f"{network}-{seed}"
            run = train(name, net, task, recipe, out, measured=False, report=report)
            if not run.finished:
                return None
            if len(run.history) < recipe.epochs:
                raise FloatingPointError(f"{name}: expected to be trained, but it diverged")
            outputs += evaluation.outputs(net, task.train.x) / TEACHERS
        # Kept, because another processor would add up in another order.
        write_outputs(kept, outputs.numpy())
    return distilled(task, read_outputs(kept), TEMPERATURE, SHARE)
