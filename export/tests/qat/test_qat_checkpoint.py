"""Checkpoints of quantised networks: formats that cannot be right are refused by name."""

from __future__ import annotations

import base64
import zlib

import pytest
import torch

from export import quantize
from training import Network, checkpoint
from training.checkpoint import CheckpointError
from training.support import tensor_file


@pytest.fixture
def path(tmp_path):
    """A checkpoint of a small quantised network."""
    torch.manual_seed(0)
    net = Network(2, (5, 4), 3, 7)
    checkpoint.save(tmp_path / "net", quantize(net, calibration=torch.rand(8, 2, 7)))
    return tmp_path / "net"


def letters(data: bytes) -> str:
    return base64.b64encode(data).decode()


HUGE = {"in_features": 1 << 30, "hidden": [1 << 30], "classes": 3, "steps": 7}
CHANGES = {
    "bomb": (
        {"formats": letters(zlib.compress(bytes(200 << 20), 9))},
        "of up to .* bytes, got more",
    ),
    "not-compressed": ({"formats": letters(b"netx")}, "found damage"),
    "not-base64": ({"formats": "?"}, "network: expected options of a QuantizedNetwork"),
    "not-netx": ({"formats": letters(zlib.compress(b"netx"))}, "network: expected options"),
    "huge": ({"net": HUGE}, "weights: expected|network: expected options"),
    "no-net": ({"net": None}, "network: expected options of a QuantizedNetwork"),
    "unknown": ({"more": 1}, "network: expected options of a QuantizedNetwork"),
}


@pytest.mark.parametrize(("change", "message"), CHANGES.values(), ids=CHANGES.keys())
def test_config_that_cannot_be_right_is_refused(path, change, message):
    content = checkpoint.read(path)
    assert isinstance(checkpoint.build(content), torch.nn.Module)
    tensor_file.write(path, {**content, "network": {**content["network"], **change}})
    with pytest.raises(CheckpointError, match=message):
        checkpoint.load_module(path)
