"""Calibration samples from a DataLoader, a Dataset or a split give the same file as an array."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from export import ModelError, quantize, to_netx
from training import Network
from training.tasks import Split


def sources(x: torch.Tensor) -> dict[str, Any]:
    y = torch.zeros(len(x), dtype=torch.int64)
    pairs = TensorDataset(x, y)
    return {
        "loader": DataLoader(pairs, batch_size=4),
        "loader-of-samples": DataLoader(list(x), batch_size=3),
        "dataset": pairs,
        "list": list(x),
        "split": Split(x, y),
    }


@pytest.mark.parametrize("kind", sources(torch.zeros(1, 1, 1)))
def test_any_holder_of_samples_gives_the_same_file(kind: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    net, x = Network(2, (9,), 3, 20), torch.rand(10, 2, 20)
    to_netx(net, tmp_path / "array.net", calibration=x)
    to_netx(net, tmp_path / "held.net", calibration=sources(x)[kind])
    assert (tmp_path / "held.net").read_bytes() == (tmp_path / "array.net").read_bytes()
    ours, theirs = (quantize(net, calibration=c) for c in (x, sources(x)[kind]))
    assert torch.equal(ours(x), theirs(x))


@pytest.mark.parametrize(
    ("calibration", "message"),
    [
        (3, "a DataLoader or a Dataset, got int"),
        ([], "got an empty Dataset"),
        ([torch.zeros(2, 20), torch.zeros(2, 19)], "expected samples of one shape"),
        (torch.rand(4, 2, 20).tolist(), r"got lists of numbers; pass numpy\.asarray\(x\) or torch"),
        (([[0.0] * 20] * 2, 1), "got lists of numbers"),
    ],
    ids=["number", "empty", "shapes", "lists", "sample-in-lists"],
)
def test_what_holds_no_samples_is_named(calibration: Any, message: str, tmp_path: Path) -> None:
    net = Network(2, (9,), 3, 20)
    with pytest.raises(ModelError, match=message):
        to_netx(net, tmp_path / "net.net", calibration=calibration)
