"""The celif command: what it makes, prints and returns."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from rich.console import Console
from rich.text import Text
from typer.testing import CliRunner, Result

import lava_procs
from export import loihi2, read_netx, simulate, write_netx
from export.model import CelifLayer
from export.random_nets import random_network
from hw_tests import ladder
from pipeline import cli
from training import checkpoint, tasks, trainer

COMMANDS = ("demo", "train", "evaluate", "export", "inspect", "verify", "simulate", "run")


def celif(*arguments: Any) -> Result:
    """Run a command in this process, without what main makes of its errors."""
    return CliRunner().invoke(cli.app, [str(a) for a in arguments])


def answer(*arguments: Any) -> Any:
    """What a command prints with --json."""
    result = celif(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


class Ending(NamedTuple):
    """How a command ended."""

    code: Any
    error: str


@pytest.fixture
def end_of(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a command through main, as the shell does: exit code and standard error."""

    def run(*arguments: Any) -> Ending:
        monkeypatch.setattr(sys, "argv", ["celif", *(str(a) for a in arguments)])
        with pytest.raises(SystemExit) as exit_info:
            cli.main()
        return Ending(exit_info.value.code or 0, capsys.readouterr().err)

    return run


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
    twin = answer("simulate", *arguments)
    assert twin.pop("saturations") == [0, 0]  # only the twin counts them
    assert answer("run", *arguments) == twin


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


class Interruption(Exception):
    """Stands for a plug that is pulled."""


@contextlib.contextmanager
def pulled_plug() -> Iterator[Callable[[trainer.Progress], None]]:
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
        died = celif("train", "--out", tmp_path / "cut", *options)
    assert isinstance(died.exception, Interruption)
    assert len(checkpoint.read(tmp_path / "cut" / "last.pt")["history"]) == 1
    resumed = answer("train", "--out", tmp_path / "cut", *options, "--resume")
    assert resumed["loss"] == whole["loss"]
    ours, theirs = (checkpoint.read(tmp_path / n / "last.pt") for n in ("whole", "cut"))
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
    assert said["checkpoint"] == "runs/seq-mnist/last.pt"
    assert (tmp_path / "runs/seq-mnist/last.pt").is_file()


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
    end_of: Any,
) -> None:
    monkeypatch.chdir(tmp_path)
    ending = end_of(*arguments)
    assert ending.code == 2
    assert message in ending.error
    assert ending.error.count("\n") == 1


def raising(error: Exception) -> Callable[..., Any]:
    def function(*arguments: Any, **options: Any) -> Any:
        raise error

    return function


