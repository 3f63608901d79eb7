"""celif train in its variants, celif evaluate on several files, celif card."""

from __future__ import annotations

import importlib.util
import inspect
import json
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import torch

from celif.commands.train import train
from celif.tests.run_command import answer, run_celif
from export import quantize
from training import checkpoint, tasks, trainer
from training.support import tensor_file
from training.tasks import mnist_files
from training.trainer import presets

SMALL = ("--epochs", 1, "--hidden", "6")


def test_every_part_of_a_recipe_has_an_option(tmp_path: Path) -> None:
    options = inspect.signature(train).parameters
    assert {field.name for field in fields(trainer.Recipe)} <= set(options)
    given = {"te_lr": 0.5, "warmup": 0.25, "weight_decay": 0.02}
    words = [
        word for name, value in given.items() for word in (f"--{name.replace('_', '-')}", value)
    ]
    recipe = answer("train", "--out", tmp_path, *SMALL, *words)["recipe"]
    assert {name: recipe[name] for name in given} == given


def test_resumed_run_keeps_its_own_options(tmp_path: Path, end_of: Any) -> None:
    options = ("--batch", 200, "--schedule", "step", "--average", 0.9, "--dropout", 0.3)
    whole = answer("train", "--out", tmp_path, *SMALL, *options, "--augment", "shift")
    again = answer("train", "--out", tmp_path, "--resume")
    assert again == whole
    assert whole["recipe"]["augment"] == "shift"
    assert checkpoint.load(tmp_path / "last.safetensors").config.dropout == 0.3
    other = end_of("train", "--out", tmp_path, "--resume", "--lr", 0.1)
    assert other.code == 2
    assert "expected the same recipe as the run began with, {'lr': 0.005}, got {'lr': 0.1}" in (
        other.error
    )


def test_run_starts_from_the_weights_of_another(tmp_path: Path, end_of: Any) -> None:
    answer("train", "--out", tmp_path / "first", *SMALL, "--dropout", 0.3, "--batch", 200)
    first = tmp_path / "first" / "last.safetensors"
    # A rate that is as good as none leaves the weights where they were.
    said = answer("train", "--out", tmp_path / "second", "--start", first, "--lr", 1e-30)
    assert said["recipe"]["batch"] == 200
    before, after = checkpoint.load(first), checkpoint.load(said["checkpoint"])
    assert after.config == before.config
    for one, other in zip(before.parameters(), after.parameters(), strict=True):
        torch.testing.assert_close(one, other)
    ending = end_of("train", "--out", tmp_path / "third", "--start", first, "--hidden", "7")
    assert ending.code == 2
    assert "expected te of shape (7, 64), found te of shape (6, 64); start from" in ending.error
    assert said["checkpoint"].endswith("second/last.safetensors")
    assert checkpoint.read(said["checkpoint"])["origin"].startswith(f"{first} (SHA-256 ")


def test_run_that_starts_from_another_has_a_folder_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answer("train", *SMALL, "--batch", 400)
    said = answer("train", "--start", "runs/digits/best.safetensors")
    assert said["checkpoint"] == "runs/from-best/last.safetensors"


def test_checkpoint_that_train_did_not_write_is_no_start(tmp_path: Path, end_of: Any) -> None:
    net = trainer.start(tasks.load("digits"), (6,), trainer.Recipe())
    checkpoint.save(tmp_path / "net.safetensors", net)
    ending = end_of("train", "--out", tmp_path, "--start", tmp_path / "net.safetensors")
    assert ending.code == 2
    assert "found a Network, saved by itself; celif finetune" in ending.error
    about = {"task": "digits", "recipe": {"epochs": 1, "magic": 2}}
    checkpoint.save(tmp_path / "net.safetensors", net, **about)
    ending = end_of("train", "--out", tmp_path, "--start", tmp_path / "net.safetensors")
    assert ending.code == 2
    assert "expected a known recipe, found" in ending.error
    integers = quantize(net, calibration=tasks.load("digits").train.x)
    checkpoint.save(tmp_path / "net.safetensors", integers, task="digits", recipe={})
    ending = end_of("train", "--out", tmp_path, "--start", tmp_path / "net.safetensors")
    assert ending.code == 2
    assert "found a QuantizedNetwork, trained; celif finetune" in ending.error


