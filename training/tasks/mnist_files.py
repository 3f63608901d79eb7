"""MNIST, one pixel a step, from the original files in torchvision's layout."""

from __future__ import annotations

import gzip
import hashlib
import urllib.request
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from training.support.atomic import atomic_file
from training.tasks.own_data import split
from training.tasks.task import Split, Task

MIRROR = "https://ossci-datasets.s3.amazonaws.com/mnist"
FILES = {
    "train-images-idx3-ubyte": "f68b3c2dcbeaaa9fbdd348bbdeb94873",
    "train-labels-idx1-ubyte": "d53e105ee54ea40749a09fcbcd1e9432",
    "t10k-images-idx3-ubyte": "9fb629c4189551a2d022fa330f9573f3",
    "t10k-labels-idx1-ubyte": "ec29112dd5afa0611ce80d1b7f02629c",
}
"""MD5 sums of the compressed files, as torchvision has them: against damage, not against malice."""

SIDE, VALIDATION, PERMUTATION_SEED = 28, 5_000, 784


def mnist(data: str | Path, permuted: bool, seed: int = PERMUTATION_SEED) -> Task:
    """MNIST, one pixel a step: T = 784; ``permuted`` by one fixed order of the pixels (PS-MNIST).

    ``data`` is torchvision's folder; ``seed`` makes the order, which a network keeps with it. The
    last 5,000 training images are for validation.
    """
    train, test = (
        (_idx(data, f"{part}-images-idx3-ubyte", 3), _idx(data, f"{part}-labels-idx1-ubyte", 1))
        for part in ("train", "t10k")
    )

    def pixels(images: np.ndarray, labels: np.ndarray, part: slice) -> Split:
        x = images[part].reshape(-1, 1, SIDE * SIDE) / np.float32(255)
        return split(x, labels[part].astype(np.int64), name="MNIST")

    order = tuple(np.random.default_rng(seed).permutation(SIDE * SIDE).tolist())
    return Task(
        "ps-mnist" if permuted else "seq-mnist",
        pixels(*train, slice(0, -VALIDATION)),
        pixels(*train, slice(-VALIDATION, None)),
        pixels(*test, slice(None)),
        classes=10,
        permutation=order if permuted else None,
        image=(SIDE, SIDE),
        encoding=f"{SIDE} × {SIDE}, a pixel a step" + (", permuted" if permuted else ""),
    )


def _bytes(path: Path, opened: Callable[..., Any]) -> bytes:
    """Content of a file; nothing if it is packed and broken."""
    with opened(path, "rb") as f:
        try:
            content: bytes = f.read()
            return content
        except (EOFError, zlib.error, gzip.BadGzipFile):
            return b""


def _idx(data: str | Path, name: str, axes: int) -> np.ndarray:
    """Bytes of an idx file: two zeros, the type 8, the number of axes, the sizes, the values."""
    folder = Path(data, "MNIST", "raw")
    for path, opened in ((folder / name, open), (folder / f"{name}.gz", gzip.open)):
        if path.is_file():
            content = _bytes(path, opened)
            break
    else:
        raise FileNotFoundError(
            f"{data}: expected MNIST in torchvision's layout, {folder}/{name}, found none; nothing "
            "is downloaded unasked: add --download, or call tasks.download(folder)"
        )
    header = 4 + 4 * axes
    sizes = np.frombuffer(content[4:header], ">u4") if len(content) >= header else np.zeros(1)
    if content[:4] != bytes((0, 0, 8, axes)) or int(np.prod(sizes)) != len(content) - header:
        raise ValueError(
            f"{path}: expected an idx file of {axes} axes of bytes, found another or half a file; "
            "remove it and download it again"
        )
    return np.frombuffer(content, np.uint8, offset=header).reshape([int(n) for n in sizes])


def download(data: str | Path) -> None:
    """Fetch what is missing of MNIST, 11 MB, into ``data`` in torchvision's layout."""
    folder = Path(data, "MNIST", "raw")
    folder.mkdir(parents=True, exist_ok=True)
    for name, expected in FILES.items():
        if (folder / name).is_file():
            continue
        url = f"{MIRROR}/{name}.gz"
        with urllib.request.urlopen(url, timeout=60) as answer:
            packed = answer.read()
        found = hashlib.md5(packed, usedforsecurity=False).hexdigest()
        if found != expected:
            raise OSError(f"{url}: expected the MD5 sum {expected}, got {found}; try again later")
        with atomic_file(folder / name) as draft:
            draft.write_bytes(gzip.decompress(packed))
