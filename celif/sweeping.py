"""Accuracy of a network in integers, for every combination of bits in a grid."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from torch import nn

from export import read_netx, simulate, to_netx
from training import tasks, trainer
from training.tasks import Task


@dataclass(frozen=True)
class Grid:
    """Numbers of bits to try: every number for weights with every number for TE."""

    weight_bits: tuple[int, ...]
    te_bits: tuple[int, ...]


@dataclass(frozen=True)
class Point:
    """One export: its bits, its accuracy and the size of its file."""

    weight_bits: int
    te_bits: int
    accuracy: float
    saturations: int
    file_bytes: int


@dataclass(frozen=True)
class Sweep:
    """Every point of a grid, and the float network to compare with."""

    task: str
    samples: int
    accuracy_float: float
    points: tuple[Point, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


def numbers(text: str, option: str) -> tuple[int, ...]:
    """Parse numbers that are separated by commas."""
    try:
        return tuple(dict.fromkeys(int(word) for word in text.split(",")))
    except ValueError:
        raise ValueError(f"{option}: expected numbers such as 8,4,2, got {text!r}") from None


def sweep(
    net: nn.Module,
    task: Task,
    calibration: Any,
    grid: Grid,
    samples: int | None = None,
    per_channel: bool = False,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> Sweep:
    """Export ``net`` for every point of ``grid`` and measure it on the task's test samples."""
    tasks.require_classes(task.objective, task.name)
    test = tasks.Split(task.test.x[:samples], task.test.y[:samples])
    x, y = test.x.numpy(), test.y.numpy()
    pairs = [(w, te) for te in grid.te_bits for w in grid.weight_bits]
    points: list[Point] = []
    with tempfile.TemporaryDirectory(prefix="celif-") as folder:
        file = Path(folder) / "point.net"
        for weight_bits, te_bits in pairs:
            report(len(points), len(pairs))
            to_netx(
                net,
                file,
                calibration=calibration,
                weight_bits=weight_bits,
                te_bits=te_bits,
                per_channel=per_channel,
            )
            trace = simulate(read_netx(file), x)
            hits = float((trace.predictions == y).mean())
            full = sum(trace.saturations or ())
            points.append(Point(weight_bits, te_bits, hits, full, file.stat().st_size))
        report(len(pairs), len(pairs))
    return Sweep(task.name, len(y), trainer.evaluate(net, test), tuple(points))
