"""The file: what goes in comes out, byte for byte the same, whole or not at all."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import given

import export
from export import read_netx, write_netx
from export.netx import write as netx
from export.tests.strategies import (
    assert_same,
    hypothesis_settings,
    networks,
    rich_network,
    rich_networks,
)
from hw_tests.networks.random_nets import random_network


@hypothesis_settings
@given(network=networks())
def test_network_comes_back_as_it_was_written(network, tmp_path):
    write_netx(network, tmp_path / "net.net")
    found = read_netx(tmp_path / "net.net")
    assert_same(found, network)
    assert found.path == str(tmp_path / "net.net")


@hypothesis_settings
@given(network=networks())
def test_bytes_depend_on_the_network_alone(network, tmp_path):
    a, b, c = (tmp_path / name for name in ("a.net", "b.net", "c.net"))
    shuffled = dict(reversed(network.digests.items()))
    write_netx(network, a)
    write_netx(replace(network, digests=shuffled), b)
    write_netx(read_netx(a), c)
    assert a.read_bytes() == b.read_bytes() == c.read_bytes()


def test_bytes_do_not_depend_on_the_time(rng, tmp_path):
    network = random_network(rng, (3, 2), 5)
    write_netx(network, tmp_path / "a.net")
    time.sleep(1.1)  # HDF5's timestamps count seconds
    write_netx(network, tmp_path / "b.net")
    assert (tmp_path / "a.net").read_bytes() == (tmp_path / "b.net").read_bytes()


def address(f: h5py.File, name: str) -> int:
    return h5py.h5o.get_info(f[name].id).addr


def test_table_is_stored_once_and_linked(rng, tmp_path):
    write_netx(random_network(rng, (4, 7, 5), 9), tmp_path / "net.net")
    with h5py.File(tmp_path / "net.net") as f:
        assert list(f["te"]) == ["0"]
        assert f["te/0"].shape == (7, 9), "the widest layer's"
        assert f["te/0"].dtype == np.int8
        for i in range(3):
            link = f.get(f"layer/{i}/neuron/te", getlink=True)
            assert isinstance(link, h5py.HardLink)
            assert address(f, f"layer/{i}/neuron/te") == address(f, "te/0")
    layers = read_netx(tmp_path / "net.net").layers
    assert all(np.shares_memory(layer.te, layers[1].te) for layer in layers)


def test_different_tables_have_different_homes(rng, tmp_path):
    network = random_network(rng, (4, 4), 9, te_bits=16)
    first, second = network.layers
    network = replace(network, layers=(first, replace(second, te=second.te[::-1].copy())))
    write_netx(network, tmp_path / "net.net")
    with h5py.File(tmp_path / "net.net") as f:
        assert list(f["te"]) == ["0", "1"]
        assert f["te/0"].dtype == np.int16
    assert_same(read_netx(tmp_path / "net.net"), network)


@pytest.mark.parametrize("existed", [False, True], ids=["new", "replaced"])
def test_failed_write_leaves_the_old_file_and_no_debris(rng, tmp_path, monkeypatch, existed):
    path, network = tmp_path / "net.net", random_network(rng, (3, 2), 5)
    if existed:
        write_netx(network, path)
    before = [file.read_bytes() for file in tmp_path.iterdir()]
    write = netx.write_layer

    def torn(group, layer, store):
        write(group, layer, store)
        if group.name.endswith("1"):
            raise OSError("disk full")

    monkeypatch.setattr(netx, "write_layer", torn)
    with pytest.raises(OSError, match="disk full"):
        write_netx(network, path)
    assert [file.read_bytes() for file in tmp_path.iterdir()] == before


def test_file_stays_a_netx_file(rng, tmp_path):
    """What stock lava-dl reads of any layer is where it looks for it."""
    network = random_network(rng, (3,), 5)
    write_netx(network, tmp_path / "net.net")
    with h5py.File(tmp_path / "net.net") as f:
        assert list(f["layer"]) == ["0", "1"]
        for i, layer in enumerate(network.all_layers):
            group = f[f"layer/{i}"]
            assert group["type"][0] == b"dense"
            assert group["shape"][()].tolist() == [layer.neurons]
            assert group["weight"].shape == (layer.neurons, layer.inputs)
            assert group["neuron/type"][()].decode() == layer.kind


def datasets(path: Path) -> list[str]:
    """Names of all datasets in a file, hard links included."""
    found: list[str] = []

    def look(name: str, group: h5py.Group) -> None:
        for key, item in group.items():
            if isinstance(item, h5py.Group):
                look(f"{name}/{key}", item)
            else:
                found.append(f"{name}/{key}")

    with h5py.File(path) as f:
        look("", f)
    return found


def rich_datasets(path: Path) -> list[str]:
    """Names of all datasets that any file has."""
    found = []
    for network in rich_networks():
        write_netx(network, path)
        found += datasets(path)
    return found


def test_every_dataset_is_specified(tmp_path):
    """By its path, with layers, tables and tensors as <i>, <n> and <name>."""
    text = (Path(export.__file__).parent / "FORMAT.md").read_text()
    for name in rich_datasets(tmp_path / "net.net"):
        place = re.sub(r"^/layer/\d+", "/layer/<i>", name)
        place = re.sub(r"^/te/\d+", "/te/<n>", place)
        place = re.sub(r"^/celif/source/.*", "/celif/source/<name>", place)
        assert f"| `{place}` |" in text, name


def test_every_specified_dataset_is_written(tmp_path):
    text = (Path(export.__file__).parent / "FORMAT.md").read_text()
    written = "\n".join(rich_datasets(tmp_path / "net.net"))
    for place in re.findall(r"^\| `(/.*?)` \|", text, re.MULTILINE):
        assert re.search(re.sub(r"<\w+>", ".+", place), written), place


def test_file_of_version_1_is_still_read():
    """Made from ``rich_network`` when version 1 was the newest; to be kept as it is."""
    assert_same(read_netx(Path(__file__).parents[1] / "data" / "version-1.net"), rich_network())
