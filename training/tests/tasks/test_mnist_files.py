"""MNIST's files: read as they are, checked, and fetched only when asked."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import numpy as np
import pytest
import torch

from training import Network, tasks
from training.tasks import mnist_files
from training.trainer.loop import Recipe, start


def idx_bytes(values: np.ndarray) -> bytes:
    sizes = np.array(values.shape, ">u4").tobytes()
    return bytes((0, 0, 8, values.ndim)) + sizes + values.tobytes()


@pytest.fixture
def files(rng: np.random.Generator) -> dict[str, bytes]:
    """Six images for training, of which two are for validation, and three for testing."""
    content = {}
    for part, count in (("train", 6), ("t10k", 3)):
        images = rng.integers(0, 256, (count, 28, 28)).astype(np.uint8)
        content[f"{part}-images-idx3-ubyte"] = idx_bytes(images)
        content[f"{part}-labels-idx1-ubyte"] = idx_bytes(np.arange(count).astype(np.uint8))
    return content


@pytest.fixture
def data(files: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(mnist_files, "VALIDATION", 2)
    folder = tmp_path / "MNIST" / "raw"
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return tmp_path


def test_images_are_read_pixel_by_pixel(data, files):
    task = tasks.load("seq-mnist", data)
    assert [len(s.y) for s in (task.train, task.validation, task.test)] == [4, 2, 3]
    assert (task.channels, task.steps, task.image) == (1, 784, (28, 28))
    pixels = np.frombuffer(files["train-images-idx3-ubyte"], np.uint8, offset=16)
    assert torch.equal(
        (task.train.x * 255).round().flatten(), torch.tensor(pixels[: 4 * 784]).float()
    )
    assert task.validation.y.tolist() == [4, 5]


def test_compressed_files_are_read_as_well(data, files):
    plain = tasks.load("seq-mnist", data).test.x
    name = "t10k-images-idx3-ubyte"
    (data / "MNIST" / "raw" / name).unlink()
    (data / "MNIST" / "raw" / f"{name}.gz").write_bytes(gzip.compress(files[name]))
    assert torch.equal(tasks.load("seq-mnist", data).test.x, plain)


def test_permutation_is_seeded_and_kept_with_the_network(data):
    task = tasks.load("ps-mnist", data)
    assert task.permutation == tasks.mnist(data, permuted=True).permutation
    assert task.permutation != tasks.mnist(data, permuted=True, seed=1).permutation
    # Pinned, because shipped networks were trained in this order.
    assert task.permutation[:5] == (732, 223, 118, 374, 466)
    net = start(task, (4,), Recipe())
    assert tuple(Network(**net.config).config["permutation"]) == task.permutation


@pytest.mark.parametrize("whole", [False, True], ids=["cut", "damaged"])
def test_damaged_compressed_file_is_refused(data, files, whole):
    name = "train-labels-idx1-ubyte"
    packed = bytearray(gzip.compress(files[name]))
    packed[-12] ^= 0xFF  # in the compressed data, before the sum and the length
    (data / "MNIST" / "raw" / name).unlink()
    (data / "MNIST" / "raw" / f"{name}.gz").write_bytes(packed if whole else packed[:-9])
    with pytest.raises(ValueError, match=rf"{name}.gz: expected an idx file .* half a file"):
        tasks.load("seq-mnist", data)


@pytest.mark.parametrize("damage", ["cut", "other-axes", "empty"])
def test_damaged_file_is_refused(data, files, damage):
    name = "train-labels-idx1-ubyte"
    content = files[name]
    broken = {"cut": content[:-1], "other-axes": b"\0\0\x08\x03" + content[4:], "empty": b""}
    (data / "MNIST" / "raw" / name).write_bytes(broken[damage])
    with pytest.raises(
        ValueError, match=rf"{name}: expected an idx file of 1 axes of bytes, found"
    ):
        tasks.load("seq-mnist", data)


@pytest.fixture
def mirror(files, tmp_path, monkeypatch) -> Path:
    folder = tmp_path / "mirror"
    folder.mkdir()
    sums = {}
    for name, content in files.items():
        packed = gzip.compress(content, mtime=0)
        (folder / f"{name}.gz").write_bytes(packed)
        sums[name] = hashlib.md5(packed, usedforsecurity=False).hexdigest()
    monkeypatch.setattr(mnist_files, "MIRROR", folder.as_uri())
    monkeypatch.setattr(mnist_files, "FILES", sums)
    monkeypatch.setattr(mnist_files, "VALIDATION", 2)
    return folder


def test_download_fetches_what_is_missing(mirror, tmp_path):
    tasks.download(tmp_path / "data")
    assert len(tasks.load("seq-mnist", tmp_path / "data").train) == 4
    for path in mirror.iterdir():
        path.unlink()
    tasks.download(tmp_path / "data")  # nothing is missing, so nothing is fetched


def test_download_of_something_else_is_refused(mirror, tmp_path):
    (mirror / "train-labels-idx1-ubyte.gz").write_bytes(b"something else")
    with pytest.raises(OSError, match=r"labels-idx1-ubyte.gz: expected the MD5 sum .* try again"):
        tasks.download(tmp_path / "data")
    assert not (tmp_path / "data/MNIST/raw/train-labels-idx1-ubyte").exists()
