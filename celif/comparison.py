"""Two models on the same samples, and two files value by value."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from celif.inputs.samples import Model
from celif.verification.file_check import DatasetDifference, differences
from export import FixedNetwork, simulate
from hw_tests.trace_difference import Difference
from hw_tests.trace_difference import compare as compare_traces
from training.tasks.labels import class_labels

_CHUNK = 256
_TRACED = 4
"""Samples whose every register is compared."""


@dataclass(frozen=True)
class Side:
    """One of the two models."""

    path: str
    kind: str
    """``float``, ``quantised`` or ``fixed``."""
    values: int
    """Parameters of a checkpoint; weights and TE values of a file."""
    accuracy: float | None


@dataclass(frozen=True)
class ModelComparison:
    """What distinguishes two models."""

    first: Side
    second: Side
    samples: int
    agreement: float
    """Share of samples that both put into the same class."""
    changed: tuple[int, ...]
    """Samples that they put into different classes."""
    datasets: tuple[DatasetDifference, ...] | None
    """Datasets that differ, of two files."""
    divergence: Difference | None
    """The first register that differs in a run, of two files of the same shape."""

    @property
    def equal(self) -> bool:
        """Whether every prediction agrees and, of two files, every dataset."""
        return not self.changed and not self.datasets

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {"equal": self.equal, **asdict(self)}


def compare_models(
    first: Model, second: Model, x: np.ndarray, y: np.ndarray | None
) -> ModelComparison:
    """Run both models on samples (batch, channel, time) and compare what they are made of.

    ``y`` holds the class of each sample, for accuracies.
    """
    if y is not None:
        y = class_labels("y", y, len(x))
    ours, theirs = _logits(first, x), _logits(second, x)
    same = ours.argmax(1) == theirs.argmax(1)
    datasets = divergence = None
    if first.fixed is not None and second.fixed is not None:
        datasets = tuple(differences(first.fixed, second.fixed))
        divergence = _divergence(first.fixed, second.fixed, x[:_TRACED])
    return ModelComparison(
        first=_side(first, ours, y),
        second=_side(second, theirs, y),
        samples=len(x),
        agreement=float(same.mean()),
        changed=tuple(int(i) for i in np.flatnonzero(~same)),
        datasets=datasets,
        divergence=divergence,
    )


def _side(model: Model, logits: np.ndarray, y: np.ndarray | None) -> Side:
    accuracy = None
    if y is not None:
        labels = class_labels(f"y for {model.path}", y, *logits.shape)
        accuracy = float((logits.argmax(1) == labels).mean())
    return Side(model.path, _kind(model), _values(model), accuracy)


def _divergence(one: FixedNetwork, other: FixedNetwork, x: np.ndarray) -> Difference | None:
    """Find the first register that differs in a run of both, if they have the same shape."""
    shapes = [[layer.weight.shape for layer in net.layers] for net in (one, other)]
    if shapes[0] != shapes[1]:
        return None
    ours, theirs = (simulate(net, net.encode(x), trace=True) for net in (one, other))
    return compare_traces(ours, theirs).first


def _kind(model: Model) -> str:
    if model.fixed is not None:
        return "fixed"
    return "quantised" if type(model.net).__name__ == "QuantizedNetwork" else "float"


def _values(model: Model) -> int:
    if model.fixed is not None:
        te = sum(layer.te.size for layer in model.fixed.layers if hasattr(layer, "te"))
        return te + sum(layer.weight.size for layer in model.fixed.all_layers)
    assert model.net is not None
    return sum(p.numel() for p in model.net.parameters())


def _logits(model: Model, x: np.ndarray) -> np.ndarray:
    if model.fixed is not None:
        return simulate(model.fixed, model.fixed.encode(x)).logits
    assert model.net is not None
    return _float_logits(model.net, x)


@torch.no_grad()
def _float_logits(net: nn.Module, x: np.ndarray) -> np.ndarray:
    parts = [net(part) for part in torch.as_tensor(x, dtype=torch.float32).split(_CHUNK)]
    outputs = torch.cat(parts)
    if outputs.ndim > 2:  # spikes of the last layer, which are counted
        outputs = outputs.flatten(1, -2).sum(-1)
    return outputs.numpy()
