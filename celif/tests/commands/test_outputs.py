"""A command writes over its own earlier output, never over its input or a file of another kind."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from celif import outputs
from celif.tests.run_command import answer
from export import read_netx, to_netx, write_netx
from training import checkpoint, tasks


@pytest.fixture
def folder(run_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a checkpoint, its netx file, samples, and files of other kinds."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(run_folder / "run" / "last.safetensors", "last.safetensors")
    shutil.copy(run_folder / "net.net", "a.net")
    test = tasks.load("digits").test
    np.save("x.npy", test.x[:3].numpy())
    np.savez("u8.npz", x=test.x[:40].numpy(), y=test.y[:40].numpy())
    np.savez("logits.npz", logits=np.zeros((3, 10)))
    Path("notes.md").write_text("# Notes\n", encoding="utf-8")
    os.symlink("a.net", "link.net")
    os.symlink("last.safetensors", "link.safetensors")
    os.link("x.npy", "hard.npy")
    (tmp_path / "sub").mkdir()
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


SMALL = ("--task", "digits", "--hidden", "4", "--epochs", "1")
OWN_INPUT = {
    "export": ("export", "last.safetensors", "-o", "last.safetensors"),
    "export-spelling": ("export", "last.safetensors", "-o", "sub/../last.safetensors"),
    "export-link": ("export", "last.safetensors", "-o", "link.safetensors"),
    "export-data": ("export", "last.safetensors", "--data", "u8.npz", "-o", "u8.npz"),
    "simulate-net": ("simulate", "a.net", "--input", "x.npy", "-o", "a.net"),
    "simulate-linked": ("simulate", "link.net", "--input", "x.npy", "-o", "a.net"),
    "simulate-input": ("simulate", "a.net", "--input", "x.npy", "-o", "x.npy"),
    "simulate-hard-link": ("simulate", "a.net", "--input", "x.npy", "-o", "hard.npy"),
    "run": ("run", "a.net", "--input", "x.npy", "-o", "x.npy"),
    "report": ("report", "a.net", "--against", "last.safetensors", "-o", "a.net"),
    "report-against": (
        "report",
        "a.net",
        "--against",
        "last.safetensors",
        "-o",
        "link.safetensors",
    ),
    "finetune": ("finetune", "best.safetensors", "-o", "."),
    "train-start": ("train", "--start", "best.safetensors", "-o", "."),
    "train-teacher": ("train", *SMALL, "--teacher", "sub/teacher.npy", "-o", "sub"),
    "convert": ("convert", "notes.md", "-o", "notes.md"),
    "sweep": ("sweep", "last.safetensors", "--picture", "own.png", "--data", "own.png"),
    "fit": ("fit", "own.png", "--picture", "own.png"),
    "golden": ("golden", "a.net", "-o", "."),
}


@pytest.mark.parametrize("arguments", OWN_INPUT.values(), ids=OWN_INPUT)
def test_output_that_is_an_input_is_refused_by_name(
    arguments: tuple[str, ...], folder: Path, end_of: Any
) -> None:
    if "best.safetensors" in arguments:
        Path("last.safetensors").rename("best.safetensors")
    Path("own.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    np.save("sub/teacher.npy", np.eye(1293, 10))
    before = contents(folder)
    ending = end_of(*arguments)
    assert ending.code == 2
    assert "the command's own input, got that of" in ending.error
    assert arguments[-1 if arguments[-2].startswith("-") else -3] in ending.error
    assert ending.error.count("\n") == 1
    assert contents(folder) == before


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("report", "-o", "page.png"), "picture of the page page.png"),
        (("run", "-o", "t.npz", "--target", "loihi2", "--profile", "t.npz"), "--profile t.npz"),
    ],
    ids=["report", "run"],
)
def test_two_outputs_of_one_name_are_refused(
    arguments: tuple[str, ...], named: str, folder: Path, end_of: Any
) -> None:
    ending = end_of(arguments[0], "a.net", "--input", "x.npy", *arguments[1:])
    assert ending.code == 2
    expected = f"celif: {named}: expected another file than --output; choose another name\n"
    assert ending.error == expected


NEW_ONLY = {
    "train": (
        ("train", *SMALL, "--teacher", "mine.npy", "-o", "taken"),
        "--out taken/teacher.npy: expected a new file, found one; choose another folder, or remove",
    ),
    "convert": (
        ("convert", "last.pt"),
        "--output last.safetensors: expected a new file, found one; name the file with -o, or rem",
    ),
}


@pytest.mark.parametrize(("arguments", "message"), NEW_ONLY.values(), ids=NEW_ONLY)
def test_file_that_no_option_names_is_never_replaced(
    arguments: tuple[str, ...], message: str, folder: Path, end_of: Any
) -> None:
    Path("last.pt").write_bytes(b"of an earlier version")
    Path("taken").mkdir()
    for name in ("mine.npy", "taken/teacher.npy"):
        np.save(name, np.eye(1293, 10))
    before = contents(folder)
    ending = end_of(*arguments)
    assert ending.code == 2
    assert message in ending.error
    assert contents(folder) == before


OTHER_KIND = {
    "export": (("export", "last.safetensors", "-o", "u8.npz"), "a netx file to replace"),
    "simulate": (("simulate", "a.net", "--input", "x.npy", "-o", "u8.npz"), "a trace of celif sim"),
    "run": (("run", "a.net", "--input", "x.npy", "-o", "notes.md"), "a trace of celif simulate"),
    "logits": (("simulate", "a.net", "--input", "x.npy", "-o", "logits.npz"), "a trace of celif s"),
    "profile": (
        ("run", "a.net", "--input", "x.npy", "--target", "loihi2", "--profile", "notes.md"),
        "figures of profilers to replace",
    ),
    "report": (
        ("report", "a.net", "--input", "x.npy", "-o", "notes.md"),
        "an HTML page to replace",
    ),
    "report-picture": (
        ("report", "a.net", "--input", "x.npy", "-o", "page.html"),
        "picture of the page page.png: expected a new file, or a PNG picture to replace",
    ),
    "finetune": (("finetune", "last.safetensors", "-o", "taken"), "the config.json of a run to r"),
    "train": (("train", "-o", "taken"), "the config.json of a run to replace"),
    "convert": (("convert", "old.pt", "-o", "notes.md"), "a checkpoint of celif to replace"),
    "sweep": (("sweep", "last.safetensors", "--picture", "page.png"), "a PNG picture to replace"),
    "fit": (("fit", "a.net", "--picture", "page.svg"), "an SVG picture to replace"),
    "reproduce": (("reproduce", "--page", "notes.md"), "a page of all results to replace"),
    "demo": (("demo", "-o", "taken"), "an HTML page to replace"),
}


@pytest.mark.parametrize(("arguments", "message"), OTHER_KIND.values(), ids=OTHER_KIND)
def test_output_over_a_file_of_another_kind_is_refused(
    arguments: tuple[str, ...], message: str, folder: Path, end_of: Any
) -> None:
    for name in ("page.png", "page.svg"):
        Path(name).write_text("not a picture", encoding="utf-8")
    Path("taken").mkdir()
    for name in ("config.json", "report.html"):
        Path("taken", name).write_text('{"mine": 1}', encoding="utf-8")
    before = contents(folder)
    ending = end_of(*arguments)
    assert ending.code == 2
    assert message in ending.error
    assert "found a file of another kind; choose another name, or remove that file" in ending.error
    assert ending.error.count("\n") == 1
    assert contents(folder) == before


@pytest.mark.parametrize(
    "arguments",
    [("demo",), ("reproduce", "ablation", "--quick"), ("train",), ("finetune", "last.safetensors")],
    ids=lambda arguments: arguments[0],
)
def test_folder_that_is_a_file_is_refused(
    arguments: tuple[str, ...], folder: Path, end_of: Any
) -> None:
    ending = end_of(*arguments, "--out", "u8.npz")
    assert ending.code == 2
    assert ending.error == (
        "celif: --out u8.npz: expected a folder or a new name, found a file; choose another name\n"
    )


def test_own_earlier_output_is_replaced(folder: Path) -> None:
    Path("empty.net").touch()  # nothing is lost with it
    for _ in range(2):
        answer("export", "last.safetensors", "-o", "b.net")
        answer("export", "last.safetensors", "-o", "empty.net")
        answer("simulate", "a.net", "--input", "x.npy", "-o", "trace.npz")
        answer("fit", "a.net", "--picture", "cores.svg")
        answer("fit", "a.net", "--picture", "cores.png")
    assert read_netx("b.net").layers
    with np.load("trace.npz") as trace:
        assert "logits" in trace


def test_what_we_write_is_of_its_kind(folder: Path, run_folder: Path) -> None:
    outputs.require_run_folder(run_folder / "run", {})
    assert outputs.CHECKPOINT.holds(Path("last.safetensors"))
    assert outputs.NETX.holds(Path("a.net"))
    assert not outputs.NIR.holds(Path("a.net"))
    answer("sweep", "last.safetensors", "--weight-bits", 8, "--te-bits", 8, "--picture", "s.svg")
    assert outputs.SVG.holds(Path("s.svg"))
    said = ("report", "a.net", "--input", "x.npy", "--lava-samples", 1, "--target", "twin")
    for _ in range(2):
        answer(*said, "-o", "page.html")
    assert outputs.PAGE.holds(Path("page.html"))
    assert outputs.PNG.holds(Path("page.png"))


@pytest.mark.parametrize("name", ["u8.npz", "data.h5"])
def test_netx_files_in_python_replace_no_other_file(name: str, folder: Path) -> None:
    net = checkpoint.load("last.safetensors")
    x = tasks.load("digits").train.x[:50]
    with h5py.File("data.h5", "w") as file:
        file["samples"] = np.arange(3)
    before = Path(name).read_bytes()
    message = rf"{name}: expected a new file, or a netx file to replace, found a file of another"
    with pytest.raises(FileExistsError, match=message):
        to_netx(net, name, calibration=x)
    with pytest.raises(FileExistsError, match=message):
        write_netx(read_netx("a.net"), name)
    assert Path(name).read_bytes() == before
    to_netx(net, "a.net", calibration=x)


def test_damaged_netx_file_is_called_damaged(folder: Path, end_of: Any) -> None:
    whole = Path("a.net").read_bytes()
    Path("half.net").write_bytes(whole[: len(whole) // 2])
    ending = end_of("export", "last.safetensors", "-o", "half.net")
    assert ending.code == 2
    assert "found a damaged file; choose another name, or remove that file first" in ending.error
