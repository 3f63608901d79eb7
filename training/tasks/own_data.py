"""A user's own data as a task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from training.tasks.labels import class_labels
from training.tasks.objective import CLASS, Objective
from training.tasks.task import Split, Task

Array = np.ndarray | torch.Tensor


def split(x: Array, y: Array, objective: Objective = CLASS, name: str = "samples") -> Split:
    """Inputs (sample, channel, time) and their targets, checked and in the types of a network."""
    inputs = _numbers(f"{name} x", x)
    if inputs.ndim != 3:
        raise ValueError(
            f"{name} x: expected (sample, channel, time), got shape {tuple(inputs.shape)}; "
            "add the missing axis, e.g. x[:, None, :] for one channel"
        )
    if inputs.numel() == 0:
        raise ValueError(
            f"{name} x: expected at least one sample, got shape {tuple(inputs.shape)}; check how "
            "the samples were read"
        )
    if objective.of_classes:
        targets = torch.from_numpy(class_labels(f"{name} y", y, len(inputs)))
    else:
        targets = _numbers(f"{name} y", y)
    if targets.ndim == 0 or len(inputs) != len(targets):
        raise ValueError(
            f"{name}: expected a target for each sample, got {len(inputs)} samples and targets of "
            f"shape {tuple(targets.shape)}"
        )
    inputs = inputs.to(torch.float32)
    if not torch.isfinite(inputs).all():
        raise ValueError(
            f"{name} x: expected numbers of float32, got NaN or infinity; clean or scale the data"
        )
    if targets.is_floating_point() and not objective.targets.is_floating_point:
        raise ValueError(
            f"{name} y: expected classes as integers, got {targets.dtype}; for numbers to predict "
            "pass objective=tasks.VALUE"
        )
    targets = targets.to(objective.targets)
    if targets.is_floating_point() and not torch.isfinite(targets).all():
        raise ValueError(
            f"{name} y: expected numbers of {objective.targets}, got NaN or infinity; leave out "
            "samples without a target"
        )
    return Split(inputs, targets)


def _numbers(name: str, values: Array) -> torch.Tensor:
    """Real numbers as a tensor; torch would drop imaginary parts with a warning alone."""
    kind: torch.dtype | np.dtype[Any]
    if isinstance(values, torch.Tensor):
        kind, real = values.dtype, not values.is_complex()
    else:
        values = np.asarray(values)
        kind, real = values.dtype, values.dtype.kind in "biuf"
    if not real:
        raise ValueError(
            f"{name}: expected real numbers, got {kind}; pass an array of numbers, of complex "
            "ones their real and imaginary parts or their magnitudes"
        )
    return torch.as_tensor(values)


def from_arrays(
    name: str,
    x: Array,
    y: Array,
    *,
    test: tuple[Array, Array] | None = None,
    held_out: float = 0.1,
    seed: int = 0,
    classes: int | None = None,
    objective: Objective = CLASS,
) -> Task:
    """A task of your own arrays.

    Parameters
    ----------
    name
        Under which its runs are known.
    x, y
        Samples (sample, channel, time) and their targets: integers from 0 for classes.
    test
        Samples and targets to test with; without them, some are set aside, as for validation.
    held_out
        Share of the samples that is set aside, once for validation and once for testing.
    seed
        Which ones.
    classes
        Number of outputs, if not one more than the largest target.
    objective
        ``tasks.CLASS``, ``tasks.VALUE``, ``tasks.STEPS``, or one of your own.
    """
    whole = split(x, y, objective, name)
    count = max(1, round(held_out * len(whole)))
    parts = 1 if test is not None else 2
    if not 0 < held_out < 1 or parts * count >= len(whole):
        raise ValueError(
            f"{name}: expected held_out to leave samples for training, got {held_out:g} of "
            f"{len(whole)} samples"
        )
    order = torch.from_numpy(np.random.default_rng(seed).permutation(len(whole)))

    def part(rows: torch.Tensor) -> Split:
        return Split(whole.x[rows], whole.y[rows])

    if classes is None:
        classes = _outputs(whole.y, objective)
    tested = part(order[count : 2 * count])
    if test is not None:
        tested = split(*test, objective, f"{name} test")
        if tested.x.shape[1:] != whole.x.shape[1:]:
            raise ValueError(
                f"{name} test x: expected (channel, time) as in training, "
                f"{tuple(whole.x.shape[1:])}, got {tuple(tested.x.shape[1:])}"
            )
    for targets in (whole.y, tested.y):
        if not targets.is_floating_point() and int(targets.max()) >= classes:
            raise ValueError(
                f"{name} y: expected classes below {classes}, got {int(targets.max())}; pass a "
                "larger number of classes"
            )
    return Task(
        name,
        part(order[parts * count :]),
        part(order[:count]),
        tested,
        classes=classes,
        objective=objective,
        # Another split would test with samples that a network was trained on.
        encoding="" if test is not None else f"{held_out:g} of them set aside by seed {seed}",
    )


def _outputs(y: torch.Tensor, objective: Objective) -> int:
    if y.is_floating_point():
        return 1 if y.ndim == 1 else y.shape[1]
    return int(y.max()) + 1


def from_dataset(
    name: str,
    train: Sequence[tuple[Any, Any]] | torch.utils.data.Dataset[tuple[Any, Any]],
    *,
    test: Sequence[tuple[Any, Any]] | torch.utils.data.Dataset[tuple[Any, Any]] | None = None,
    **options: Any,
) -> Task:
    """A task of a Dataset whose items are pairs of a sample (channel, time) and its target.

    It is read into memory once. ``options`` are those of :func:`from_arrays`.
    """
    pairs = None if test is None else _stacked(f"{name} test", test)
    return from_arrays(name, *_stacked(name, train), test=pairs, **options)


def _stacked(name: str, items: Any) -> tuple[torch.Tensor, torch.Tensor]:
    samples, targets = zip(*(items[i] for i in range(len(items))), strict=True)
    tensors = [torch.as_tensor(sample) for sample in samples]
    shapes = {tuple(tensor.shape) for tensor in tensors}
    if len(shapes) != 1:
        raise ValueError(
            f"{name}: expected samples of one shape (channel, time), got {sorted(shapes)[:3]}; "
            "pad or cut them"
        )
    return torch.stack(tensors), torch.stack([torch.as_tensor(target) for target in targets])
