"""Tasks made of random numbers: the adding problem and copy memory, of any length.

Training samples are generated for every batch; those for validation and testing are made once.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch

from training.tasks.objective import STEPS, VALUE, Objective
from training.tasks.task import Batch, Split, Stream, Task

EPOCH, HELD_OUT = 6_400, 1000
"""Samples that are called an epoch, and how many are kept for validation and for testing each."""

SYMBOLS, BLANK, RECALL = 10, 0, 9
"""Copy memory: symbols to remember; the codes of nothing and of "now"; 1 to 8 are to remember."""


def _task(
    name: str,
    make: Callable[[np.random.Generator, int], Batch],
    outputs: int,
    objective: Objective,
) -> Task:
    # Streams draw from generators of four numbers, so these are never drawn from again.
    validation, test = (make(np.random.default_rng([2, part]), HELD_OUT) for part in (0, 1))
    return Task(
        name,
        Stream(make, EPOCH),
        Split(*validation),
        Split(*test),
        classes=outputs,
        objective=objective,
    )


def _length(name: str, steps: int, least: int) -> None:
    if steps < least:
        raise ValueError(f"{name}: expected a length of at least {least} steps, got {steps}")


def adding(steps: int) -> Task:
    """Return the adding problem: the target is the sum of the two marked ones of T random numbers.

    The channels are numbers in [0, 1) and a mark. The constant answer 1 has a mean squared error of
    1/6.
    """
    _length("adding", steps, 2)

    def make(rng: np.random.Generator, count: int) -> Batch:
        values = rng.random((count, steps), dtype=np.float32)
        first = rng.integers(0, steps, count)
        second = (first + rng.integers(1, steps, count)) % steps
        marks = np.zeros_like(values)
        for chosen in (first, second):
            marks[np.arange(count), chosen] = 1
        x, y = np.stack([values, marks], 1), (values * marks).sum(1)
        return torch.from_numpy(x), torch.from_numpy(y)

    return _task(f"adding-{steps}", make, 1, VALUE)


def copy_baseline(steps: int) -> float:
    """Loss of copy memory for an answer that knows everything but the ten symbols."""
    return SYMBOLS * math.log(8) / (steps + 2 * SYMBOLS)


def copy_memory(steps: int) -> Task:
    """Return copy memory: ten symbols, T blank steps, and ten steps in which to repeat the symbols.

    The input is one-hot, ten channels over T + 20 steps; the target is 0 until the last ten.
    Answering everything but the symbols gives a cross entropy of 10·ln 8/(T + 20)
    (:func:`copy_baseline`).
    """
    _length("copy", steps, 1)
    total = steps + 2 * SYMBOLS

    def make(rng: np.random.Generator, count: int) -> Batch:
        symbols = rng.integers(1, 9, (count, SYMBOLS))
        codes = np.full((count, total), BLANK)
        codes[:, :SYMBOLS], codes[:, -SYMBOLS:] = symbols, RECALL
        target = np.full((count, total), BLANK)
        target[:, -SYMBOLS:] = symbols
        x = np.eye(RECALL + 1, dtype=np.float32)[codes].transpose(0, 2, 1)
        return torch.from_numpy(np.ascontiguousarray(x)), torch.from_numpy(target)

    return _task(f"copy-{steps}", make, RECALL + 1, STEPS)
