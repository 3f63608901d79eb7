"""Dropout in the fused layers: masks by hash, and where a network applies them."""

from __future__ import annotations

import numpy as np
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


def hashed_by_hand(counter: int, key: int) -> int:
    """What the hash is defined to be, in integers of any size."""
    low = 2**32
    x = (counter + key) % low
    x = (x ^ x // 2**16) * 0x21F0AAAD % low
    x ^= key // 2**32
    x = (x ^ x // 2**15) * 0xD35A2D97 % low
    return x ^ x // 2**15


def test_masks_of_a_seed_stay_what_they_are():
    """A resumed run draws the masks that it would have drawn; every bit of the key counts."""
    pairs = [(0, 0), (1, 0), (2**32 - 1, 1), (12345, 2**40 + 7), (2**33 + 5, 2**63 - 1)]
    pairs += [(7, 1 << bit) for bit in range(63)]
    found = [int(scans.hashed(np.uint64(counter), np.uint64(key))) for counter, key in pairs]
    assert found[:5] == [0, 114555507, 0, 2727525853, 2332564213]
    assert found == [hashed_by_hand(*pair) for pair in pairs]
    assert len(set(found[5:])) == 63


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
