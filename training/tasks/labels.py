"""Class labels, checked in one place for training, evaluation, verification and the commands.

A label is compared with the class that a network answers, and numpy and torch compare arrays of
almost any shapes and types. What is not one whole number for each sample therefore has to be
refused before: it would make an accuracy that means nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

_NUMBER = "number the classes from 0, as np.unique(y, return_inverse=True)[1] does"

_MOST = int(np.iinfo(np.int64).max)
_NUMPY_HAS = (torch.float16, torch.float32, torch.float64)


def class_labels(name: str, y: Any, samples: int, classes: int | None = None) -> np.ndarray:
    """Return the labels ``y`` in int64: of each sample one class, a whole number from 0 up.

    Parameters
    ----------
    name
        What the labels are called in an error.
    y
        Array or tensor of integers or truth values.
    samples
        How many samples they belong to.
    classes
        Number of a network's outputs, where it is known; every label has to be below it.
    """
    found, kind = _array(y)
    if found.dtype.kind not in "biu" or found.shape != (samples,):
        raise ValueError(
            f"{name}: expected a class as an integer for each of {samples} samples, found "
            f"{kind} of shape {found.shape}; {_remedy(found, samples)}"
        )
    if len(found) == 0:
        return found.astype(np.int64)
    least, most = int(found.min()), int(found.max())
    if least < 0:
        raise ValueError(f"{name}: expected classes from 0 up, got {least}; {_NUMBER}")
    if classes is not None and most >= classes:
        remedy = "pass the labels that belong to these outputs" if least == 0 else _NUMBER
        raise ValueError(
            f"{name}: expected classes 0..{classes - 1}, got {least}..{most}; {remedy}"
        )
    if most > _MOST:
        raise ValueError(f"{name}: expected classes of at most {_MOST}, got {most}; {_NUMBER}")
    return found.astype(np.int64, copy=False)


def conversion(y: np.ndarray) -> str:
    """Return the expression that makes classes of numbers that are all whole."""
    if y.ndim == 2 and y.shape[1] > 1:
        return "y.argmax(1)"
    flat = "" if y.ndim == 1 else ".reshape(-1)"
    return f"y{flat}.astype(int)" if y.dtype.kind == "f" else f"y{flat}"


def _array(y: Any) -> tuple[np.ndarray, str]:
    """Return labels as an array, and what an error calls their type."""
    if isinstance(y, torch.Tensor):
        y = y.detach().cpu()
        if y.is_floating_point() and y.dtype not in _NUMPY_HAS:
            return y.float().numpy(), str(y.dtype)
    found = np.asarray(y)
    return found, "texts" if found.dtype.kind in "US" else str(found.dtype)


def _remedy(y: np.ndarray, samples: int) -> str:
    if y.dtype.kind not in "biuf":
        return _NUMBER if y.dtype.kind in "US" else "pass an array of integers"
    if y.ndim == 0 or len(y) != samples:
        return "pass the labels of exactly these samples, in their order"
    if y.dtype.kind == "f" and not np.array_equal(y, np.round(y)):
        return "leave them out, or, to learn such numbers, pass objective=tasks.VALUE"
    if y.ndim == 1 or y.size == samples:
        return f"write {conversion(y)}"
    if y.ndim == 2 and ((y == 0) | (y == 1)).all() and (y.sum(1) == 1).all():
        return f"write {conversion(y)}, as they are one-hot"
    return "pass a single class for each sample"
