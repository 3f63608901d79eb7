"""What a command may write over: its own earlier output, never its input or anything else.

Every command with an option for its output asks here before it computes anything.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from pathlib import Path

from export.netx.hdf5_kinds import NETX as NETX
from export.netx.hdf5_kinds import hdf5_with
from training.support.atomic import checked_target
from training.support.replaceable import FileKind, beginning, require_replaceable
from training.trainer.run_folder import BEST, CONFIG, LAST, METRICS, TABLE

Inputs = Mapping[str, str | os.PathLike[str] | None]
"""The files that a command reads, by the names of their options; None where one was not given."""

OUTPUT = "--output"
"""The option for the output of most commands."""

_HEAD = 1 << 20
"""Bytes at the beginning of a file of text in which its kind shows."""


def _text_with(name: str, start: bytes, word: bytes) -> FileKind:
    def holds(path: Path) -> bool:
        with path.open("rb") as file:
            head = file.read(_HEAD)
        return head.startswith(start) and word in head

    return FileKind(name, holds)


def _is_trace(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return False
    layers = [name for name in names if name.startswith(("spikes/", "v/", "theta/"))]
    return bool(layers) and sorted(names) == sorted(["logits.npy", *layers])


def _is_checkpoint(path: Path) -> bool:
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        head = file.read(min(size, _HEAD))
    return head.startswith(b"{") and b'"__metadata__"' in head and b'"celif"' in head


NIR = hdf5_with("node", "a NIR file")
TRACE = FileKind("a trace of celif simulate or run", _is_trace)
PAGE = beginning("an HTML page", b"<!doctype html", b"<html")
PNG = beginning("a PNG picture", b"\x89PNG\r\n\x1a\n")
SVG = _text_with("an SVG picture", b"<", b"<svg")
CHECKPOINT = FileKind("a checkpoint of celif", _is_checkpoint)
PROFILE = _text_with("figures of profilers", b"{", b'"figures"')
_RUN_FILES = {
    LAST: CHECKPOINT,
    BEST: CHECKPOINT,
    CONFIG: _text_with("the config.json of a run", b"{", b'"recipe"'),
    METRICS: _text_with("the metrics.json of a run", b"{", b'"recipe"'),
    TABLE: beginning("the metrics.csv of a run", b"epoch,"),
}
"""What a training run writes into its folder."""


def picture_kind(path: Path) -> FileKind:
    """The kind of a picture by the end of its name, as matplotlib chooses it."""
    return SVG if path.suffix.lower() == ".svg" else PNG


def require_output(
    path: Path | None, kind: FileKind | None, inputs: Inputs, option: str = OUTPUT,
    remedy: str = "choose another name",
) -> None:  # fmt: skip
    """Refuse to write to a file that the command reads, or to one of another kind.

    Parameters
    ----------
    path
        What the command will write; None if it was not asked to.
    kind
        What it will write there; None if that must not replace anything.
    inputs
        What it reads, and ``--output`` if it has another one.
    option
        The option that named ``path``.
    remedy
        What to do where a new name is needed, besides removing the file.
    """
    if path is None:
        return
    for name, file in inputs.items():
        if file is not None and _same(path, file):
            taken = f"the command's own input, got that of {name}, {file}"
            raise ValueError(
                f"{option} {path}: expected another file than "
                f"{name if name == OUTPUT else taken}; choose another name"
            )
    if kind is None:
        _require_new(path, option, remedy)
    else:
        require_replaceable(path, kind, option)


def require_folder(folder: Path, inputs: Inputs | None = None, option: str = "--out") -> None:
    """Refuse a folder that cannot be one, or that holds what the command reads."""
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(
            f"{option} {folder}: expected a folder or a new name, found a file; choose another name"
        )
    inside = Path(os.path.realpath(folder))
    for name, file in (inputs or {}).items():
        if file is not None and inside in Path(os.path.realpath(file)).parents:
            raise ValueError(
                f"{option} {folder}: expected a folder without the command's own input, got that "
                f"of {name}, {file}; choose another folder"
            )


def require_run_folder(folder: Path, inputs: Inputs, option: str = "--out") -> None:
    """Refuse a folder in which a training run would write over what is not of a run."""
    require_folder(folder, option=option)
    for name, kind in _RUN_FILES.items():
        if (folder / name).exists():
            require_output(folder / name, kind, inputs, option)


def _require_new(path: Path, option: str, remedy: str) -> None:
    if checked_target(path, folder=False)[1] is not None:
        raise FileExistsError(
            f"{option} {path}: expected a new file, found one; {remedy}, or remove that file first"
        )


def _same(path: Path, file: str | os.PathLike[str]) -> bool:
    try:
        return os.path.samefile(path, file)
    except OSError:  # one of them does not exist
        return os.path.realpath(path) == os.path.realpath(file)