def test_run_of_one_preset_is_not_resumed_as_another(tmp_path: Path, end_of: Any) -> None:
    first = run_celif(
        *("train", "--preset", "digits", "--out", tmp_path, *SMALL, "--batch", 400, "--resume")
    )
    assert "no checkpoint to continue from, so this is a new run" in first.stderr.replace("\n", " ")
    for preset in ("copy-100", "digits"):
        ending = end_of("train", "--out", tmp_path, "--resume", "--preset", preset)
        assert ending.code == 2
        assert f"expected a run of {preset}, {preset} with hidden layers (64, " in ending.error
        assert "found one of digits with (6,); leave --preset out" in ending.error
    answer("train", "--out", tmp_path, "--resume", "--preset", "digits", "--hidden", "6")


def test_preset_brings_task_network_and_recipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("training.tasks.synthetic.EPOCH", 64)
    said = answer("train", "--preset", "copy-100", "--epochs", 1, "--hidden", "4,4")
    assert said["checkpoint"] == "runs/copy-100/last.safetensors"
    assert said["recipe"]["lr"] == presets.get("copy-100").recipe.lr
    net = checkpoint.load(tmp_path / said["checkpoint"])
    assert (net.config.beta, net.config.readout) == (0.99, "steps")
    measured = answer("evaluate", tmp_path / said["checkpoint"], "--samples", 20)
    assert (measured["task"], measured["samples"]) == ("copy-100", 20)
    assert 0 <= measured["recall"] < 0.5


def test_task_and_preset_are_not_both_given(end_of: Any) -> None:
    ending = end_of("train", "--task", "digits", "--preset", "digits")
    assert ending.code == 2
    assert ending.error == (
        "celif: train: expected one of --task, --preset and --start, got several\n"
    )