@pytest.mark.parametrize(
    "error",
    [PermissionError(13, "Permission denied", "net.net"), ImportError("no lava; x[lava]")],
    ids=["os", "import"],
)
def test_trouble_with_the_system_ends_in_one_line_and_code_2(
    error: Exception, end_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("export.read_netx", raising(error))
    assert end_of("inspect", "net.net") == (2, f"celif: {error}\n")


def test_failed_lava_run_ends_in_code_3(
    run_folder: Path, end_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = run_folder / "net.net"
    late = end_of("run", net, "--task", "digits", "--samples", 1, "--timeout", 0)
    assert late.code == 3
    assert late.error.startswith("celif: the run failed: Lava run of net.net")
    assert "not finished after 0 s" in late.error
    monkeypatch.setattr(lava_procs, "run", raising(lava_procs.LavaRunError("layer [0] died")))
    dead = end_of("run", net, "--task", "digits")
    assert dead == (3, "celif: the run failed: layer [0] died\n")


def test_diverged_training_ends_in_code_3(
    tmp_path: Path, end_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = FloatingPointError("epoch 1 step 1: expected a finite loss, got nan")
    monkeypatch.setattr(trainer.Trainer, "run", raising(error))
    assert end_of("train", "--out", tmp_path) == (3, f"celif: the run failed: {error}\n")


def test_our_own_mistake_shows_its_traceback_and_ends_in_code_3(
    end_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("export.read_netx", raising(KeyError("oops")))
    ending = end_of("inspect", "net.net")
    assert ending.code == 3
    assert "Traceback" in ending.error
    assert "KeyError: 'oops'" in ending.error


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (None, "no such file"),
        (b"1,2,3", "something else"),
        (b"\x93NUMPY\x01\x00", "damage"),
        ({"x": np.zeros((1, 1, 64))}, "an .npz archive"),
        (np.array([[[None]]]), "Python objects"),
        (np.array([[["a"]]]), "values of type <U1"),
        (np.zeros((1, 1, 64), np.complex64), "values of type complex64"),
        (np.zeros((1, 1, 64), [("x", "f4")]), "values of type [('x', '<f4')]"),
        (np.float32(1), "shape ()"),
        (np.zeros((1, 64), np.float32), "shape (1, 64)"),
        (np.zeros((1, 1, 1, 64), np.float32), "shape (1, 1, 1, 64)"),
    ],
    ids=[
        *("missing", "text", "cut", "npz", "object", "string", "complex", "record", "scalar"),
        *("flat", "deep"),
    ],
)
def test_input_file_that_holds_no_samples_is_refused(
    content: Any, found: str, run_folder: Path, tmp_path: Path, end_of: Any
) -> None:
    file = tmp_path / "x.npy"
    if isinstance(content, bytes):
        file.write_bytes(content)
    elif isinstance(content, dict):
        with file.open("wb") as f:
            np.savez(f, **content)
    elif content is not None:
        np.save(file, content)
    for command in ("simulate", "verify"):
        ending = end_of(command, run_folder / "net.net", "--input", file)
        assert ending.code == 2
        expected = "expected a .npy file of numbers, (batch, channel, time)"
        assert ending.error.startswith(f"celif: --input {file}: {expected}, found {found}")
        assert ";" in ending.error  # and a remedy
        assert ending.error.count("\n") == 1


def test_input_file_runs_as_the_same_samples_of_a_task(run_folder: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", tasks.load("digits").test.x.numpy())
    net = run_folder / "net.net"
    said = answer("simulate", net, "--input", tmp_path / "x.npy", "--samples", 9)
    same = answer("simulate", net, "--task", "digits", "--samples", 9)
    assert same.pop("accuracy") > 0
    assert said == same


def test_text_in_brackets_is_printed_whole(
    run_folder: Path, tmp_path: Path, end_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ending = end_of("inspect", "[/b].net")
    assert ending.code == 2
    assert ending.error.startswith("celif: [/b].net: /: expected a netx HDF5 file")
    assert ending.error.count("\n") == 1
    name = "[bold]:warning:.net"
    shutil.copy(run_folder / "net.net", name)
    assert f"{name}: 64 steps" in end_of("inspect", name).error
    assert f"{name}: fixed, 5 test" in end_of("evaluate", name, "--samples", 5).error
    exported = end_of("export", run_folder / "run" / "last.pt", "-o", "[b].net")
    assert exported.code == 0
    assert "[b].net  (" in exported.error


def without_lava(monkeypatch: pytest.MonkeyPatch) -> str:
    """Make the ladder believe that Lava is not installed; return what it says then."""
    hint = "Lava is not installed; pip install celif-lava[lava] on Python 3.10"
    for rung in ladder.RUNGS:
        backends = tuple(
            replace(b, missing=lambda: hint) if b.target in ("lava", "loihi2") else b
            for b in rung.backends
        )
        monkeypatch.setitem(rung.__dict__, "backends", backends)  # frozen
    return hint


def test_verify_without_lava_is_incomplete(
    run_folder: Path, end_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    hint = without_lava(monkeypatch)
    arguments = ("verify", run_folder / "net.net", "--task", "digits", "--samples", 2)
    ending = end_of(*arguments)
    assert ending.code == 4
    assert f"rung 3 not run: {hint}\n" in ending.error
    assert "warning: incomplete: no difference was found" in ending.error
    assert end_of(*arguments, "--target", "torch,twin,lava").code == 4  # asked for, not run
    assert end_of(*arguments, "--target", "torch,twin").code == 0  # all that was asked for ran


def test_verify_that_compares_nothing_is_incomplete(run_folder: Path, end_of: Any) -> None:
    ending = end_of(
        "verify", run_folder / "net.net", "--task", "digits", "--samples", 1, "--target", "loihi2"
    )
    assert ending.code == 4
    assert "incomplete" in ending.error


@pytest.fixture(scope="module")
def saturating(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network whose registers overflow on any input, with digits' shape."""
    path = tmp_path_factory.mktemp("saturating") / "net.net"
    rng = np.random.default_rng(0)
    net = random_network(rng, (6, 5), 64, channels=1, classes=10, saturating=True)
    write_netx(net, path)
    return path


def test_saturations_are_shown_with_their_layers(saturating: Path, end_of: Any) -> None:
    trace = simulate(read_netx(saturating), tasks.load("digits").test.x[:20].numpy())
    counts = trace.saturations
    assert counts is not None
    assert min(counts) > 0
    for arguments in (("simulate", saturating, "--task", "digits"), ("evaluate", saturating)):
        assert answer(*arguments, "--samples", 20)["saturations"] == counts
        error = end_of(*arguments, "--samples", 20).error
        assert f"layer 0 ({counts[0]:,}), layer 1 ({counts[1]:,})" in error
        assert error.startswith("warning: V or Θ stood at the end of its register")
        assert f"{sum(counts):,} saturations" in error


def test_no_warning_without_saturations(run_folder: Path, end_of: Any) -> None:
    ending = end_of("simulate", run_folder / "net.net", "--task", "digits", "--samples", 5)
    assert ending.code == 0
    assert "warning" not in ending.error
    assert ", 0 saturations" in ending.error


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
    assert celif(*arguments).stderr.count("\n") == 1
    screen = io.StringIO()
    terminal = Console(file=screen, force_terminal=True, width=80)
    monkeypatch.setattr(cli.console, "console", terminal)
    assert celif(*arguments).exit_code == 0
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
    lines = end_of("inspect", "wide.net").error.splitlines()
    assert max(map(len, lines[1:])) <= 80
    _, *rows = (line.split() for line in lines if line.strip().startswith("layer "))
    assert [row[:4] for row in rows] == [
        ["layer", "0", "CELIF", "1024×2"],
        ["layer", "1", "CELIF", "2048×1024"],
        ["layer", "2", "READOUT", "3×2048"],
    ]
    assert rows[0][-1] == str(-loihi2.STATE_MAX)
    assert "…" not in "".join(lines)


def test_version_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    result = celif("--version")
    assert (result.exit_code, result.stdout) == (0, f"celif {metadata.version('celif-lava')}\n")
    monkeypatch.setattr(metadata, "version", raising(metadata.PackageNotFoundError("celif-lava")))
    assert celif("--version").stdout == "celif unknown\n"


def test_help_tells_the_exit_codes() -> None:
    said = " ".join(celif("--help").output.split())
    for words in ("Exit codes: 0 all is well", "2 bad input", "3 the run failed", "4 incomplete"):
        assert words in said


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
