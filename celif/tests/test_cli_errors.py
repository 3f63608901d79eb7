"""The celif command when something is wrong: its words and its exit codes."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lava_procs
from celif.tests.run_command import answer, raising
from export import read_netx, simulate
from hw_tests import ladder
from lava_procs.mends import lava_command
from training import tasks, trainer

MODEL = str(Path(__file__).parents[2] / "models" / "seq-mnist-88.net")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("simulate", "no.net", "--task", "digits"), "no.net: /: expected a netx HDF5 file"),
        (("simulate", MODEL), "expected --task, --data or --input"),
        (("evaluate", "no.pt"), "no.pt: expected a checkpoint, found no such file"),
        (
            ("train", "--task", "cifar"),
            "a task, one of digits, seq-mnist, ps-mnist, adding-T, copy-T, shd",
        ),
        (("train", "--hidden", "a,b"), "--hidden: expected numbers such as 64,88,88"),
        (("train", "--task", "seq-mnist"), "expected --data DIR"),
        (("evaluate", MODEL, "--data", "no.npz"), "no.npz"),
        (("sweep", MODEL), "expected a checkpoint, found a netx (HDF5) file"),
        (
            ("verify", MODEL, "--against", "."),
            ".: expected a checkpoint, found a folder; name a file in it",
        ),
    ],
    ids=[
        *("no-file", "no-samples", "no-checkpoint", "no-task", "no-widths", "no-data"),
        *("no-archive", "netx-for-checkpoint", "folder-for-checkpoint"),
    ],
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


@pytest.mark.parametrize(
    "error",
    [PermissionError(13, "Permission denied", "net.net"), ImportError("no lava; x[lava]")],
    ids=["os", "import"],
)
def test_trouble_with_the_system_ends_in_one_line_and_code_2(
    error: Exception, end_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("export.read_netx", raising(error))
    assert end_of("inspect", "net.net") == (2, f"celif: {error}\n", "")


def test_failed_lava_run_ends_in_code_3(
    run_folder: Path, end_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = run_folder / "net.net"
    late = lava_procs.LavaTimeoutError("Lava run of net.net: not finished after 1 s")
    monkeypatch.setattr(lava_procs, "run", raising(late))
    assert end_of("run", net, "--task", "digits").error == f"celif: the run failed: {late}\n"
    monkeypatch.setattr(lava_procs, "run", raising(lava_procs.LavaRunError("layer [0] died")))
    dead = end_of("run", net, "--task", "digits")
    assert dead == (3, "celif: the run failed: layer [0] died\n", "")


def test_diverged_training_ends_in_code_3(
    tmp_path: Path, end_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = FloatingPointError("epoch 1 step 1: expected a finite loss, got nan")
    monkeypatch.setattr(trainer.Trainer, "run", raising(error))
    assert end_of("train", "--out", tmp_path) == (3, f"celif: the run failed: {error}\n", "")


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
    assert f"{name}: 64 steps" in end_of("inspect", name).output
    assert (
        f"{name}: fixed, 5 test"
        in end_of("evaluate", name, "--task", "digits", "--samples", 5).output
    )
    exported = end_of("export", run_folder / "run" / "last.safetensors", "-o", "[b].net")
    assert exported.code == 0
    assert "[b].net  (" in exported.output


def without_lava(monkeypatch: pytest.MonkeyPatch) -> str:
    """Make the ladder believe that Lava is not installed; return what it says then."""
    hint = f"Lava is not installed; {lava_command()}"
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
    assert f"rung 3 not run: {hint}\n" in ending.output
    assert "warning: incomplete: no difference was found" in ending.error
    assert end_of(*arguments, "--target", "torch,twin,lava").code == 4  # asked for, not run
    assert end_of(*arguments, "--target", "torch,twin").code == 0  # all that was asked for ran


def test_verify_that_compares_nothing_is_incomplete(run_folder: Path, end_of: Any) -> None:
    ending = end_of(
        "verify", run_folder / "net.net", "--task", "digits", "--samples", 1, "--target", "loihi2"
    )
    assert ending.code == 4
    assert "incomplete" in ending.error


def test_saturations_are_shown_with_their_layers(saturating: Path, end_of: Any) -> None:
    trace = simulate(read_netx(saturating), tasks.load("digits").test.x[:20].numpy())
    counts = trace.saturations
    assert counts is not None
    assert min(counts) > 0
    for arguments in (
        ("simulate", saturating, "--task", "digits"),
        ("evaluate", saturating, "--task", "digits"),
    ):
        assert answer(*arguments, "--samples", 20)["saturations"] == counts
        ending = end_of(*arguments, "--samples", 20)
        error = ending.error
        assert f"layer 0 ({counts[0]:,}), layer 1 ({counts[1]:,})" in error
        assert error.startswith("warning: V or Θ stood at the end of its register")
        assert f"{sum(counts):,} saturations" in ending.output


def test_no_warning_without_saturations(run_folder: Path, end_of: Any) -> None:
    ending = end_of("simulate", run_folder / "net.net", "--task", "digits", "--samples", 5)
    assert ending.code == 0
    assert "warning" not in ending.error
    assert ", 0 saturations" in ending.output
