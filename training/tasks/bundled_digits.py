"""scikit-learn's digits: the task that needs no download."""

from __future__ import annotations

import numpy as np

from training.tasks.own_data import split
from training.tasks.task import Task


def digits() -> Task:
    """scikit-learn's 1,797 digits of 8×8 pixels, one pixel a step: T = 64, no download.

    The order is shuffled once, with a seed of its own; 360 samples are for testing and 144 for
    validation.
    """
    from sklearn.datasets import load_digits  # slow to import, and only needed here

    data = load_digits()
    order = np.random.default_rng(8).permutation(len(data.target))
    x, y = data.images[order].reshape(-1, 1, 64) / 16, data.target[order]
    test, validation, train = (
        split(x[part], y[part]) for part in (slice(360), slice(360, 504), slice(504, None))
    )
    return Task(
        "digits",
        train,
        validation,
        test,
        classes=10,
        image=(8, 8),
        encoding="8 × 8, a pixel a step",
    )
