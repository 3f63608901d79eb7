"""Write the kit: documents, cases, and a manifest with the SHA-256 of every file."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from export import FixedNetwork, write_netx
from hw_tests.golden import documents
from hw_tests.golden.case import KitCase
from hw_tests.golden.kit_cases import unit_cases
from hw_tests.golden.vectors import (
    csv_text,
    flat_csv,
    npy_bytes,
    npz_bytes,
    parameters_text,
    vectors,
)
from training.support.atomic import atomic_folder
from training.support.plain_files import read_json

FORMAT = 1
MANIFEST = "manifest.json"
MANIFEST_BYTES_MAX = 1 << 22
NETWORK = "network"
"""The case of the given network."""


def random_input(net: FixedNetwork, samples: int) -> np.ndarray:
    """Graded spikes over the whole range, the same at every call, in place of samples."""
    low, high = net.encoding.range
    shape = (samples, net.encoding.channels, net.steps)
    return np.random.default_rng(0).integers(low, high + 1, shape)


def _write_case(case: KitCase, folder: Path) -> dict[str, Any]:
    folder.mkdir(parents=True)
    arrays = vectors(case.net, case.x)
    write_netx(case.net, folder / "net.net")
    (folder / "parameters.json").write_text(parameters_text(case.net), encoding="utf-8")
    (folder / "input.npy").write_bytes(npy_bytes(arrays["input"]))
    for name, columns in (("input", ("sample", "channel", "k")), ("logits", ("sample", "class"))):
        (folder / f"{name}.csv").write_text(flat_csv(arrays[name], columns), encoding="utf-8")
    (folder / "trace.npz").write_bytes(npz_bytes(arrays))
    (folder / "trace.csv").write_text(csv_text(case.net, arrays), encoding="utf-8")
    samples, _, steps = arrays["input"].shape
    return {
        "name": case.name,
        "about": case.about,
        "samples": samples,
        "steps": steps,
        "layers": [layer.kind for layer in case.net.all_layers],
    }


def trace_of(case: str) -> str:
    """Where the vectors of a case are within the kit."""
    return f"cases/{case}/trace.npz"


def digest(file: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _fill(folder: Path, cases: list[KitCase]) -> dict[str, Any]:
    """Write everything but the manifest; return the manifest."""
    net = cases[-1].net
    (folder / "SPECIFICATION.md").write_text(documents.specification(net), encoding="utf-8")
    (folder / "LISTING.md").write_text(documents.listings(net), encoding="utf-8")
    (folder / "README.md").write_text(documents.readme(cases), encoding="utf-8")
    about = [_write_case(case, folder / "cases" / case.name) for case in cases]
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {
        "format": FORMAT,
        "cases": about,
        "sha256": {path.relative_to(folder).as_posix(): digest(path) for path in files},
    }


def _own_files(folder: Path) -> set[Path]:
    """What an earlier kit wrote into a folder, folders and manifest included; nothing if none."""
    try:
        manifest = read_json(folder / MANIFEST, MANIFEST_BYTES_MAX)
        files = [folder / MANIFEST, *(folder / str(name) for name in manifest["sha256"])]
    except (OSError, ValueError, KeyError, TypeError):
        return set()
    return {path for file in files for path in (file, *file.parents)}


def write_kit(net: FixedNetwork, x: np.ndarray, folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Write the bring-up kit of a network and return its manifest.

    Parameters
    ----------
    net
        The network in integers.
    x
        Samples (batch, channel, time) of which it gives golden vectors.
    folder
        What to create; a kit that is there already is replaced, anything else is left alone.
    """
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise FileExistsError(f"{target}: expected a folder to write, found a file; choose another")
    if target.exists() and not set(target.rglob("*")) <= _own_files(target):
        raise FileExistsError(f"{target}: holds something else than a kit; choose another folder")
    if not target.absolute().parent.is_dir():
        raise FileNotFoundError(f"{target}: the folder above it does not exist; create it")
    given = KitCase(NETWORK, "The given network.", net, net.encode(x))
    with atomic_folder(target) as draft:
        manifest = _fill(draft, [*unit_cases(), given])
        (draft / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    return manifest
