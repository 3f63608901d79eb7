"""Longer runs, interrupted runs, runs that are not overwritten, and options from a file."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from celif.tests.run_command import answer, raising
from training import tasks, trainer

SMALL = ("--hidden", "6", "--batch", 400, "--dropout", 0)


def test_run_is_made_longer_by_more_epochs(tmp_path: Path, end_of: Any) -> None:
    answer("train", "--out", tmp_path, *SMALL, "--epochs", 1)
    longer = answer("train", "--out", tmp_path, "--resume", "--epochs", 3)
    assert longer["epochs"] == longer["recipe"]["epochs"] == 3
    again = answer("train", "--out", tmp_path, "--resume")
    assert again["recipe"]["epochs"] == 3
    shorter = end_of("train", "--out", tmp_path, "--resume", "--epochs", 2)
    assert shorter.code == 2
    assert "expected the same recipe as the run began with, {'epochs': 3}" in shorter.error


def test_resuming_nothing_is_refused_unless_it_is_said_what_to_train(
    tmp_path: Path, end_of: Any
) -> None:
    out = tmp_path / "nothing"
    for more in ((), SMALL, ("--data", tmp_path)):
        ending = end_of("train", "--out", out, "--resume", *more)
        assert ending.code == 2
        assert f"--resume: expected a run in {out}, with its last.safetensors, f" in ending.error
        assert not out.exists()
    begun = end_of("train", "--out", out, "--resume", "--task", "digits", *SMALL, "--epochs", 1)
    assert begun.code == 0
    assert "no checkpoint to continue from, so this is a new run" in begun.error


def test_resuming_a_run_of_an_earlier_version_says_how_to_convert_it(
    tmp_path: Path, end_of: Any
) -> None:
    (tmp_path / "last.pt").touch()
    ending = end_of("train", "--out", tmp_path, "--resume")
    assert ending.code == 2
    assert f"convert it with: celif convert {tmp_path / 'last.pt'}" in ending.error


def test_interrupted_training_says_how_to_continue(
    tmp_path: Path, end_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trainer.Trainer, "run", raising(KeyboardInterrupt()))
    ending = end_of("train", "--out", tmp_path / "run", *SMALL)
    assert ending.code == 130
    command = f"celif train --out {tmp_path / 'run'} --resume"
    assert f"continue from the last checkpoint with: {command}" in ending.error


def test_trainer_leaves_a_run_alone(tmp_path: Path) -> None:
    task, recipe = tasks.load("digits"), trainer.Recipe(epochs=1, batch=400)

    def run(**options: Any) -> trainer.Trainer[Any]:
        net = trainer.start(task, (6,), recipe)
        return trainer.Trainer(net, task, recipe, tmp_path, **options)

    first = run()
    first.run()
    first.run()  # finished: nothing to do
    before = (tmp_path / trainer.LAST).read_bytes()
    with pytest.raises(FileExistsError, match=r"call resume\(\) to continue it"):
        run().run()
    assert (tmp_path / trainer.LAST).read_bytes() == before
    again = run()
    assert again.resume()
    again.run()
    run(overwrite=True).run()


@pytest.mark.parametrize("kind", ["json", "toml"])
def test_options_come_from_a_file(kind: str, tmp_path: Path, end_of: Any) -> None:
    if kind == "toml":
        if sys.version_info < (3, 11):
            pytest.skip("TOML needs Python 3.11")
        text = '[train]\nepochs = 1\nhidden = "6"\nbatch = 400\ntied-dropout = true\n'
    else:
        options = {"epochs": 1, "hidden": "6", "batch": 400, "tied-dropout": True}
        text = json.dumps({"train": options, "export": {"weight-bits": "4"}})
    file = tmp_path / f"celif.{kind}"
    file.write_text(text)
    said = answer("--config", file, "train", "--out", tmp_path / "run")
    assert (said["epochs"], said["recipe"]["batch"]) == (1, 400)
    other = answer("--config", file, "train", "--out", tmp_path / "other", "--batch", 200)
    assert other["recipe"]["batch"] == 200, "the command line overrides the file"
    if kind == "json":
        four = answer("--config", file, "export", said["best"], "-o", tmp_path / "four.net")
        assert {layer["weight_bits"] for layer in four["layers"]} == {4}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"trian": {}}', "expected sections named after commands, found 'trian'"),
        ('{"train": {"epchs": 3}}', "expected options of celif train, found 'epchs'"),
        ('{"train": 3}', "train: expected options, found 3"),
        ("[1]", "expected sections, found list"),
        ("{", "expected TOML or JSON, found"),
    ],
    ids=["section", "option", "value", "list", "broken"],
)
def test_mistakes_in_the_file_are_named(
    text: str, message: str, tmp_path: Path, end_of: Any
) -> None:
    file = tmp_path / "celif.json"
    file.write_text(text)
    ending = end_of("--config", file, "train", "--out", tmp_path / "run")
    assert ending.code == 2
    assert message in ending.error
    missing = end_of("--config", tmp_path / "none.json", "train")
    assert "expected a TOML or JSON file, found no such file" in missing.error