def test_missing_gpu_is_told_in_a_line(
    tmp_path: Path, end_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    ending = end_of("train", "--out", tmp_path, *SMALL, "--device", "cuda")
    assert ending.code == 2
    assert ending.error == (
        "celif: --device cuda: expected a GPU that this PyTorch can use, found none; use --device "
        "cpu\n"
    )


def test_download_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(tasks, "download", asked.append)
    monkeypatch.setattr(tasks, "load", lambda name, data=None: tasks.digits())
    options = ("--task", "seq-mnist", "--data", tmp_path, "--out", tmp_path / "run", *SMALL)
    answer("train", *options)
    assert asked == []
    answer("train", *options, "--resume", "--download")
    assert asked == [tmp_path]
    assert mnist_files.MIRROR.startswith("https://")


@pytest.mark.skipif(
    importlib.util.find_spec("tensorboard") is not None, reason="tensorboard is installed"
)
def test_missing_tensorboard_is_told_in_a_line(tmp_path: Path, end_of: Any) -> None:
    result = run_celif("train", "--out", tmp_path, *SMALL, "--tensorboard")
    assert result.exit_code == 0
    assert "warning: tensorboard is not installed: pip install" in result.output
    assert (tmp_path / "metrics.csv").exists()


def test_training_in_two_processes_learns_as_in_one(tmp_path: Path) -> None:
    options = [*map(str, SMALL), "--dropout", "0", "--batch", "101", "--json"]
    command = [sys.executable, "-m", "celif.cli", "train", "--out", str(tmp_path / "2")]
    command += [*options, "--devices", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("epoch 1/1") == 1, "one process tells of it"
    two, one = json.loads(done.stdout), answer("train", "--out", tmp_path / "1", *options[:-1])
    assert checkpoint.read(tmp_path / "2" / "last.safetensors")["processes"] == 2
    # Sums of float32 in another order, over 13 updates.
    assert two["loss"] == pytest.approx(one["loss"], rel=1e-4)
    assert two["parameters"] == one["parameters"]


def test_evaluate_takes_several_files(run_folder: Path) -> None:
    files = (run_folder / "run" / "last.safetensors", run_folder / "net.net")
    said = answer("evaluate", *files, "--samples", 60)["models"]
    assert [model["model"] for model in said] == [str(file) for file in files]
    assert [model["kind"] for model in said] == ["float", "fixed"]
    alone = answer("evaluate", files[1], "--task", "digits", "--samples", 60)
    assert alone == said[1]


def test_card_has_the_figures_of_both_files(run_folder: Path, end_of: Any) -> None:
    model = run_folder / "run" / "last.safetensors"
    answer("export", model, "-o", model.with_suffix(".net"))
    said = answer("card", model, "--lava-samples", 1)
    for kind, file in (("float", model), ("fixed", model.with_suffix(".net"))):
        assert said[f"{kind}_accuracy"] == answer("evaluate", file, "--task", "digits")["accuracy"]
    assert said["lava"]["same_logits"] == 1
    assert said["samples"] == len(tasks.load("digits").test)
    printed = run_celif("card", model, "--lava-samples", 0).stdout
    assert f"| float | {said['float_accuracy']:.2%} |" in printed
    assert "| the same in Lava | not run |" in printed
    command = "celif train --preset digits --epochs 3 --hidden 32,24 --dropout 0.0"
    assert f"`{command}`, seed 0." in printed

    content = checkpoint.read(model)
    content["weights"]["te"] += 1
    tensor_file.write(model.with_name("other.safetensors"), content)
    model.with_suffix(".net").rename(model.with_name("other.net"))
    ending = end_of("card", model.with_name("other.safetensors"))
    assert ending.code == 2
    assert "found that of other weights; export it again" in ending.error


def test_card_tells_every_option_of_the_network(tmp_path: Path) -> None:
    options = ("--te", "cosine", "--beta", 0.9, "--learn-alpha", "--learn-beta", "--tied-dropout")
    options += ("--recurrent", "--seed", 3)
    first = answer("train", "--out", tmp_path / "first", *SMALL, "--batch", 400)
    with_all = ("--hidden", "6,5", *options, "--batch", 400, "--epochs", 1)
    said = answer("train", "--out", tmp_path / "run", *with_all)
    begun = ("--start", first["checkpoint"], "--batch", 200)
    started = answer("train", "--out", tmp_path / "started", *begun)
    taught = answer("train", "--out", tmp_path / "taught", *SMALL, "--teacher", first["checkpoint"])
    for result, words in (
        (
            said,
            "--batch 400 --seed 3 --hidden 6,5 --beta 0.9 --te cosine --learn-alpha --learn-beta "
            "--tied-dropout --recurrent",
        ),
        (started, f"from the weights of {first['checkpoint']} (SHA-256 "),
        (taught, ", distilled from a teacher (digest of its outputs "),
    ):
        answer("export", result["checkpoint"], "-o", Path(result["checkpoint"]).with_suffix(".net"))
        assert words in run_celif("card", result["checkpoint"], "--lava-samples", 0).stdout


def test_integers_are_judged_by_classes_alone(tmp_path: Path, end_of: Any) -> None:
    task = tasks.adding(10)
    net = trainer.start(task, (6,), trainer.Recipe())
    model = tmp_path / "net.safetensors"
    checkpoint.save(model, net, task="adding-10", recipe={}, history=[])
    answer("export", model, "-o", model.with_suffix(".net"))
    for command in (("card", model), ("finetune", model, "--out", tmp_path / "run")):
        ending = end_of(*command)
        assert ending.code == 2
        assert "expected a task with a class for each sample" in ending.error


def test_quantised_network_is_trained_like_any_other(tmp_path: Path) -> None:
    task, recipe = tasks.load("digits"), trainer.Recipe(epochs=2, batch=200)
    net = trainer.start(task, (12, 10), recipe)
    integers = quantize(net, calibration=task.train.x, weight_bits=4, te_bits=4)
    run = trainer.Trainer(integers, task, recipe, tmp_path)
    trained = run.run()
    assert run.history[1]["loss"] < run.history[0]["loss"]
    weights = checkpoint.read(tmp_path / "last.safetensors")["weights"]
    again = trainer.Trainer(
        quantize(net, calibration=task.train.x, weight_bits=4, te_bits=4), task, recipe, tmp_path
    )
    assert again.resume()
    for name, value in again.run().state_dict().items():
        assert torch.equal(value, trained.state_dict()[name]), name
        assert torch.equal(value, weights[name]), name


GUIDE = Path(trainer.__file__).parent / "README.md"


def test_guide_names_every_file_of_a_run(tmp_path: Path) -> None:
    answer("train", "--out", tmp_path, *SMALL)
    text = GUIDE.read_text(encoding="utf-8")
    assert [path.name for path in tmp_path.iterdir() if f"`{path.name}`" not in text] == []


def test_guides_code_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code = GUIDE.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    exec(compile(code, str(GUIDE), "exec"), {})
    assert (tmp_path / "runs" / "arrays" / "best.safetensors").is_file()
