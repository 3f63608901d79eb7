"""A fixture that looks for what a run may have left behind."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from multiprocessing import resource_tracker
from pathlib import Path

import psutil
import pytest

PROC, SHM = Path("/proc"), Path("/dev/shm")


def processes_named(name: str) -> list[int]:
    """Processes of that name, other than this one; a forked process has its parent's."""
    found = []
    for process in psutil.process_iter():
        try:
            comm = (PROC / str(process.pid) / "comm").read_text().strip()
        except OSError:
            continue
        if comm == name and process.pid != os.getpid():
            found.append(process.pid)
    return found


def segments() -> set[str]:
    """Shared memory that no living process has mapped: others may be running Lava just now."""
    unmapped = {path.name for path in SHM.iterdir()}
    for process in psutil.process_iter():
        try:
            maps = (PROC / str(process.pid) / "maps").read_text()
        except OSError:
            continue
        unmapped = {name for name in unmapped if name not in maps}
    return unmapped


def staying(left: set[str]) -> set[str]:
    """Return the segments that stay: those of runs side by side with this one soon vanish."""
    until = time.monotonic() + 60
    while left and time.monotonic() < until:
        time.sleep(0.1)
        left = left & segments()
    return left


@pytest.fixture
def leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fails if the test leaves a process, an open file, shared memory or a temporary file."""
    # The harder case: a tracker that is there already cleans up only when this process ends.
    resource_tracker.ensure_running()
    own, name = Path("/proc/self/comm"), f"celif-{os.getpid()}"
    before, shared, former = psutil.Process().num_fds(), segments(), own.read_text()
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    own.write_text(name)
    try:
        yield
        assert processes_named(name) == []
    finally:
        own.write_text(former)
    assert psutil.Process().num_fds() <= before  # an older file may be closed meanwhile
    assert list(folder.iterdir()) == []
    assert staying(segments() - shared) == set()
