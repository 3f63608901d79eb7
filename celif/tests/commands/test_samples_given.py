"""What the commands make of samples in a file: their kind, their number, and where they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from training import tasks


@pytest.fixture
def x() -> np.ndarray:
    return tasks.load("digits").test.x[:3].numpy()


@pytest.mark.parametrize("command", ["simulate", "run", "verify", "compare"])
@pytest.mark.parametrize("kind", [np.int64, np.uint8, bool, np.float32])
def test_integers_are_noted_to_be_graded_spikes(
    command: str, kind: Any, x: np.ndarray, run_folder: Path, tmp_path: Path, end_of: Any
) -> None:
    np.save(tmp_path / "x.npy", np.rint(x * 16).astype(kind))
    net = run_folder / "net.net"
    models = (net, net) if command == "compare" else (net,)
    ending = end_of(command, *models, "--input", tmp_path / "x.npy", "--samples", 1)
    said = " ".join(ending.error.split())
    noted = f"{net} takes {np.dtype(kind)} samples as graded spikes, as they are; to have them"
    assert said.count(noted) == (kind is not np.float32)


@pytest.mark.parametrize("option", ["--input", "--data"])
def test_no_samples_are_refused_in_one_line(
    option: str, x: np.ndarray, run_folder: Path, tmp_path: Path, end_of: Any
) -> None:
    np.savez(tmp_path / "mine.npz", x=x[:0], y=np.arange(0))
    ending = end_of("simulate", run_folder / "net.net", option, tmp_path / "mine.npz")
    assert ending.code == 2
    said = " ".join(ending.error.split())
    assert said.startswith(f"celif: {option} {tmp_path / 'mine.npz'}: expected x of numbers")
    assert "found none, in shape (0, 1, 64); give it at least one sample" in said


@pytest.mark.parametrize("ending", [".npz", ".npy"])
def test_a_folder_is_called_a_folder(
    ending: str, run_folder: Path, tmp_path: Path, end_of: Any
) -> None:
    (tmp_path / f"mine{ending}").mkdir()
    refused = end_of("simulate", run_folder / "net.net", "--input", tmp_path / f"mine{ending}")
    assert refused.code == 2
    assert "found a folder" in " ".join(refused.error.split())


def test_complex_samples_are_refused_with_a_remedy_that_keeps_them(
    x: np.ndarray, run_folder: Path, tmp_path: Path, end_of: Any
) -> None:
    np.save(tmp_path / "x.npy", x + 1j)
    refused = end_of("simulate", run_folder / "net.net", "--input", tmp_path / "x.npy")
    assert refused.code == 2
    said = " ".join(refused.error.split())
    assert "found values of type complex64; store real and imaginary parts as channels" in said
