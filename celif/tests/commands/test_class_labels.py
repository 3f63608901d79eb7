"""Labels that are no classes end a command with an error, never with an accuracy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from celif.inputs.samples import load
from celif.tests.run_command import answer
from training import tasks

COUNT = 20
NOT_CLASSES = {
    "column": (lambda y: y[:, None], "shape (20, 1); write y.reshape(-1)"),
    "one-hot": (lambda y: np.eye(10, dtype=int)[y], "write y.argmax(1), as they are one-hot"),
    "texts": (lambda y: y.astype(str), "found texts of shape (20,); number the classes from 0"),
    "halves": (lambda y: y + 0.5, "found float64 of shape (20,); leave them out"),
    "floats": (lambda y: y.astype(float), "found float64 of shape (20,); write y.astype(int)"),
    "from-one": (lambda y: y + 1, "expected classes 0..9, got 1..10; number the classes from 0"),
    "negative": (lambda y: y - 1, "expected classes from 0 up, got -1; number the classes from 0"),
    "too-few": (lambda y: y[:5], "shape (5,); pass the labels of exactly these samples"),
}


@pytest.fixture(scope="module")
def digits() -> tuple[np.ndarray, np.ndarray]:
    """Samples of which every class has some, so that labels from one leave the range."""
    test = tasks.load("digits").test
    return test.x[:COUNT].numpy(), np.arange(COUNT) % 10


@pytest.mark.parametrize("wrong", NOT_CLASSES)
@pytest.mark.parametrize("command", ["simulate", "run", "verify", "compare"])
def test_labels_beside_the_samples_are_checked(
    command: str, wrong: str, digits: Any, run_folder: Path, tmp_path: Path, end_of: Any
) -> None:
    (x, y), (spoilt, message) = digits, NOT_CLASSES[wrong]
    np.savez(tmp_path / "mine.npz", x=x, y=spoilt(y))
    net = run_folder / "net.net"
    models = (net, net) if command == "compare" else (net,)
    ending = end_of(command, *models, "--input", tmp_path / "mine.npz", "--samples", 2)
    assert ending.code == 2
    said = " ".join(ending.error.split())
    assert f"--input {tmp_path / 'mine.npz'} y: expected" in said
    assert message in said
    assert "accuracy" not in ending.output


@pytest.mark.parametrize("wrong", NOT_CLASSES)
def test_labels_in_a_file_of_their_own_are_checked(
    wrong: str, digits: Any, run_folder: Path, tmp_path: Path, end_of: Any
) -> None:
    (x, y), (spoilt, message) = digits, NOT_CLASSES[wrong]
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", spoilt(y))
    files = ("--input", tmp_path / "x.npy", "--labels", tmp_path / "y.npy")
    ending = end_of("simulate", run_folder / "net.net", *files)
    assert ending.code == 2
    assert message in " ".join(ending.error.split())


@pytest.mark.parametrize("command", ["train", "evaluate"])
@pytest.mark.parametrize("wrong", ["column", "texts", "negative", "too-few"])
def test_labels_of_a_task_are_checked(
    command: str, wrong: str, digits: Any, run_folder: Path, tmp_path: Path, end_of: Any
) -> None:
    (x, y), (spoilt, message) = digits, NOT_CLASSES[wrong]
    test = {"x_test": x, "y_test": spoilt(y)} if command == "evaluate" else {}
    np.savez(tmp_path / "mine.npz", x=x, y=y if test else spoilt(y), **test)
    models = (run_folder / "run" / "last.safetensors", run_folder / "net.net")
    given = models if command == "evaluate" else ("--out", tmp_path / "run", "--epochs", 1)
    ending = end_of(command, *given, "--data", tmp_path / "mine.npz")
    assert ending.code == 2
    assert message in " ".join(ending.error.split())


def test_right_labels_give_an_accuracy(digits: Any, run_folder: Path, tmp_path: Path) -> None:
    x, y = digits
    for kind in (np.int64, np.uint8):
        np.savez(tmp_path / "mine.npz", x=x, y=y.astype(kind))
        said = answer("simulate", run_folder / "net.net", "--input", tmp_path / "mine.npz")
        assert said["accuracy"] == float((np.array(said["predictions"]) == y).mean())


@pytest.mark.parametrize("command", ["golden", "fit"])
def test_labels_that_nobody_asks_for_may_be_anything(
    command: str, digits: Any, run_folder: Path, tmp_path: Path, end_of: Any
) -> None:
    np.savez(tmp_path / "mine.npz", x=digits[0][:1], y=np.array(["a", "b"]))
    out = ("-o", tmp_path / "kit") if command == "golden" else ()
    files = ("--input", tmp_path / "mine.npz")
    assert end_of(command, run_folder / "net.net", *files, *out).code == 0


def test_values_to_be_predicted_give_no_accuracy(tmp_path: Path, capsys: Any) -> None:
    x = np.random.default_rng(0).random((30, 1, 4))
    np.savez(tmp_path / "mine.npz", x=x, y=x.mean((1, 2)))
    assert load(None, tmp_path / "mine.npz", None, None)[1] is None
    assert "mine.npz has no class for each sample" in " ".join(capsys.readouterr().err.split())
