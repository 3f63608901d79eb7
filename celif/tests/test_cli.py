"""The celif command: what it makes, prints and returns."""

from __future__ import annotations

import contextlib
import io
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from rich.console import Console
from rich.text import Text

from celif import cli
from celif.tests.run_command import answer, raising, run_celif
from export import loihi2, read_netx, simulate, write_netx
from export.model.network import CelifLayer
from hw_tests.networks.random_nets import random_network
from training import checkpoint, tasks, trainer


def test_simulate_reports_the_twins_accuracy(run_folder: Path, tmp_path: Path) -> None:
    net, out = run_folder / "net.net", tmp_path / "trace.npz"
    said = answer("simulate", net, "--task", "digits", "--samples", 50, "-o", out)
    test = tasks.load("digits").test
    trace = simulate(read_netx(net), test.x[:50].numpy(), trace=True)
    assert said["predictions"] == trace.predictions.tolist()
    assert said["accuracy"] == float((trace.predictions == test.y[:50].numpy()).mean())
    assert trace.spikes is not None
    with np.load(out) as saved:
        assert np.array_equal(saved["spikes/1"], trace.spikes[1])
        assert saved["spikes/1"].any()


def test_run_in_lava_predicts_as_the_twin(run_folder: Path) -> None:
    arguments = (run_folder / "net.net", "--task", "digits", "--samples", 3)
    twin = answer("simulate", *arguments)
    assert twin.pop("saturations") == [0, 0]  # only the twin counts them
    assert answer("run", *arguments) == twin


def test_verify_climbs_and_measures_the_gap(run_folder: Path) -> None:
    said = answer(
        *("verify", run_folder / "net.net", "--against", run_folder / "run" / "last.safetensors"),
        *("--task", "digits", "--samples", 40, "--lava-samples", 1),
    )
    verdicts = {rung["rung"]: rung["verdict"] for rung in said["rungs"]}
    assert verdicts == {0: "equal", 1: "equal", 2: "equal", 3: "equal", 4: "not run"}
    assert said["source"]["equal"]
    assert said["gap"]["samples"] == 40


def test_verify_fails_for_another_checkpoint(run_folder: Path, tmp_path: Path) -> None:
    other = ("train", "--out", tmp_path, "--epochs", 1, "--hidden", "32,24", "--seed", 1)
    assert run_celif(*other).exit_code == 0
    result = run_celif(
        *("verify", run_folder / "net.net", "--against", tmp_path / "last.safetensors"),
        *("--task", "digits", "--samples", 10, "--target", "torch,twin"),
    )
    assert result.exit_code == 1


def test_verify_takes_the_samples_of_the_checkpoints_task(run_folder: Path) -> None:
    said = answer(
        *("verify", run_folder / "net.net", "--against", run_folder / "run" / "last.safetensors"),
        *("--target", "twin", "--samples", 30),
    )
    assert said["gap"]["samples"] == 30
    assert said["gap"]["accuracy_float"] > 0.3


