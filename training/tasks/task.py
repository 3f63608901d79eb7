"""Tasks: samples (sample, channel, time), their targets, and the sources of batches."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
import torch

from training.tasks.labels import class_labels
from training.tasks.objective import CLASS, Objective

Batch = tuple[torch.Tensor, torch.Tensor]
WHOLE = slice(None)
DIGEST_BYTES = 1 << 30
"""Bytes of samples, and of targets, that are read to tell data from others."""
_DIGEST_ROWS = 1024
"""Samples that are read at once for it, so that a memory-mapped array is never copied whole."""


@runtime_checkable
class Source(Protocol):
    """A source of training batches: a :class:`Split`, a :class:`Stream`, or a user's own class.

    ``x`` and ``y`` are samples from it, for example to calibrate an export.
    """

    @property
    def x(self) -> torch.Tensor: ...

    @property
    def y(self) -> torch.Tensor: ...

    def __len__(self) -> int:
        """Return the number of samples in an epoch."""
        ...

    def draw(self, seed: int, epoch: int, step: int, size: int, part: slice = WHOLE) -> Batch:
        """Return rows ``part`` of batch ``step`` of an epoch; a function of its arguments alone.

        An interrupted run therefore continues with the batch that it would have seen, and several
        processes can share a batch.
        """
        ...


@dataclass(frozen=True)
class Split:
    """Inputs (sample, channel, time) in float32 and targets, the sample first.

    Tensors over a memory-mapped array work as well: only the rows of a batch are read.
    """

    x: torch.Tensor
    y: torch.Tensor
    _order: dict[tuple[int, int], torch.Tensor] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __len__(self) -> int:
        return len(self.y)

    def draw(self, seed: int, epoch: int, step: int, size: int, part: slice = WHOLE) -> Batch:
        """Draw as :class:`Source` says: every sample once per epoch, in a new order."""
        if (seed, epoch) not in self._order:
            generator = torch.Generator().manual_seed(seed * 100_003 + epoch)
            self._order.clear()
            self._order[seed, epoch] = torch.randperm(len(self), generator=generator)
        rows = self._order[seed, epoch][step * size : (step + 1) * size][part]
        return self.x[rows], self.y[rows]

    def chunks(self, size: int) -> Iterator[Batch]:
        """Return all samples in their order, ``size`` at a time."""
        return zip(self.x.split(size), self.y.split(size), strict=True)

    def digest(self) -> str:
        """Return 16 hexadecimal digits that tell these samples and targets from others.

        Of more than :data:`DIGEST_BYTES`, evenly spaced samples are read: data that are larger than
        memory would take minutes.
        """
        found = hashlib.blake2b(digest_size=8)
        for tensor in (self.x, self.y):
            found.update(f"{tuple(tensor.shape)} {tensor.dtype};".encode())
            every = max(1, math.ceil(tensor.numel() * tensor.element_size() / DIGEST_BYTES))
            for rows in tensor[::every].split(_DIGEST_ROWS):
                found.update(rows.detach().cpu().contiguous().flatten().view(torch.uint8).numpy())
        return found.hexdigest()


class Stream:
    """A source that generates new samples for every batch.

    Parameters
    ----------
    make
        Called with a generator and a number of samples; returns inputs and targets.
    samples
        Number of samples that count as an epoch.
    """

    _CALIBRATION = 256

    def __init__(self, make: Callable[[np.random.Generator, int], Batch], samples: int) -> None:
        self._make, self._samples = make, samples
        self._shown = make(np.random.default_rng(0), min(samples, self._CALIBRATION))

    @property
    def x(self) -> torch.Tensor:
        """Some inputs from the stream."""
        return self._shown[0]

    @property
    def y(self) -> torch.Tensor:
        """Targets of :attr:`x`."""
        return self._shown[1]

    def __len__(self) -> int:
        return self._samples

    def draw(self, seed: int, epoch: int, step: int, size: int, part: slice = WHOLE) -> Batch:
        """Draw as :class:`Source` says."""
        count = min(size, len(self) - step * size)
        x, y = self._make(np.random.default_rng([1, seed, epoch, step]), count)
        return x[part], y[part]


HIGHEST = 100.0
"""Highest temperature of a teacher: above it, probabilities are all alike, and below 1 divided by
it, zero and one."""


@dataclass(frozen=True)
class Teacher:
    """What training targets were distilled from.

    ``outputs`` is a digest of the teacher's outputs, ``temperature`` and ``share`` are those of
    :func:`training.tasks.distilled`.
    """

    outputs: str
    temperature: float
    share: float

    def __post_init__(self) -> None:
        if not re.fullmatch("[0-9a-f]{16}", self.outputs):
            raise ValueError(
                f"teacher outputs: expected a digest of 16 hexadecimal digits, got {self.outputs!r}"
            )
        if not 1 / HIGHEST <= self.temperature <= HIGHEST:
            raise ValueError(
                f"teacher temperature: expected a number from {1 / HIGHEST:g} to {HIGHEST:g}, got "
                f"{self.temperature:g}"
            )
        if not 0 < self.share <= 1:
            raise ValueError(
                f"teacher share: expected a number above 0 and up to 1, got {self.share:g}"
            )


@dataclass(frozen=True)
class Task:
    """A data set and its objective; networks see the steps in the order of ``permutation``.

    ``classes`` is the number of the network's outputs, ``image`` the rows and columns of samples
    that are images read pixel by pixel.
    """

    name: str
    train: Source
    validation: Split
    test: Split
    classes: int
    permutation: tuple[int, ...] | None = None
    objective: Objective = CLASS
    image: tuple[int, int] | None = None
    encoding: str = ""
    """How a recording became channels and steps, in words; empty if the samples came that way."""
    teacher: Teacher | None = None
    """What the training targets were distilled from; None if they are labels alone."""

    def __post_init__(self) -> None:
        if not self.objective.of_classes:
            return
        parts = {"train": self.train, "validation": self.validation, "test": self.test}
        if self.teacher is not None:  # the training targets also hold its outputs
            del parts["train"]
        for part, source in parts.items():
            if isinstance(source, Split):
                name = f"task {self.name} {part} y"
                class_labels(name, source.y, len(source.x), self.classes)

    @property
    def channels(self) -> int:
        """Number of input channels."""
        return self.train.x.shape[1]

    @property
    def steps(self) -> int:
        """Time steps T of a sample."""
        return self.train.x.shape[2]
