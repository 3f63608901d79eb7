"""Blocks that a file cannot hold are refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

slayer = pytest.importorskip("lava.lib.dl.slayer", reason="Lava is not installed")

from export import ModelError, to_netx
from export.tests.convert.test_export_kinds import CELIF, CUBA, SDNN, STEPS, spikes
from training import Network, block


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "net.net"


@pytest.mark.parametrize("readout", ["last", "steps"])
def test_readout_of_single_steps_is_refused(path, readout):
    net = Network(2, (4,), 3, STEPS, readout=readout)
    with pytest.raises(ModelError, match=rf"expected mean or spikes.* got '{readout}'; a chip"):
        to_netx(net, path, calibration=torch.rand(2, 2, STEPS))


def quiet(made):
    made.neuron.set_bias(torch.zeros(3))
    return made


REFUSED = {
    "cumulative-error": (
        lambda: slayer.block.sigma_delta.Dense(SDNN | {"cum_error": True}, 6, 3),
        "layer 0 cum_error: expected none, got True; SLAYER does not export it",
    ),
    "set-bias": (
        lambda: quiet(slayer.block.sigma_delta.Dense(SDNN, 6, 3)),
        "layer 0 bias: expected none, got True; SLAYER does not export it",
    ),
    "activation": (
        lambda: slayer.block.sigma_delta.Dense(SDNN | {"activation": torch.tanh}, 6, 3),
        "layer 0 neuron/activation: expected relu, got tanh",
    ),
    "delayed-messages": (
        lambda: slayer.block.sigma_delta.Dense(SDNN, 6, 3, delay=True),
        "layer 0 delay: expected none for sigma-delta neurons",
    ),
    "slayers-input": (
        lambda: slayer.block.cuba.Input(CUBA),
        "layer 0: expected a CELIF block, .* got Input; pass the blocks",
    ),
}


@pytest.mark.parametrize(("make", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_block_is_refused_by_name(path, make, message):
    with pytest.raises(ModelError, match=message):
        to_netx([make(), block.Dense(CELIF, 3, 3)], path, calibration=spikes(6))


def test_slayers_pooling_is_refused_by_name(path):
    pool = slayer.block.cuba.Pool(dict(CUBA), 2)
    with pytest.raises(ModelError, match=r"layer 1 type: expected dense.* got pool; .*block\.Pool"):
        to_netx([block.Conv(CELIF, 2, 3, 2), pool], path, calibration=spikes(2, 5, 5))


def test_readout_after_graded_messages_is_refused(path):
    blocks = [block.Dense(CELIF, 6, 4), slayer.block.sigma_delta.Dense(SDNN, 4, 3)]
    with pytest.raises(ModelError, match="layer 2 weight: expected spikes before a readout"):
        to_netx([*blocks, torch.nn.Linear(3, 2)], path, calibration=spikes(6))


def test_fresh_convolution_without_data_is_named(path):
    with pytest.raises(ModelError, match=r"layer 0: run a forward pass, or pass calibration data"):
        to_netx([block.Conv(CELIF, 2, 3, 2)], path)
