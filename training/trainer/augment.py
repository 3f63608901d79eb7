"""Augmentation: a source that moves the images of another source a little.

How a sample is moved is a function of seed, epoch, step and its place in the batch, so that a
resumed run, or one of several processes, sees the same images.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch.nn import functional as F

from training.tasks.task import WHOLE, Batch, Source

NAMES = ("none", "nudge", "shift", "affine")
SHIFTS = {"nudge": 1, "shift": 2}
"""Largest shift of an image in pixels, in each direction."""
SHIFT = max(SHIFTS.values())
ANGLE, SCALE = math.radians(10), 0.1
"""Largest turn and largest change of size of ``"affine"``."""


class Augmented:
    """Moves every image of ``source`` by ``kind``; ``image`` is its number of rows and columns.

    After ``epochs``, if given, images stay as they are.
    """

    def __init__(
        self,
        source: Source,
        kind: str,
        image: tuple[int, int] | None,
        epochs: int | None = None,
    ) -> None:
        if image is None:
            raise ValueError(
                f"recipe augment: expected a task of images for {kind!r}, got one without rows and "
                "columns; use augment='none'"
            )
        self._source, self._kind, self._image, self._epochs = source, kind, image, epochs

    @property
    def x(self) -> torch.Tensor:
        """Inputs before they are moved."""
        return self._source.x

    @property
    def y(self) -> torch.Tensor:
        """Targets of :attr:`x`."""
        return self._source.y

    def __len__(self) -> int:
        return len(self._source)

    def draw(self, seed: int, epoch: int, step: int, size: int, part: slice = WHOLE) -> Batch:
        """Draw as :class:`training.tasks.Source` says."""
        x, y = self._source.draw(seed, epoch, step, size, part)
        over = self._epochs is not None and epoch >= self._epochs
        if over or len(x) == 0:  # with more processes than samples, some have none
            return x, y
        rng = np.random.default_rng([3, seed, epoch, step])
        count = min(size, len(self) - step * size)
        images = x.reshape(len(x), -1, *self._image)
        if most := SHIFTS.get(self._kind):
            moved = shifted(images, rng.integers(-most, most + 1, (count, 2))[part])
        else:
            moved = turned(images, rng.uniform(-1, 1, (count, 4))[part])
        return moved.reshape(x.shape), y


def shifted(images: torch.Tensor, by: np.ndarray) -> torch.Tensor:
    """Move images (sample, channel, row, column) down and right by whole pixels, with zeros in."""
    rows, columns = images.shape[2:]
    padded = F.pad(images, (SHIFT,) * 4)
    down, right = (torch.from_numpy(by[:, i : i + 1]) for i in (0, 1))
    sample = torch.arange(len(images))[:, None, None]
    row = (torch.arange(rows) + SHIFT - down)[:, :, None]
    column = (torch.arange(columns) + SHIFT - right)[:, None, :]
    return padded.movedim(1, -1)[sample, row, column].movedim(-1, 1)


def turned(images: torch.Tensor, by: np.ndarray) -> torch.Tensor:
    """Turn, scale and move images; ``by`` has four numbers in −1..1 for each of them."""
    angle, size = by[:, 0] * ANGLE, 1 + by[:, 1] * SCALE
    sides = np.array(images.shape[2:])
    # An affine grid counts from −1 to 1 across an image, so two pixels are 4 / side.
    move = by[:, 2:] * (2 * SHIFT / sides)
    cosine, sine = np.cos(angle) / size, np.sin(angle) / size
    matrix = np.stack([cosine, -sine, move[:, 1], sine, cosine, move[:, 0]], 1).reshape(-1, 2, 3)
    theta = torch.from_numpy(matrix).to(images.dtype)
    grid = F.affine_grid(theta, list(images.shape), align_corners=False)
    return F.grid_sample(images, grid, align_corners=False)
