"""Files that are broken as a whole: cut short, of another kind, with layers missing."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch

from export import NetxError, read_netx, write_netx
from export.netx import integrity
from export.tests.netx.test_hostile_files import put, refusal
from export.tests.strategies import assert_same, rich_network
from training import Network
from training import checkpoint as celif_checkpoint


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A sound file with every dataset that there is."""
    path = tmp_path / "net.net"
    write_netx(rich_network(), path)
    return path


def test_truncated_file_is_refused(path):
    path.write_bytes(path.read_bytes()[:-100])
    error = refusal(path)
    assert error.dataset == "/"
    assert error.found.startswith("a file that is damaged or cut off, unreadable as HDF5")
    assert error.remedy == "copy it again, or export the network again with to_netx"


def archive(path: Path) -> None:
    with path.open("wb") as file:
        np.savez(file, x=np.zeros(3))


def array(path: Path) -> None:
    with path.open("wb") as file:
        np.save(file, np.zeros(3))


def checkpoint(path: Path) -> None:
    celif_checkpoint.save(path, Network(2, (4,), 2, 5))


OTHERS = {
    "text": (lambda path: path.write_text("not HDF5 at all"), "another kind", "export one with to"),
    "checkpoint": (checkpoint, r"a checkpoint \(safetensors\)", "export it with celif export"),
    "page": (lambda path: path.write_text("\n<!DOCTYPE html>"), "a web page", "download it again"),
    "npz": (archive, r"a zip archive \(such as \.npz", "export a checkpoint with celif export"),
    "torch": (lambda path: torch.save({}, path), "torch.save writes", "checkpoint with celif exp"),
    "npy": (array, "a numpy array", "samples as the input"),
    "gzip": (lambda path: path.write_bytes(gzip.compress(b"x")), "a gzip archive", "unpack it"),
    "empty": (lambda path: path.write_bytes(b""), "an empty file", "copy it again, or export the"),
}
"""What writes a file of each kind, what it is said to be, and what to do about it."""


@pytest.mark.parametrize(("write", "found", "remedy"), OTHERS.values(), ids=OTHERS)
def test_other_kind_of_file_is_named_with_its_remedy(write, found, remedy, path):
    write(path)
    error = refusal(path)
    assert re.search(rf"{found}.*, unreadable as HDF5", error.found)
    assert remedy in error.remedy


def test_missing_file_is_refused(tmp_path):
    assert "no such file; export one with to_netx" in refusal(tmp_path / "none.net").found


def test_stock_file_is_told_what_it_is(path):
    with h5py.File(path, "a") as f:
        del f["celif"]
    error = refusal(path)
    assert error.dataset == "/celif"
    assert "only to_netx can write" in error.found
    with h5py.File(path, "a") as f:
        for i in range(len(f["layer"])):
            del f[f"layer/{i}/neuron/type"]
            f[f"layer/{i}/neuron/type"] = np.bytes_("CUBA")
    assert "stock netx file; load it with lava_procs.Network" in refusal(path).found


def test_file_without_layers_is_refused(path):
    with h5py.File(path, "a") as f:
        del f["layer"]
        f.create_group("layer")
        integrity.sign(f)
    assert refusal(path).dataset == "/layer"


def test_gap_in_the_layers_is_named(path):
    with h5py.File(path, "a") as f:
        f.move("layer/2", "layer/3")
        integrity.sign(f)
    assert refusal(path).dataset == "/layer/2/type"


def test_readout_before_the_last_layer_is_named(path):
    with h5py.File(path, "a") as f:
        f.copy("layer/2", "layer/3")
        integrity.sign(f)
    error = refusal(path)
    assert (error.dataset, error.expected) == ("/layer/2/neuron/type", "a readout only last")


def test_refused_file_is_closed(path):
    put(path, "/celif/steps", None)
    with pytest.raises(NetxError) as caught:
        read_netx(path)
    with h5py.File(path, "a") as f:  # fails while anyone holds it open for reading
        f["celif/steps"] = 4
        integrity.sign(f)
    assert caught.value.dataset == "/celif/steps"  # the traceback, and all in it, is alive
    read_netx(path)


def test_flipped_bytes_give_our_error_or_the_same_network(path, rng):
    """No damage goes unnoticed: what is read in spite of it is what was written."""
    sound, refused, original = path.read_bytes(), 0, read_netx(path)
    for _ in range(150):
        damaged = np.frombuffer(sound, np.uint8).copy()
        places = rng.integers(0, len(damaged), int(rng.integers(1, 4)))
        damaged[places] ^= rng.integers(1, 256, len(places), np.uint8)
        path.write_bytes(damaged.tobytes())
        try:
            found = read_netx(path)
        except NetxError:
            refused += 1
        else:
            assert_same(found, original)
    assert 30 < refused < 150


def test_dataset_in_the_place_of_the_sources_is_named(path):
    with h5py.File(path, "a") as f:
        del f["celif/source"]
        f["celif/source"] = 1
        integrity.sign(f)
    error = refusal(path)
    assert (error.dataset, error.expected, error.found) == ("/celif/source", "a group", "a dataset")
