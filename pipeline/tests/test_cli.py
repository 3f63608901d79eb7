"""The celif command: what it makes, prints and returns."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from export import read_netx, simulate
from pipeline import cli
from training import tasks

COMMANDS = ("demo", "train", "evaluate", "export", "inspect", "verify", "simulate", "run")


def celif(*arguments: Any) -> Result:
    """Run a command in this process; tables go to the real standard error."""
    return CliRunner().invoke(cli.app, [str(a) for a in arguments])


def answer(*arguments: Any) -> Any:
    """What a command prints with --json."""
    result = celif(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run trained for three epochs, and its export."""
    folder = tmp_path_factory.mktemp("cli")
    trained = answer(
        *("train", "--out", folder / "run", "--epochs", 3, "--hidden", "32,24"),
        *("--dropout", 0),
    )
    assert trained["validation"] > 0.3
    exported = answer("export", folder / "run" / "last.pt", "-o", folder / "net.net")
    assert len(exported["layers"]) == 2
    return folder


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str) -> None:
    result = celif(command, "--help")
    assert result.exit_code == 0
    assert "Usage" in result.output


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
    assert answer("run", *arguments) == answer("simulate", *arguments)


def test_verify_climbs_and_measures_the_gap(run_folder: Path) -> None:
    said = answer(
        *("verify", run_folder / "net.net", "--against", run_folder / "run" / "last.pt"),
        *("--task", "digits", "--samples", 40, "--lava-samples", 1),
    )
    verdicts = {rung["rung"]: rung["verdict"] for rung in said["rungs"]}
    assert verdicts == {0: "equal", 1: "equal", 2: "equal", 3: "equal", 4: "not run"}
    assert said["gap"]["same_source"]
    assert said["gap"]["samples"] == 40


def test_verify_fails_for_another_checkpoint(run_folder: Path, tmp_path: Path) -> None:
    other = ("train", "--out", tmp_path, "--epochs", 1, "--hidden", "32,24", "--seed", 1)
    assert celif(*other).exit_code == 0
    result = celif(
        *("verify", run_folder / "net.net", "--against", tmp_path / "last.pt"),
        *("--task", "digits", "--samples", 10, "--target", "torch,twin"),
    )
    assert result.exit_code == 1


def test_evaluate_knows_checkpoints_and_exports(run_folder: Path) -> None:
    floats = answer("evaluate", run_folder / "run" / "last.pt")
    fixed = answer("evaluate", run_folder / "net.net")
    assert (floats["kind"], fixed["kind"]) == ("float", "fixed")
    assert abs(floats["accuracy"] - fixed["accuracy"]) < 0.05
    assert floats["samples"] == fixed["samples"] == 360


def test_inspect_describes_every_layer(run_folder: Path) -> None:
    said = answer("inspect", run_folder / "net.net")
    assert [layer["type"] for layer in said["layers"]] == ["CELIF", "CELIF", "READOUT"]
    assert [layer["lag"] for layer in said["layers"]] == [1, 2, 3]
    assert said["steps"] == 64


def test_train_resumes_to_the_same_end(tmp_path: Path) -> None:
    options = ("--epochs", 3, "--hidden", "16", "--task", "digits")
    whole = answer("train", "--out", tmp_path / "whole", *options)
    again = answer("train", "--out", tmp_path / "whole", *options, "--resume")
    assert again["loss"] == whole["loss"]
    refused = subprocess.run(
        [sys.executable, "-m", "pipeline.cli", "train", "--out", tmp_path / "whole"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert refused.returncode == 2
    assert "holds a run already; add --resume" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("simulate", "no.net", "--task", "digits"), "no.net: /: expected a netx HDF5 file"),
        (("simulate", "no.net"), "expected either --task or --input"),
        (("evaluate", "no.pt"), "no.pt: expected a checkpoint, found no such file"),
        (("train", "--task", "cifar"), "expected one of digits, seq-mnist, ps-mnist, got 'cifar'"),
        (("train", "--hidden", "a,b"), "--hidden: expected numbers such as 64,88,88"),
        (("train", "--task", "seq-mnist"), "expected --data DIR"),
    ],
    ids=["no-file", "no-samples", "no-checkpoint", "no-task", "no-widths", "no-data"],
)
def test_bad_input_ends_in_one_line_and_code_2(
    arguments: tuple[str, ...],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["celif", *arguments])
    with pytest.raises(SystemExit) as exit_info:
        cli.main()
    assert exit_info.value.code == 2
    error = capsys.readouterr().err
    assert message in error.replace("\n", " ")
    assert "Traceback" not in error


def test_a_users_training_module_is_refused(tmp_path: Path) -> None:
    """A file named training.py in the user's folder must not be taken for ours."""
    (tmp_path / "training.py").write_text("raise SystemExit('the wrong training')\n")
    home = Path(cli.__file__).parent.parent
    script = f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(home)!r}]; import pipeline"
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
