"""Files of every kind of layer: what was written comes back, and what does not fit is named."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

from export import NetxError, read_netx, simulate, write_netx
from export.netx import integrity
from export.tests.strategies import assert_same, kinds_networks
from hw_tests.networks.random_stacks import LayerSpec, random_stack

IMAGES, ONE_TO_ONE = 0, 1


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "net.net"


@pytest.mark.parametrize("which", [IMAGES, ONE_TO_ONE], ids=["images", "one-to-one"])
def test_network_comes_back_as_it_was(path, which):
    network = kinds_networks()[which]
    write_netx(network, path)
    assert_same(read_netx(path), network)
    bytes_before = path.read_bytes()
    write_netx(read_netx(path), path)
    assert path.read_bytes() == bytes_before


def test_types_are_netx_own(path):
    write_netx(kinds_networks()[IMAGES], path)
    with h5py.File(path) as f:
        types = [f[f"layer/{i}/type"][0].decode() for i in range(len(f["layer"]))]
        assert types == ["conv", "conv", "flatten", "dense", "dense_rec", "dense"]
        assert f["layer/1/weight"].shape == (3, 2, 2, 3)
        assert f["layer/4/inExp"][()] == 12, "a sigma-delta layer stands before it"
    write_netx(kinds_networks()[ONE_TO_ONE], path)
    with h5py.File(path) as f:
        types = [f[f"layer/{i}/type"][0].decode() for i in range(len(f["layer"]))]
        assert types == ["input", "flatten", "dense", "dense"]
        assert f["layer/0/weight"][()].tolist() == [77]


def test_samples_may_have_the_shape_of_images(rng):
    network = kinds_networks()[IMAGES]
    x = rng.integers(0, 16, (2, 2, 3, 4, 4))
    flat = simulate(network, x.reshape(2, 24, 4))
    np.testing.assert_array_equal(simulate(network, x).logits, flat.logits)
    assert flat.logits.any()


CHANGES = {
    "type": ("/layer/1/type", np.bytes_(b"pool"), "/layer/1/type", "dense_rec, conv", "pool"),
    "kernel": ("/layer/1/kernelSize", [3, 2], "/layer/1/kernelSize", "[2, 3]", "[3, 2]"),
    "shape": ("/layer/1/shape", [3, 2, 1], "/layer/1/shape", "[3, 2, 2]", "[3, 2, 1]"),
    "stride": ("/layer/1/stride", [0, 1], "/layer/1/stride", "1..", "0"),
    "pair": ("/layer/1/padding", [1, 0, 0], "/layer/1/padding", "(2,)", "(3,)"),
    "groups": ("/layer/1/groups", 2, "/layer/1/weight", "2 channels in 2 group(s)", "(3, 2, 2, 3)"),
    "in-shape": ("/layer/1/inShape", [2, 3], "/layer/1/inShape", "height and width", "[2, 3]"),
    "in-channels": ("/layer/1/inChannels", 3, "/layer/1/inChannels", "2", "3"),
    "too-small": ("/layer/1/inShape", [2, 3, 2], "/layer/1/weight", "fit into (2, 3, 2)", "3)"),
    "flatten": ("/layer/2/shape", [11, 1, 1], "/layer/2/shape", "[12, 1, 1]", "[11, 1, 1]"),
    "delay": ("/layer/4/delay", [0, 1, 2, 63], "/layer/4/delay", "0..62", "0..63"),
    "delays": ("/layer/4/delay", [0, 1, 2], "/layer/4/delay", "4 values", "3"),
    "gap": ("/celif/gap", 4, "/celif/gap", "5..64", "4"),
    "recurrence": (
        "/layer/4/weight_rec", np.zeros((4, 3), np.int8), "/layer/4/weight_rec", "(4, 4)", "(4, 3)",
    ),
    "recurrent-range": (
        "/layer/4/weight_rec", np.full((4, 4), 128, np.int16), "/layer/4/weight_rec", "127", "128",
    ),
    "activation": (
        "/layer/3/neuron/activation", np.bytes_(b"tanh"), "/layer/3/neuron/activation", "relu",
        "tanh",
    ),
    "unit": ("/layer/3/inExp", 3, "/layer/3/inExp", "0..0", "3"),
    "threshold": ("/layer/3/neuron/vThMant", -1, "/layer/3/neuron/vThMant", "0..131071", "-1"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("place", "value", "blamed", "expected", "found"), CHANGES.values(), ids=CHANGES.keys()
)
def test_value_that_does_not_fit_is_named(path, place, value, blamed, expected, found):
    write_netx(kinds_networks()[IMAGES], path)
    with h5py.File(path, "a") as f:
        if place in f:
            del f[place]
        f[place] = value
        integrity.sign(f)
    with pytest.raises(NetxError) as caught:
        read_netx(path)
    assert caught.value.dataset == blamed
    assert expected in caught.value.expected
    assert found in caught.value.found


def test_image_before_a_dense_layer_must_be_flattened(path):
    write_netx(kinds_networks()[IMAGES], path)
    with h5py.File(path, "a") as f:
        del f["layer/2"]
        for i in (2, 3, 4):
            f.move(f"layer/{i + 1}", f"layer/{i}")
        integrity.sign(f)
    with pytest.raises(NetxError, match="/layer/1/type: expected flatten before it"):
        read_netx(path)


def test_file_of_version_2_is_still_read_and_runs_as_ever():
    """Made from ``kinds_networks``; to be kept as it is."""
    x = np.arange(2 * 24 * 4).reshape(2, 24, 4) * 5 % 13
    trace = simulate(Path(__file__).parents[1] / "data" / "version-2.net", x, trace=True)
    assert trace.logits[0].tolist() == [-1271, -2023, 3222]
    assert [int(np.abs(s.astype(int)).sum()) for s in trace.spikes] == [72, 52, 301952, 24]
    assert [int(np.abs(v.astype(int)).sum()) for v in trace.v] == [
        15402065,
        222749,
        50413568,
        2567537,
    ]


def test_one_neuron_for_each_pixel_of_one_channel_comes_back(rng, tmp_path):
    part = LayerSpec(1, kernel=(1, 1))
    net = random_stack(rng, [part, LayerSpec(3)], 6, shape=(1, 2, 3))
    write_netx(net, tmp_path / "net.net")
    with h5py.File(tmp_path / "net.net") as f:
        assert f["layer/0/type"][0] == b"input"
    np.testing.assert_array_equal(
        read_netx(tmp_path / "net.net").layers[0].weight, net.layers[0].weight
    )
