"""What can go wrong while a file is written: kills at chosen or random moments, and disk faults.

Every fault happens to a forked child. The parent never runs a compiled kernel, because OpenMP's
threads do not survive a fork.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pathlib
import resource
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Action = Callable[[Path], None]

_NEW_MOUNTS, _NEW_USER = 0x00020000, 0x10000000
_READ_ONLY, _REMOUNT = 1, 32


def forked(child: Callable[[], None]) -> tuple[int, str]:
    """Run ``child`` in a fork; return its wait status and the error that it ended with."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        code = 0
        try:
            child()
        except BaseException as error:
            os.write(write, f"{type(error).__name__}: {error}".encode()[:4000])
            code = 2
        os._exit(code)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read().decode(errors="replace")
    return os.waitpid(pid, 0)[1], said


def killed_at_random(action: Action, folder: Path, rng: np.random.Generator, most: float) -> bool:
    """Let a child repeat ``action`` and kill it within ``most`` seconds; True if it was killed."""
    pid = os.fork()
    if pid == 0:
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
        while True:
            action(folder)
    time.sleep(float(rng.uniform(0, most)))
    os.kill(pid, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(pid, 0)[1])


def killed_in_the_window(action: Action, folder: Path, call: str, number: int, after: bool) -> bool:
    """Kill a child at the ``number``-th call of fsync, replace or rename, before or after it."""

    def child() -> None:
        counted = [0]

        def dying(original: Callable[..., Any]) -> Callable[..., Any]:
            def die(*values: Any, **named: Any) -> Any:
                counted[0] += 1
                if counted[0] == number and not after:
                    os.kill(os.getpid(), signal.SIGKILL)
                result = original(*values, **named)
                if counted[0] == number:
                    os.kill(os.getpid(), signal.SIGKILL)
                return result

            return die

        if call == "fsync":
            os.fsync = dying(os.fsync)
        elif call == "write":
            pathlib.Path.write_bytes = dying(pathlib.Path.write_bytes)  # type: ignore[method-assign]
        else:
            pathlib.Path.replace = dying(pathlib.Path.replace)  # type: ignore[method-assign]
            pathlib.Path.rename = dying(pathlib.Path.rename)  # type: ignore[method-assign]
        action(folder)

    return os.WIFSIGNALED(forked(child)[0])


def slow_disk(seconds: float) -> None:
    """Let each fsync of this process, and each write of a whole file, take ``seconds`` at least."""
    sync = os.fsync
    parts = 8

    def slow_sync(descriptor: Any) -> None:
        time.sleep(seconds)
        sync(descriptor)

    def slow_write(path: Path, data: Any) -> int:
        view = memoryview(data)
        size = -(-len(view) // parts) or 1
        with path.open("wb", buffering=0) as file:
            for start in range(0, len(view), size):
                file.write(view[start : start + size])
                time.sleep(seconds / parts)
        return len(view)

    os.fsync = slow_sync  # type: ignore[assignment]
    pathlib.Path.write_bytes = slow_write  # type: ignore[method-assign, assignment]


def on_a_slow_disk(
    action: Action, folder: Path, seconds: float, look: Callable[[], None], kill: float | None
) -> tuple[int, int]:
    """Run ``action`` on a slow disk, call ``look`` until it ends, or kill it after ``kill`` s.

    Returns
    -------
    The wait status of the child, and how often ``look`` was called.
    """
    pid = os.fork()
    if pid == 0:
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
        slow_disk(seconds)
        try:
            action(folder)
        except BaseException:
            os._exit(2)
        os._exit(0)
    until, looks = None if kill is None else time.monotonic() + kill, 0
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return status, looks
        if until is not None and time.monotonic() > until:
            os.kill(pid, signal.SIGKILL)
            until = None
        look()
        looks += 1
        time.sleep(0.01)


def file_size_limit(size: int) -> None:
    """Let no file of this process grow beyond ``size`` bytes."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def own_mounts() -> None:
    """Give this process mounts of its own, as root or in a user namespace; raise OSError if not."""
    user = os.geteuid()
    flags = _NEW_MOUNTS | (_NEW_USER if user else 0)
    if _libc().unshare(flags):
        raise OSError(ctypes.get_errno(), "unshare")
    if user:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")
    private = 1 << 18 | 1 << 14  # MS_PRIVATE | MS_REC: mounts stay inside
    _libc().mount(b"none", b"/", None, private, None)


def small_disk(folder: Path, size: int, read_only: bool = False) -> None:
    """Mount a memory disk of ``size`` bytes over ``folder``, or make the one there read-only."""
    flags = _READ_ONLY | _REMOUNT if read_only else 0
    options = f"size={size}".encode()
    if _libc().mount(b"tmpfs", os.fsencode(folder), b"tmpfs", flags, options):
        raise OSError(ctypes.get_errno(), "mount")


def fill(filler: Path, left: int) -> None:
    """Fill the disk of ``filler``, except for about ``left`` bytes."""
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))
    os.truncate(filler, max(0, filler.stat().st_size - left))


def can_mount() -> str | None:
    """Say why small disks cannot be mounted here; None if they can."""

    def child() -> None:
        own_mounts()
        small_disk(Path("/tmp"), 1 << 16)

    status, said = forked(child)
    return said if status else None
