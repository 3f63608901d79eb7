"""Event data: binning, the files of SHD and SSC, and tonic's data sets."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch

from training import tasks
from training.tasks import events
from training.trainer import Recipe, Trainer, presets, start


def write(file: Path, samples: list[tuple[list[float], list[int]]], labels: list[int]) -> None:
    """Write a file of the layout of SHD and SSC."""
    with h5py.File(file, "w") as f:
        times = f.create_dataset("spikes/times", (len(samples),), h5py.vlen_dtype(np.float32))
        units = f.create_dataset("spikes/units", (len(samples),), h5py.vlen_dtype(np.uint16))
        for i, (when, where) in enumerate(samples):
            times[i], units[i] = when, where
        f.create_dataset("labels", data=np.array(labels, np.uint8))


def speech(rng: np.random.Generator, count: int) -> tuple[list[Any], list[int]]:
    """Bursts whose channels tell the class."""
    labels = rng.integers(0, 20, count).tolist()
    samples = []
    for label in labels:
        units = rng.integers(35 * label, 35 * label + 35, 60)
        samples.append((np.sort(rng.uniform(0, 1.2, 60)).tolist(), units.tolist()))
    return samples, labels


@pytest.fixture
def folder(tmp_path: Path, rng: np.random.Generator) -> Path:
    for name in ("shd_train", "shd_test", "ssc_train", "ssc_test", "ssc_valid"):
        write(tmp_path / f"{name}.h5", *speech(rng, 60 if name == "shd_train" else 30))
    return tmp_path


def test_events_are_counted_in_their_bins() -> None:
    sample = ([0.0, 0.09, 0.1, 0.35, 0.39], [0, 1, 1, 5, 4])
    x = events.binned([sample], 6, steps=4, seconds=0.4, pool=2, name="toy")
    expected = np.zeros((1, 3, 4), np.float32)
    expected[0, 0, 0], expected[0, 0, 1], expected[0, 2, 3] = 2, 1, 2
    assert np.array_equal(x, expected)


def test_events_after_the_last_step_are_left_out_and_told() -> None:
    with pytest.warns(UserWarning, match="50.0% of the events come after 0.4 s"):
        x = events.binned([([0.1, 0.4], [0, 0])], 1, steps=4, seconds=0.4, pool=1, name="toy")
    assert x.sum() == 1


@pytest.mark.parametrize(
    ("sample", "options", "message"),
    [
        (([0.1], [7]), {}, "expected channels 0..5, got 7..7"),
        (([0.1, 0.2], [1]), {}, "got 2 times and 1 channels"),
        (([-0.1], [1]), {}, "expected times from 0 up, got -0.1 s"),
        (([0.1], [1]), {"pool": 4}, "pool: expected a divisor of 6, got 4"),
        (([0.1], [1]), {"steps": 0}, "expected steps and seconds above 0"),
    ],
    ids=["channel", "length", "time", "pool", "steps"],
)
def test_wrong_events_are_named(sample: Any, options: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message.replace(".", r"\.")):
        events.binned(
            [sample], 6, **{"steps": 4, "seconds": 0.4, "pool": 2, "name": "toy", **options}
        )


def test_shd_has_its_shape_and_keeps_every_event(folder: Path) -> None:
    task = tasks.load("shd", folder)
    assert (task.channels, task.steps, task.classes) == (140, 100, 20)
    assert (len(task.train), len(task.validation), len(task.test)) == (54, 6, 30)
    assert set(task.test.x.sum((1, 2)).tolist()) == {60.0}


def test_ssc_has_its_own_validation_samples(folder: Path) -> None:
    with pytest.warns(UserWarning, match="come after 1 s and are left out"):
        task = tasks.load("ssc", folder)
    assert (len(task.train), len(task.validation), len(task.test)) == (30, 30, 30)
    assert task.classes == 35


def test_missing_file_is_named(folder: Path) -> None:
    (folder / "shd_test.h5").unlink()
    with pytest.raises(ValueError, match=r"shd_test.h5: expected the file of the data set"):
        tasks.load("shd", folder)
    with h5py.File(folder / "shd_test.h5", "w") as f:
        f["labels"] = [0]
    with pytest.raises(ValueError, match="expected spikes/times, found none"):
        tasks.load("shd", folder)
    with pytest.raises(ValueError, match="expected --data DIR with the files of shd"):
        tasks.load("shd")


def test_preset_trains_on_a_file_of_the_same_layout(folder: Path, tmp_path: Path) -> None:
    preset, task = presets.get("shd"), tasks.load("shd", folder)
    recipe = Recipe(epochs=6, batch=18, lr=preset.recipe.lr)
    torch.manual_seed(0)
    net = start(task, preset.hidden, recipe)
    run = Trainer(net, task, recipe, tmp_path / "run")
    run.run()
    assert run.history[-1]["loss"] < run.history[0]["loss"]


def test_data_set_of_tonic_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kind = np.dtype([("t", "i8"), ("x", "i8"), ("y", "i8"), ("p", "i8")])

    class Tiny:
        sensor_size = (4, 3, 2)

        def __init__(self, save_to: str, train: bool) -> None:
            self.count = 20 if train else 5

        def __len__(self) -> int:
            return self.count

        def __getitem__(self, i: int) -> tuple[np.ndarray, int]:
            return np.array([(250_000, 3, 2, 1), (750_000, 0, 0, 0)], kind), i % 2

    module = types.SimpleNamespace(datasets=types.SimpleNamespace(Tiny=Tiny))
    monkeypatch.setitem(sys.modules, "tonic", module)
    task = events.from_tonic("Tiny", tmp_path, steps=4)
    assert (task.channels, task.steps, task.classes) == (24, 4, 2)
    assert task.test.x[0].nonzero().tolist() == [[0, 3], [23, 1]]
    with pytest.raises(ValueError, match="expected a data set of tonic's, got 'None_such'"):
        events.from_tonic("None_such", tmp_path)
    monkeypatch.setitem(sys.modules, "tonic", None)
    with pytest.raises(ValueError, match="tonic-Tiny: expected tonic, found none"):
        tasks.load("tonic-Tiny", tmp_path)
