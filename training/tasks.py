"""Sequence tasks: arrays of (sample, channel, time) with labels, split once and for all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch


@dataclass(frozen=True)
class Split:
    """Inputs (sample, channel, time) in float32 and labels (sample,) in int64."""

    x: torch.Tensor
    y: torch.Tensor

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True)
class Task:
    """A classification task; a network for it sees the steps in the order of ``permutation``."""

    name: str
    train: Split
    validation: Split
    test: Split
    classes: int
    permutation: tuple[int, ...] | None = None

    @property
    def channels(self) -> int:
        """Number of input channels."""
        return self.train.x.shape[1]

    @property
    def steps(self) -> int:
        """Time steps T of a sample."""
        return self.train.x.shape[2]


def _split(x: np.ndarray, y: np.ndarray) -> Split:
    pixels = torch.from_numpy(x.reshape(len(x), 1, -1).astype(np.float32))
    return Split(pixels, torch.from_numpy(y.astype(np.int64)))


def digits() -> Task:
    """scikit-learn's 1,797 digits of 8×8 pixels, one pixel a step: T = 64, no download.

    The order is shuffled once, with a seed of its own; 360 samples are for testing and 144 for
    validation.
    """
    from sklearn.datasets import load_digits  # slow to import, and only needed here

    data = load_digits()
    order = np.random.default_rng(8).permutation(len(data.target))
    x, y = data.images[order] / 16, data.target[order]
    test, validation, train = (
        _split(x[part], y[part]) for part in (slice(360), slice(360, 504), slice(504, None))
    )
    return Task("digits", train, validation, test, classes=10)


def mnist(data: str | Path, permuted: bool) -> Task:
    """MNIST, one pixel a step: T = 784; ``permuted`` by one fixed order of the pixels (PS-MNIST).

    ``data`` is torchvision's folder. The last 5,000 training images are for validation.
    """
    try:
        from torchvision.datasets import MNIST
    except ImportError:
        raise ImportError(
            "MNIST: expected torchvision to read it, found none; install it"
        ) from None

    try:
        train, test = (MNIST(str(data), train=part, download=False) for part in (True, False))
    except RuntimeError:
        raise FileNotFoundError(
            f"{data}: expected MNIST in torchvision's layout, {data}/MNIST/raw/*; nothing is "
            'downloaded unasked: python -c "from torchvision.datasets import MNIST; '
            f"MNIST('{data}', download=True)\""
        ) from None

    def pixels(dataset: MNIST, part: slice) -> Split:
        images = dataset.data.numpy()[part].reshape(-1, 784)
        return _split(images / np.float32(255), dataset.targets.numpy()[part])

    order = tuple(np.random.default_rng(784).permutation(784).tolist())
    return Task(
        "ps-mnist" if permuted else "seq-mnist",
        pixels(train, slice(0, 55_000)),
        pixels(train, slice(55_000, None)),
        pixels(test, slice(None)),
        classes=10,
        permutation=order if permuted else None,
    )


_LOADERS: dict[str, Callable[[str | Path | None], Task]] = {
    "digits": lambda data: digits(),
    "seq-mnist": lambda data: mnist(_required(data), permuted=False),
    "ps-mnist": lambda data: mnist(_required(data), permuted=True),
}
NAMES = tuple(_LOADERS)


def _required(data: str | Path | None) -> str | Path:
    if data is None:
        raise ValueError("task data: expected --data DIR with MNIST in torchvision's layout")
    return data


def load(name: str, data: str | Path | None = None) -> Task:
    """Load a task by name."""
    if name not in _LOADERS:
        raise ValueError(f"task: expected one of {', '.join(NAMES)}, got {name!r}")
    return _LOADERS[name](data)