def test_strict_verify_ends_with_1_on_an_alarm(
    run_folder: Path, end_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = (
        "verify",
        run_folder / "net.net",
        "--against",
        run_folder / "run" / "last.safetensors",
    )
    options = ("--samples", 5, "--target", "twin")
    # A network that has hardly been trained may or may not change one of five predictions.
    monkeypatch.setattr("celif.verification.alarms.beyond_chance", lambda *counts: False)
    assert end_of(*arguments, *options, "--strict").code == 0
    monkeypatch.setattr("celif.verification.alarms.beyond_chance", lambda *counts: True)
    alarmed = end_of(*arguments, *options)
    assert alarmed.code == 0
    assert "warning: network predictions: " in alarmed.error
    assert end_of(*arguments, *options, "--strict").code == 1


def test_verify_knows_fine_tuned_checkpoints(run_folder: Path, tmp_path: Path) -> None:
    tuned = answer(
        "finetune", run_folder / "run" / "last.safetensors", "--out", tmp_path, "--epochs", 1
    )
    answer("export", tuned["checkpoint"], "-o", tmp_path / "tuned.net")
    said = answer(
        *("verify", tmp_path / "tuned.net", "--against", tuned["checkpoint"]),
        *("--samples", 20, "--target", "torch,twin"),
    )
    assert said["source"]["equal"]
    assert said["gap"]["accuracy_fixed"] > 0.3


def test_report_writes_a_page_of_the_verification(run_folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    said = answer(
        *("report", run_folder / "net.net", "--against", run_folder / "run" / "last.safetensors"),
        *("--samples", 20, "--target", "torch,twin", "-o", page),
    )
    assert said["page"] == str(page)
    text = page.read_text(encoding="utf-8")
    for words in ("checkpoint, quantised again", "What the integers change", "Formats", "Training"):
        assert words in text
    assert text.count("<svg") == 3
    assert page.with_suffix(".png").stat().st_size > 10_000


def test_evaluate_knows_checkpoints_and_exports(run_folder: Path) -> None:
    floats = answer("evaluate", run_folder / "run" / "last.safetensors")
    fixed = answer("evaluate", run_folder / "net.net", "--task", "digits")
    assert (floats["kind"], fixed["kind"]) == ("float", "fixed")
    assert abs(floats["accuracy"] - fixed["accuracy"]) < 0.05
    assert floats["samples"] == fixed["samples"] == 360


def test_inspect_describes_every_layer(run_folder: Path) -> None:
    said = answer("inspect", run_folder / "net.net")
    assert [layer["type"] for layer in said["layers"]] == ["CELIF", "CELIF", "READOUT"]
    assert [layer["lag"] for layer in said["layers"]] == [1, 2, 3]
    assert said["steps"] == 64


class Interruption(Exception):
    """Stands for a plug that is pulled."""


@contextlib.contextmanager
def pulled_plug(quiet: bool = False) -> Iterator[Callable[[trainer.Progress], None]]:
    """In place of the progress bar: the training dies in the middle of its second epoch."""

    def report(progress: trainer.Progress) -> None:
        if progress.epoch == 1 and progress.step == 7 and progress.validation is None:
            raise Interruption

    yield report


def test_train_resumes_to_the_same_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ("--epochs", 3, "--hidden", "16", "--dropout", 0.3)
    whole = answer("train", "--out", tmp_path / "whole", *options)
    with monkeypatch.context() as patch:
        patch.setattr(cli.console, "training_bar", pulled_plug)
        died = run_celif("train", "--out", tmp_path / "cut", *options)
    assert isinstance(died.exception, Interruption)
    assert len(checkpoint.read(tmp_path / "cut" / "last.safetensors")["history"]) == 1
    resumed = answer("train", "--out", tmp_path / "cut", *options, "--resume")
    assert resumed["loss"] == whole["loss"]
    ours, theirs = (checkpoint.read(tmp_path / n / "last.safetensors") for n in ("whole", "cut"))
    assert len(theirs["history"]) == 3
    assert ours["weights"].keys() == theirs["weights"].keys()
    for name, value in ours["weights"].items():
        assert torch.equal(value, theirs["weights"][name]), name


def test_train_leaves_an_old_run_alone(end_of: Any, run_folder: Path) -> None:
    ending = end_of("train", "--out", run_folder / "run")
    assert ending.code == 2
    assert "holds a run already; add --resume" in ending.error


def test_train_writes_to_a_folder_named_after_the_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    other = replace(tasks.load("digits"), name="seq-mnist")
    monkeypatch.setattr(tasks, "load", lambda name, data=None: other)
    said = answer("train", "--task", "seq-mnist", "--epochs", 1, "--hidden", "4")
    assert said["checkpoint"] == "runs/seq-mnist/last.safetensors"
    assert (tmp_path / "runs/seq-mnist/last.safetensors").is_file()


def test_input_file_runs_as_the_same_samples_of_a_task(run_folder: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", tasks.load("digits").test.x.numpy())
    net = run_folder / "net.net"
    said = answer("simulate", net, "--input", tmp_path / "x.npy", "--samples", 9)
    same = answer("simulate", net, "--task", "digits", "--samples", 9)
    assert same.pop("accuracy") > 0
    assert said == same


def test_simulate_in_parts_equals_the_twin_at_once(saturating: Path, tmp_path: Path) -> None:
    """More samples than the progress bar's part."""
    out = tmp_path / "trace.npz"
    said = answer("simulate", saturating, "--task", "digits", "--samples", 300, "-o", out)
    trace = simulate(read_netx(saturating), tasks.load("digits").test.x[:300].numpy(), trace=True)
    assert said["saturations"] == trace.saturations
    with np.load(out) as saved:
        assert np.array_equal(saved["logits"], trace.logits)
        for name in ("spikes", "v", "theta"):
            for i, values in enumerate(getattr(trace, name)):
                assert np.array_equal(saved[f"{name}/{i}"], values)


@pytest.mark.parametrize("command", ["simulate", "run"])
def test_progress_is_shown_on_a_terminal_only(
    command: str, run_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = (command, run_folder / "net.net", "--task", "digits", "--samples", 2)
    assert run_celif(*arguments).stderr == ""
    screen = io.StringIO()
    terminal = Console(file=screen, force_terminal=True, width=80)
    monkeypatch.setattr(cli.console, "console", terminal)
    assert run_celif(*arguments).exit_code == 0
    unit, total = {"simulate": ("samples", 2), "run": ("steps", 2 * 64 + 3)}[command]
    shown = Text.from_ansi(screen.getvalue()).plain
    assert f"{total}/{total} {unit}" in shown


def test_inspect_fits_80_columns(
    end_of: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    net = random_network(np.random.default_rng(0), (1024, 2048), 16, fraction_bits=16)
    celif_layers = [layer for layer in net.layers if isinstance(layer, CelifLayer)]
    layers = tuple(replace(layer, theta0_int=-loihi2.STATE_MAX) for layer in celif_layers)
    write_netx(replace(net, layers=layers), "wide.net")
    lines = end_of("inspect", "wide.net").output.splitlines()
    assert max(map(len, lines[1:])) <= 80
    _, *rows = (line.split() for line in lines if line.strip().startswith("layer "))
    assert [row[:4] for row in rows] == [
        ["layer", "0", "CELIF", "1024×2"],
        ["layer", "1", "CELIF", "2048×1024"],
        ["layer", "2", "READOUT", "3×2048"],
    ]
    assert rows[0][-1] == str(-loihi2.STATE_MAX)
    assert "…" not in "".join(lines)


def test_inspect_keeps_ranges_of_decays_on_one_line(
    end_of: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    net = random_network(np.random.default_rng(0), (88, 88), 16, own_decays=True, per_channel=True)
    write_netx(net, "own.net")
    lines = end_of("inspect", "own.net").output.splitlines()
    assert max(map(len, lines[1:])) <= 80
    for layer, line in zip(net.layers, [x for x in lines if "CELIF" in x], strict=True):
        for mantissas in (layer.alpha_mant, layer.beta_mant):
            assert f" {mantissas.min()}..{mantissas.max()} " in line


def test_version_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    result = run_celif("--version")
    assert (result.exit_code, result.stdout) == (0, f"celif {metadata.version('celif-lava')}\n")
    monkeypatch.setattr(metadata, "version", raising(metadata.PackageNotFoundError("celif-lava")))
    assert run_celif("--version").stdout == "celif unknown\n"


def test_help_tells_the_exit_codes() -> None:
    said = " ".join(run_celif("--help").output.split())
    for words in ("Exit codes: 0 all is well", "2 bad input", "3 the run failed", "4 incomplete"):
        assert words in said


def test_a_users_training_module_is_refused(tmp_path: Path) -> None:
    """A file named training.py in the user's folder must not be taken for ours."""
    (tmp_path / "training.py").write_text("raise SystemExit('the wrong training')\n")
    home = Path(cli.__file__).parent.parent
    script = f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(home)!r}]; import celif"
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert result.returncode == 1
    assert "rename your training.py" in result.stderr


def test_demo_quick_writes_a_page(tmp_path: Path) -> None:
    said = answer("demo", "--quick", "--out", tmp_path)
    assert said["failures"] == []
    assert said["equal"]
    page = Path(said["page"]).read_text(encoding="utf-8")
    assert "The parity ladder" in page
    assert "<svg" in page
    assert (tmp_path / "report.png").stat().st_size > 10_000
    shutil.rmtree(tmp_path / "training")
    assert read_netx(said["network"]).steps == 64
