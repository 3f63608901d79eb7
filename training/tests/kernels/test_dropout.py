"""Dropout in the fused layers: masks by hash, and where a network applies them."""

from __future__ import annotations

import pytest
import torch

from training.kernels import scans
from training.kernels.dropout import Dropout
from training.network.network import Network


@pytest.mark.parametrize("tied", [False, True], ids=["fresh", "tied"])
def test_dropout_masks_are_even_and_independent(tied):
    masks = [Dropout(0.2, tied, key).mask(60, 64, 50) for key in (1, 2, 1 << 40)]
    for mask in masks:
        assert set(mask.unique().tolist()) == {0, 1.25}
        assert (mask == mask[..., :1]).all() == tied
    dropped = torch.stack([(mask == 0).double() for mask in masks])
    count = 60 * 64 * (1 if tied else 50)
    deviation = (0.2 * 0.8 / count) ** 0.5
    assert ((dropped.mean((1, 2, 3)) - 0.2).abs() < 4 * deviation).all()
    by_neuron = dropped[0].mean((0, 2))
    assert ((by_neuron - 0.2).abs() < 5 * (0.16 * 64 / count) ** 0.5).all()
    # Two masks, and a mask and itself one neuron or sample on, agree as often as chance has it.
    pairs = [(dropped[0], dropped[1]), (dropped[0], dropped[2])]
    pairs += [(dropped[0][:, 1:], dropped[0][:, :-1]), (dropped[0][1:], dropped[0][:-1])]
    for a, b in pairs:
        assert abs(float((a * b).mean()) - 0.04) < 5 * (0.04 * 0.96 / count) ** 0.5


def test_marked_flags_are_those_of_the_mask():
    drop = Dropout(0.4, False, 12345)
    expected = drop.mask(6, 5, 7)
    found = torch.zeros(6, 5, 7)
    for first, size in ((0, 4), (4, 2)):  # one group of four, one of two
        flags = torch.full((1, 7, size, 5), scans.SPIKED, dtype=torch.uint8)
        drop.mark(flags, first)
        kept = (flags[0] & scans.DROPPED) == 0
        found[first : first + size] = kept.permute(1, 2, 0) * drop.scale
    assert torch.equal(found, expected.float())


def test_dropout_follows_torchs_seed():
    def drawn(seed: int) -> Dropout:
        torch.manual_seed(seed)
        drop = Dropout.draw(0.5, False)
        assert drop is not None
        return drop

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)
    assert Dropout.draw(0.0, False) is None


def test_network_drops_in_training_only(rng):
    torch.manual_seed(0)
    net = Network(2, (30, 20), 3, 40, dropout=0.5)
    x = torch.rand(6, 2, 40)
    whole = net.eval()(x)
    assert torch.equal(whole, net(x))
    assert not torch.equal(net.train()(x), net(x)), "masks should be fresh for every batch"
