"""Calibration data: what a user may pass, as one array of samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader

from export.checks import ModelError

SAMPLES_MAX = 1024
"""Largest number of samples taken from a DataLoader or a Dataset."""

Calibration = Any
"""An array or a tensor (batch, channel, time), a DataLoader, a Dataset, or what has such an ``x``.

The items of a DataLoader or a Dataset are samples, or pairs of a sample and its target.
"""


JOIN = (
    "join them along the channels, as in torch.cat((x, y), 1), and let forward(xy) take its parts, "
    "xy[:, :n] and xy[:, n:]"
)


def as_samples(calibration: Calibration | None) -> torch.Tensor | np.ndarray | None:
    """Return calibration samples as one array; None stays None."""
    if calibration is None or isinstance(calibration, (np.ndarray, torch.Tensor)):
        return calibration
    if isinstance(calibration, DataLoader):
        return _joined(calibration)
    if isinstance(getattr(calibration, "x", None), (np.ndarray, torch.Tensor)):
        return calibration.x
    if isinstance(calibration, (list, tuple)) and calibration and _is_plain_list(calibration[0]):
        raise ModelError(
            "calibration: expected an array or a tensor (batch, channel, time), or a list of such "
            "samples, got lists of numbers; pass numpy.asarray(x) or torch.tensor(x)"
        )
    if hasattr(calibration, "__getitem__") and hasattr(calibration, "__len__"):
        count = min(len(calibration), SAMPLES_MAX)
        if count == 0:
            raise ModelError("calibration: expected samples, got an empty Dataset")
        return _stacked([_sample(calibration[i]) for i in range(count)])
    raise ModelError(
        "calibration: expected an array (batch, channel, time), a DataLoader or a Dataset, got "
        f"{type(calibration).__name__}"
    )


def _is_plain_list(item: Any) -> bool:
    """Whether a sample, or the first of a pair, is numbers in lists, such as x.tolist() gives."""
    first = item[0] if isinstance(item, (list, tuple)) and item else item
    return isinstance(first, (list, tuple, int, float))


def _sample(item: Any) -> torch.Tensor:
    return torch.as_tensor(item[0] if isinstance(item, (tuple, list)) else item)


def _joined(batches: DataLoader[Any]) -> torch.Tensor:
    parts: list[torch.Tensor] = []
    for batch in batches:
        parts.append(_sample(batch))
        if sum(map(len, parts)) >= SAMPLES_MAX:
            break
    if not parts:
        raise ModelError("calibration: expected samples, got an empty DataLoader")
    return torch.cat(parts)[:SAMPLES_MAX]


def _stacked(samples: list[torch.Tensor]) -> torch.Tensor:
    shapes = {tuple(sample.shape) for sample in samples}
    if len(shapes) != 1:
        remedy = "pad or cut them"
        if all(len(shape) > 2 for shape in shapes):
            remedy = f"if these are several inputs, {JOIN}"
        raise ModelError(
            f"calibration: expected samples of one shape, got {sorted(shapes)[:3]}; {remedy}"
        )
    return torch.stack(samples)
