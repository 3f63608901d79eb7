"""A run's folder: rewritten whole, cleared of what a killed writer left, and a TensorBoard."""

from __future__ import annotations

import json
import re
import sys
import types
from pathlib import Path

import pytest

from training.support.atomic import remove_drafts
from training.tests.kernels.bursts import RECIPE, bursts, train
from training.trainer.run_folder import RunFolder, TensorBoard


def test_drafts_of_a_killed_writer_are_removed_and_nothing_else(tmp_path):
    kept = (
        ".last.safetensors",
        "last.safetensors",
        ".last.safetensors.notadraft",
        ".last.safetensors.0123456",
        ".best.safetensors.01234567",
    )
    for name in (*kept, ".last.safetensors.01234567", ".last.safetensors.89abcdef"):
        (tmp_path / name).touch()
    remove_drafts(tmp_path / "last.safetensors")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(kept)


def test_resumed_run_keeps_its_first_words(tmp_path):
    folder = RunFolder(tmp_path / "new")
    folder.begin({"task": "first"}, resumed=False)
    folder.begin({"task": "second"}, resumed=True)
    assert json.loads((folder.path / "config.json").read_text())["task"] == "first"
    folder.begin({"task": "third"}, resumed=False)
    assert json.loads((folder.path / "config.json").read_text())["task"] == "third"


def test_path_that_can_be_no_folder_is_refused_with_what_is_there(tmp_path):
    (tmp_path / "data.npz").touch()
    for path, found in (
        (tmp_path / "data.npz", "found a file; choose"),
        (tmp_path / "data.npz" / "run", f"found the file {tmp_path / 'data.npz'} in its way"),
    ):
        with pytest.raises(
            OSError, match=re.escape(f"{path}: expected a folder for the run, {found}")
        ):
            RunFolder(path)


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs Linux's /proc")
def test_folder_that_takes_no_run_is_named():
    with pytest.raises(OSError, match=r"/proc/runs: expected a folder .* that /proc takes none"):
        RunFolder("/proc/runs")


class Writer:
    """Stands for TensorBoard's."""

    def __init__(self, folder: str, purge_step: int) -> None:
        self.folder, self.purge_step, self.seen = folder, purge_step, []
        WRITERS.append(self)

    def add_scalar(self, tag: str, value: float, step: int) -> None:
        self.seen.append((tag, value, step))

    def flush(self) -> None:
        pass


WRITERS: list[Writer] = []


def test_tensorboard_gets_every_epoch(tmp_path, monkeypatch):
    module = types.ModuleType("torch.utils.tensorboard")
    module.SummaryWriter = Writer
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", module)
    WRITERS.clear()
    run = train(bursts(), tmp_path, RECIPE, tensorboard=True)
    (writer,) = WRITERS
    assert writer.purge_step == 1, "what an interrupted run wrote of this epoch is dropped"
    losses = [(value, step) for tag, value, step in writer.seen if tag == "loss"]
    assert losses == [(epoch["loss"], i) for i, epoch in enumerate(run.history, 1)]
    assert ("rates/1", run.history[2]["rates"][1], 3) in writer.seen


def test_missing_tensorboard_is_a_warning(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.warns(UserWarning, match="found none; metrics.csv has the same numbers"):
        board = TensorBoard(tmp_path, 0)
    board.add({"loss": 1.0}, 1)
    assert not list(tmp_path.iterdir())
