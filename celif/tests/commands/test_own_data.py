"""A user's own data and network on the command line, from training to Lava."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from celif.inputs.user_tasks import load_task
from celif.tests.run_command import answer
from training import checkpoint, tasks, trainer
from training.support import tensor_file

MODELS = Path(__file__).resolve().parents[3] / "models"

STEPS, CLASSES = 12, 3
SMALL = ("--epochs", 2, "--hidden", "8,8", "--dropout", 0)


def samples(count: int = 120) -> tuple[np.ndarray, np.ndarray]:
    """Three classes that differ in the time of a burst."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, CLASSES, count)
    x = rng.random((count, 2, STEPS)).astype(np.float32) * 0.2
    for sample, label in zip(x, y, strict=True):
        sample[:, 4 * label : 4 * label + 4] += 0.8
    return x, y


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder, with data in every form and a module."""
    monkeypatch.chdir(tmp_path)
    x, y = samples()
    np.savez("mine.npz", x=x, y=y)
    np.savez("split.npz", x=x[:100], y=y[:100], x_test=x[100:], y_test=y[100:])
    np.save("x.npy", x)
    np.save("y.npy", y)
    (tmp_path / "mine_module.py").write_text(
        "import numpy as np\n"
        "from training import Network, tasks\n"
        "def task():\n"
        "    found = np.load('mine.npz')\n"
        "    return tasks.from_arrays('bursts', found['x'], found['y'])\n"
        "def not_a_task():\n"
        "    return 3\n"
        "class Mine(Network):\n"
        "    pass\n"
        f"def build():\n    return Mine(2, (8, 8), {CLASSES}, {STEPS})\n"
    )
    return tmp_path


@pytest.mark.parametrize(
    "given",
    [
        ("--data", "mine.npz"),
        ("--data", "split.npz"),
        ("--data", "x.npy", "--labels", "y.npy"),
        ("--task", "mine_module:task"),
    ],
    ids=["npz", "npz-with-test", "npy-and-labels", "function"],
)
def test_own_samples_go_through_every_command(folder: Path, given: tuple[str, ...]) -> None:
    trained = answer("train", *given, *SMALL, "--out", "run")
    best = trained["best"]
    again = answer("train", *given, "--out", "run", "--resume")
    assert again["epochs"] == 2
    exported = answer("export", best, "-o", "mine.net", *given)
    assert len(exported["layers"]) == 2
    floats = answer("evaluate", best, *given)
    fixed = answer("evaluate", "mine.net", *given)
    assert floats["samples"] == fixed["samples"] == (20 if "split.npz" in given else 12)
    simulated = answer("simulate", "mine.net", *given)
    assert simulated["accuracy"] == fixed["accuracy"]
    options = ("--target", "torch,twin", "--lava-samples", 2)
    assert answer("verify", "mine.net", "--against", best, *given, *options)["source"]["equal"]
    tuned = answer("finetune", best, *given, "--out", "tuned", "--epochs", 1)
    assert 0 <= tuned["validation"] <= 1


def test_run_on_a_file_is_found_again_without_options(folder: Path, end_of: Any) -> None:
    trained = answer("train", "--data", "mine.npz", *SMALL)
    assert trained["checkpoint"] == "runs/mine/last.safetensors"
    answer("export", trained["best"], "-o", "mine.net")
    assert answer("evaluate", trained["best"])["task"] == "mine.npz"
    Path("mine.npz").rename("elsewhere.npz")
    lost = end_of("evaluate", trained["best"])
    assert lost.code == 2
    assert "mine.npz: expected the samples of this run, found no file; pass --data" in lost.error
    assert answer("evaluate", trained["best"], "--data", "elsewhere.npz")["samples"] == 12


def test_run_is_not_resumed_on_another_file(folder: Path, end_of: Any) -> None:
    answer("train", "--data", "mine.npz", *SMALL, "--out", "run")
    x, y = samples()
    np.savez("other.npz", x=1 - x, y=y)
    ending = end_of("train", "--out", "run", "--resume", "--data", "other.npz", "--epochs", 5)
    assert ending.code == 2
    assert "expected the training data that the run began with, digest " in ending.error
    assert answer("train", "--out", "run", "--resume", "--data", "mine.npz", "--epochs", 5)


def test_run_made_in_python_is_usable(folder: Path, end_of: Any) -> None:
    task = tasks.from_arrays("bursts", *samples())
    recipe = trainer.Recipe(epochs=2, batch=32)
    trainer.Trainer(trainer.start(task, (8, 8), recipe), task, recipe, "run").run()
    unknown = end_of("export", "run/best.safetensors", "-o", "mine.net")
    assert unknown.code == 2
    assert "got 'bursts'; for a task made in Python, pass --task module:function" in unknown.error
    answer("export", "run/best.safetensors", "-o", "mine.net", "--data", "mine.npz")
    assert answer("evaluate", "run/best.safetensors", "--data", "mine.npz")["samples"] == 12
    resumed = answer("train", "--out", "run", "--resume", "--data", "mine.npz")
    assert resumed["epochs"] == 2
    assert answer("train", "--out", "run", "--resume", "--task", "mine_module:task") == resumed
    said = answer("verify", "mine.net", "--against", "run/best.safetensors", "--data", "mine.npz")
    assert said["equal"]
    ran = answer("run", "mine.net", "--data", "mine.npz", "--samples", 2)
    simulated = answer("simulate", "mine.net", "--data", "mine.npz", "--samples", 2)
    assert ran["predictions"] == simulated["predictions"]


def test_samples_that_another_split_sets_aside_are_refused(folder: Path, end_of: Any) -> None:
    task = tasks.from_arrays("bursts", *samples(), seed=5)
    recipe = trainer.Recipe(epochs=1, batch=32)
    trainer.Trainer(trainer.start(task, (8, 8), recipe), task, recipe, "run").run()
    refused = end_of("evaluate", "run/best.safetensors", "--data", "mine.npz")
    assert refused.code == 2
    assert "0.1 of them set aside by seed 5" in refused.error
    assert "0.1 of them set aside by seed 0" in refused.error


def test_task_of_another_name_is_no_label_of_a_known_network(folder: Path, end_of: Any) -> None:
    net = checkpoint.load(MODELS / "ps-mnist-88.safetensors")
    checkpoint.save("ps.safetensors", net, task="ps-mnist")
    np.save("pixels.npy", np.random.default_rng(0).random((4, 1, 784), np.float32))
    options = ("--task", "seq-mnist", "--calibration", "pixels.npy")
    refused = end_of("export", "ps.safetensors", "-o", "ps.net", *options)
    assert refused.code == 2
    assert "expected task ps-mnist, got task seq-mnist" in refused.error
    assert not Path("ps.net").exists()


def test_module_of_ones_own_is_built_by_its_function(folder: Path, end_of: Any) -> None:
    torch.manual_seed(0)
    net = __import__("training").Network(2, (8, 8), CLASSES, STEPS)
    checkpoint.save("net.safetensors", net)
    content = checkpoint.read("net.safetensors")
    tensor_file.write("mine.safetensors", {**content, "kind": "Mine", "network": None})
    refused = end_of("export", "mine.safetensors", "-o", "mine.net", "--calibration", "x.npy")
    assert refused.code == 2
    assert "pass --network MODULE:FUNCTION" in refused.error
    built = ("--network", "mine_module:build")
    answer("export", "mine.safetensors", "-o", "mine.net", "--calibration", "x.npy", *built)
    files = (
        "mine.net",
        "--against",
        "mine.safetensors",
        *built,
        "--input",
        "x.npy",
        "--labels",
        "y.npy",
    )
    said = answer("verify", *files, "--target", "torch,twin")
    assert said["equal"]
    assert said["gap"]["accuracy_float"] is not None


def test_samples_as_they_are_with_labels(folder: Path) -> None:
    trained = answer("train", "--data", "mine.npz", *SMALL, "--out", "run")
    answer("export", trained["best"], "-o", "mine.net", "--calibration", "x.npy")
    archive = answer("simulate", "mine.net", "--input", "mine.npz")
    arrays = answer("simulate", "mine.net", "--input", "x.npy", "--labels", "y.npy")
    assert archive == arrays
    assert archive["samples"] == 120
    assert "accuracy" not in answer("simulate", "mine.net", "--input", "x.npy")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--data", "none.npz"), "--data none.npz: expected an .npz archive, found no such file"),
        (("--data", "x.npy"), "expected classes y for the samples x, found x; add y"),
        (
            ("--data", "x.npy", "--labels", "x.npy"),
            "--labels x.npy: expected a class as an integer for",
        ),
        (("--labels", "y.npy"), "--labels: expected together with --data FILE.npz"),
        (("--task", "mine_module:none"), "expected a function none in mine_module, got none"),
        (("--task", "no_such:task"), "expected a module no_such, found none"),
        (("--task", "mine_module:not_a_task"), "expected a training.tasks.Task, got int"),
        (("--task", "bursts"), "pass --task module:function or --data FILE.npz"),
    ],
    ids=["none", "no-labels", "bad-labels", "alone", "function", "module", "type", "name"],
)
def test_wrong_data_is_named(
    arguments: tuple[str, ...], message: str, folder: Path, end_of: Any
) -> None:
    names = ("--task", "--data", "--labels")
    given = dict(zip(arguments[::2], arguments[1::2], strict=True))
    task, data, labels = (given.get(name) for name in names)
    with pytest.raises(ValueError, match="expected") as caught:
        load_task(task, *(None if p is None else Path(p) for p in (data, labels)))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("y", "remedy"),
    [
        (np.arange(8.0) % 3, r"y\.astype\(int\)"),
        (np.eye(4)[np.arange(8) % 4], r"y\.argmax\(1\)"),
        (np.arange(8.0)[:, None] % 3, r"y\.reshape\(-1\)\.astype\(int\)"),
    ],
    ids=["floats", "one-hot", "column"],
)
def test_classes_written_as_floats_are_not_taken_for_values(
    y: np.ndarray, remedy: str, tmp_path: Path
) -> None:
    x = np.ones((8, 1, 5), np.float32)
    np.savez(tmp_path / "mine.npz", x=x, y=y)
    with pytest.raises(ValueError, match=f"all whole; for classes write {remedy}"):
        load_task(None, tmp_path / "mine.npz", None)
    np.savez(tmp_path / "mine.npz", x=x, y=y + 0.5)
    assert load_task(None, tmp_path / "mine.npz", None).objective is tasks.VALUE


def test_network_is_not_judged_by_the_samples_of_another_task(
    run_folder: Path, end_of: Any
) -> None:
    models = Path(__file__).parents[3] / "models"
    for model in (models / "seq-mnist-88.net", models / "seq-mnist-88.safetensors"):
        for command in ("evaluate", "simulate"):
            if command == "simulate" and model.suffix == ".safetensors":
                continue
            ending = end_of(command, model, "--task", "digits")
            assert ending.code == 2
            # The file is of a time when files did not name their task.
            wanted = (
                "samples of 1 channel(s) × 784 steps and 10 classes, got task digits with 1 × 64"
            )
            known = "expected task seq-mnist, got task digits"
            assert (wanted if model.suffix == ".net" else known) in ending.error
