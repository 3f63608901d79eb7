"""A user's own data: a task in a line, and errors that say what is wrong with it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.utils.data import TensorDataset

from training import tasks
from training.trainer.loop import Recipe, Trainer, start


def test_arrays_become_a_task(rng):
    x, y = rng.random((50, 3, 7)), np.arange(50) % 4
    task = tasks.from_arrays("mine", x, y, held_out=0.2)
    assert (task.channels, task.steps, task.classes) == (3, 7, 4)
    assert [len(part.y) for part in (task.train, task.validation, task.test)] == [30, 10, 10]
    seen = torch.cat([part.x for part in (task.train, task.validation, task.test)])
    assert torch.equal(seen.sort(0).values, torch.from_numpy(x).float().sort(0).values)
    again, other = (tasks.from_arrays("mine", x, y, held_out=0.2, seed=s) for s in (0, 1))
    assert torch.equal(task.test.x, again.test.x)
    assert not torch.equal(task.test.x, other.test.x)


def test_given_test_samples_are_kept_apart(rng):
    x, y = rng.random((20, 1, 5)), np.arange(20) % 2
    task = tasks.from_arrays("mine", x, y, test=(x[:3] + 1, y[:3]))
    assert torch.equal(task.test.x, torch.from_numpy(x[:3] + 1).float())
    assert len(task.train) + len(task.validation) == 20


def test_dataset_becomes_the_task_of_its_arrays(rng):
    x, y = torch.from_numpy(rng.random((20, 2, 5))), torch.arange(20) % 3
    ours = tasks.from_dataset("mine", TensorDataset(x, y), test=TensorDataset(x, y))
    theirs = tasks.from_arrays("mine", x, y, test=(x, y))
    for name in ("train", "validation", "test"):
        assert torch.equal(getattr(ours, name).x, getattr(theirs, name).x)
        assert torch.equal(getattr(ours, name).y, getattr(theirs, name).y)


def test_numbers_are_learnt_by_their_error(rng, tmp_path):
    x = rng.random((60, 1, 6))
    task = tasks.from_arrays("means", x, x.mean((1, 2)), objective=tasks.VALUE)
    recipe = Recipe(epochs=2, batch=16)
    run = Trainer(start(task, (8,), recipe), task, recipe, tmp_path)
    run.run()
    assert task.classes == 1
    assert run.history[-1]["mse"] < run.history[0]["mse"]


def test_memory_mapped_samples_are_read_as_they_are_drawn(rng, tmp_path):
    np.save(tmp_path / "x.npy", rng.random((12, 1, 4)).astype(np.float32))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r+")
    split = tasks.Split(torch.from_numpy(mapped), torch.arange(12))
    x, y = split.draw(0, 0, 1, 5)
    assert torch.equal(x, torch.from_numpy(np.array(mapped))[y])


X, Y = np.zeros((6, 1, 4)), np.arange(6)
BAD = {
    "no-channel": (
        X[:, 0],
        Y,
        {},
        r"mine x: expected \(sample, channel, time\), got shape \(6, 4\)",
    ),
    "lengths": (X, Y[:5], {}, r"mine y: expected a class .* for each of 6 samples, .* \(5,\)"),
    "values": (
        X,
        Y[:5] / 2,
        {"objective": tasks.VALUE},
        r"mine: expected a target for each sample, got 6 samples and targets of shape \(5,\)",
    ),
    "no-value": (X, Y * np.nan, {"objective": tasks.VALUE}, r"mine y: .*float32, got NaN or inf"),
    "texts-as-values": (X, np.full(6, "a"), {"objective": tasks.VALUE}, r"mine y: .* numbers, got"),
    "empty": (X[:0], Y[:0], {}, r"mine x: expected at least one sample, got shape \(0, 1, 4\)"),
    "complex": (X + 1j, Y, {}, r"mine x: expected real numbers, got complex128"),
    "complex-tensor": (torch.zeros(6, 1, 4) + 1j, Y, {}, r"mine x: .* real numbers, got .*complex"),
    "one-column": (X, Y[:, None], {}, r"mine y: .* shape \(6, 1\); write y\.reshape\(-1\)"),
    "one-column-test": (
        X,
        Y,
        {"test": (X, Y[:, None])},
        r"mine test y: .* shape \(6, 1\); write y\.reshape\(-1\)",
    ),
    "nan": (X * np.nan, Y, {}, r"mine x: expected numbers of float32, got NaN or infinity"),
    "too-large": (X + 1e300, Y, {}, r"mine x: expected numbers of float32, got .* scale the data"),
    "negative-class": (X, Y - 1, {}, r"mine y: expected classes from 0 up, got -1"),
    "few-classes": (X, Y, {"classes": 5}, r"mine y: expected classes below 5, got 5; pass"),
    "other-test": (
        X,
        Y,
        {"test": (np.zeros((2, 3, 4)), Y[:2])},
        r"mine test x: expected \(channel, time\) as in training, \(1, 4\), got \(3, 4\)",
    ),
    "test-class": (X, Y, {"test": (X, Y + 1)}, r"mine y: expected classes below 6, got 6"),
    "float-classes": (
        X,
        Y / 2,
        {},
        r"mine y: expected a class as an integer .* objective=tasks.VALUE",
    ),
    "all-held-out": (X, Y, {"held_out": 0.5}, r"mine: expected held_out to leave samples"),
}


@pytest.mark.parametrize(("x", "y", "options", "message"), BAD.values(), ids=BAD.keys())
def test_bad_data_is_refused(x, y, options, message):
    with pytest.raises(ValueError, match=message):
        tasks.from_arrays("mine", x, y, **options)


def test_samples_of_several_shapes_are_refused():
    items = [(np.zeros((1, n)), 0) for n in (3, 4)]
    with pytest.raises(ValueError, match=r"mine: expected samples of one shape .*\(1, 3\), \(1, 4"):
        tasks.from_dataset("mine", items)
