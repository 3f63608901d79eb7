"""Files of blocks that wrote themselves, by a user's own loop over export_hdf5."""

from __future__ import annotations

import h5py
import numpy as np
import pytest
import torch

slayer = pytest.importorskip("lava.lib.dl.slayer", reason="Lava is not installed")

from export import NetxError, read_netx, simulate, to_netx
from training import block

CELIF = {"steps": 24, "width": 1.0}
CUBA = {"threshold": 0.4, "current_decay": 0.6, "voltage_decay": 0.3}


@pytest.fixture
def x() -> torch.Tensor:
    return (torch.rand(5, 6, 24, generator=torch.Generator().manual_seed(1)) < 0.4).float()


def test_blocks_that_wrote_themselves_are_a_network(tmp_path, x):
    torch.manual_seed(0)
    stack = [block.Dense(CELIF, 6, 5, weight_scale=3), block.Dense(CELIF, 5, 4, weight_scale=3)]
    with h5py.File(tmp_path / "loop.net", "w") as f:
        for i, layer in enumerate(stack):
            layer.export_hdf5(f.create_group(f"layer/{i}"))
    alone = read_netx(tmp_path / "loop.net")
    assert [layer.lag for layer in alone.layers] == [1, 2]
    to_netx(stack, tmp_path / "whole.net")
    samples = x.numpy().astype(int)
    trace = simulate(alone, samples, trace=True)
    assert trace.spikes[1].any()
    together = simulate(read_netx(tmp_path / "whole.net"), samples, trace=True)
    np.testing.assert_array_equal(trace.v[1], together.v[1])


def test_blocks_of_images_that_wrote_themselves_are_a_network(tmp_path):
    torch.manual_seed(0)
    stack = [block.Conv(CELIF, 1, 2, 2, weight_scale=3), block.Flatten(), block.Dense(CELIF, 18, 4)]
    x = (torch.rand(2, 1, 4, 4, 24, generator=torch.Generator().manual_seed(1)) < 0.4).float()
    h = x
    for layer in stack:
        h = layer(h)
    with h5py.File(tmp_path / "loop.net", "w") as f:
        for i, layer in enumerate(stack):
            layer.export_hdf5(f.create_group(f"layer/{i}"))
    alone = read_netx(tmp_path / "loop.net")
    assert [layer.neurons for layer in alone.layers] == [18, 4]
    assert simulate(alone, x.reshape(2, 16, 24).numpy().astype(int), trace=True).spikes[0].any()


def test_block_beside_a_stock_one_needs_to_netx(tmp_path, x):
    stack = [block.Dense(CELIF, 6, 5), slayer.block.cuba.Dense(CUBA, 5, 4)]
    h = x
    for layer in stack:
        h = layer(h)
    with h5py.File(tmp_path / "loop.net", "w") as f:
        for i, layer in enumerate(stack):
            layer.export_hdf5(f.create_group(f"layer/{i}"))
    with pytest.raises(NetxError, match="CELIF CUBA: when these shift, only to_netx can write"):
        read_netx(tmp_path / "loop.net")
