"""New content is on the disk before its name is: a loss of power leaves the old or the new."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from training.support.atomic import atomic_file, atomic_folder


class Synced(NamedTuple):
    """A call of fsync: what was synced, its size, and what the target held at that moment."""

    inode: int
    size: int
    target: str | None


def watch(monkeypatch: pytest.MonkeyPatch, file: Path) -> list[Synced]:
    """Note every fsync from now on; ``file`` shows whether the target is the old or the new."""
    calls: list[Synced] = []

    def fsync(handle: int) -> None:
        found = os.fstat(handle)
        held = file.read_text() if file.exists() else None
        calls.append(Synced(found.st_ino, found.st_size, held))

    monkeypatch.setattr(os, "fsync", fsync)
    return calls


def when(calls: list[Synced], path: Path) -> list[tuple[int, str | None]]:
    """With which size, and before or after the renaming, a path was synced."""
    inode = path.stat().st_ino
    return [(call.size, call.target) for call in calls if call.inode == inode]


@pytest.mark.parametrize("former", [None, "old"], ids=["new", "replaced"])
def test_file_is_written_then_synced_then_renamed_then_its_folder_synced(
    tmp_path, monkeypatch, former
):
    path = tmp_path / "out"
    if former is not None:
        path.write_text(former)
    calls = watch(monkeypatch, path)
    with atomic_file(path) as draft:
        draft.write_text("second")
    assert when(calls, path) == [(len("second"), former)]
    assert [held for _, held in when(calls, tmp_path)] == ["second"]


def fill(folder: Path, text: str) -> None:
    (folder / "b").mkdir()
    for name in ("a", "b/c"):
        (folder / name).write_text(text)


def kit(folder: Path, monkeypatch: pytest.MonkeyPatch, former: str | None, swaps: bool) -> Path:
    target = folder / "kit"
    if former is not None:
        target.mkdir()
        fill(target, former)
    if not swaps:
        monkeypatch.setattr("ctypes.CDLL", lambda *_, **__: object())
    return target


@pytest.mark.parametrize(
    ("former", "swaps"),
    [(None, True), ("old", True), ("old", False)],
    ids=["new", "replaced", "replaced in two steps"],
)
def test_folder_is_written_then_synced_as_a_whole_then_renamed(
    tmp_path, monkeypatch, former, swaps
):
    target = kit(tmp_path, monkeypatch, former, swaps)
    calls = watch(monkeypatch, target / "b/c")
    with atomic_folder(target) as draft:
        fill(draft, "second")
    for name in ("a", "b/c"):
        assert when(calls, target / name) == [(len("second"), former)], name
    for name in ("b", "."):  # the names in each folder
        assert [held for _, held in when(calls, target / name)] == [former], name
    assert [held for _, held in when(calls, tmp_path)] == ["second"]
    assert calls[-1].inode == tmp_path.stat().st_ino


def write_file(path: Path) -> None:
    with atomic_file(path) as draft:
        draft.write_text("second")


def write_folder(path: Path) -> None:
    with atomic_folder(path) as draft:
        fill(draft, "second")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
@pytest.mark.parametrize(
    ("write", "shown"), [(write_file, "."), (write_folder, "b/c")], ids=["file", "folder"]
)
def test_content_that_cannot_be_synced_replaces_nothing(
    tmp_path, monkeypatch, write: Callable[[Path], None], shown: str, number: int
):
    """A disk may tell at the sync alone that it is full, as network disks do."""
    target = tmp_path / "out"
    if write is write_file:
        target.write_text("old")
    else:
        target.mkdir()
        fill(target, "old")

    def fsync(handle: int) -> None:
        raise OSError(number, "from below")

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match=r"out: could not be written .* is unchanged; ") as caught:
        write(target)
    assert caught.value.errno == number
    assert (target / shown).read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
