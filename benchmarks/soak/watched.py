"""Reading a file in a child with limits, in a folder where every access is seen.

Each attempt is a fork of a parent that has imported everything and run no compiled kernel. Its
address space, processor time and time are limited, its peak memory is measured, and inotify tells
the parent which files of the folder were opened, changed or made.
"""

from __future__ import annotations

import ctypes
import dataclasses
import hashlib
import json
import os
import resource
import select
import signal
import struct
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import numpy as np
import torch

SECONDS = 1.0
"""Processor time that reading a file may take."""
HANG = 30.0
"""Time after which an attempt counts as hanging, on a machine that is busy."""
MEGABYTES = 500
"""Memory that reading a file may take above what the process has."""

Outcome = str | Callable[[], str]
"""What reading gave, or what is still to be done for it once the time has been taken."""

NAMED, SAME, OTHER = "named error", "original's results", "other results"

_OPEN, _CHANGES = 0x20, 0x2 | 0x4 | 0x40 | 0x80 | 0x100 | 0x200  # of <sys/inotify.h>
_EVENT = struct.Struct("iIII")


@dataclasses.dataclass(frozen=True)
class Attempt:
    """How reading a file ended: NAMED, SAME, OTHER, or what must not happen."""

    outcome: str
    text: str = ""
    seconds: float = 0.0
    megabytes: float = 0.0


class Watch:
    """Sees which names of a folder are opened, changed, made or removed."""

    def __init__(self, folder: Path) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._events = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        mask = _OPEN | _CHANGES
        if self._events < 0 or libc.inotify_add_watch(self._events, os.fsencode(folder), mask) < 0:
            raise OSError(ctypes.get_errno(), "inotify")

    def close(self) -> None:
        """Stop watching."""
        os.close(self._events)

    def drain(self) -> set[tuple[str, bool]]:
        """Return what happened since the last call: names, and whether they were changed."""
        seen: set[tuple[str, bool]] = set()
        while True:
            try:
                data = os.read(self._events, 1 << 16)
            except BlockingIOError:
                return seen
            while data:
                _, mask, _, size = _EVENT.unpack_from(data)
                name = data[_EVENT.size : _EVENT.size + size].rstrip(b"\0")
                if name:
                    seen.add((os.fsdecode(name), bool(mask & _CHANGES)))
                data = data[_EVENT.size + size :]


def attempt(
    read: Callable[[], Outcome],
    named: tuple[type[Exception], ...],
    watch: Watch,
    own: Collection[str],
) -> Attempt:
    """Run ``read`` in a child; it returns SAME or OTHER, or raises.

    Only files called ``own`` may be opened, and none may be changed.
    """
    watch.drain()
    pipe, end = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(pipe)
        _child(read, named, end)
    os.close(end)
    said, hung = _said(pipe, pid)
    _, status = os.waitpid(pid, 0)
    told = json.loads(said) if said else {}
    result = Attempt(
        told.get("outcome", ""),
        told.get("text", ""),
        told.get("seconds", 0.0),
        told.get("megabytes", 0.0),
    )
    wrong = _wrong(result, status, hung, watch.drain(), own)
    return dataclasses.replace(result, outcome=wrong) if wrong else result


def _wrong(
    result: Attempt, status: int, hung: bool, seen: set[tuple[str, bool]], own: Collection[str]
) -> str:
    """Say what must not have happened, if anything."""
    strangers = sorted(name for name, changed in seen if changed or name not in own)
    if strangers:
        return f"another file was touched: {strangers}"
    if hung:
        return "hang"
    if status or not result.outcome:
        return f"crash (status {status})"
    if result.seconds > SECONDS:
        return f"slow ({result.seconds:.1f} s)"
    if result.megabytes > MEGABYTES or "MemoryError" in result.text:
        return f"too much memory ({result.megabytes:.0f} MB)"
    return ""


def _child(read: Callable[[], Outcome], named: tuple[type[Exception], ...], end: int) -> None:
    """Read within the limits, tell the parent, and end."""
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 1)
    os.dup2(sink, 2)
    limit = (int(_status("VmSize")) + 2 * MEGABYTES) << 20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    before = _status("VmRSS")
    begin, text = time.process_time(), ""
    seconds: float | None = None
    megabytes = 0.0
    try:
        outcome = read()
        seconds, megabytes = time.process_time() - begin, _status("VmHWM") - before
        outcome = outcome if isinstance(outcome, str) else outcome()
    except named as error:
        outcome, text = NAMED, str(error)
    except BaseException as error:
        outcome, text = f"exception {type(error).__name__}", str(error)
    if seconds is None:
        seconds, megabytes = time.process_time() - begin, _status("VmHWM") - before
    told = {
        "outcome": outcome, "text": text[:400], "seconds": seconds, "megabytes": megabytes,
    }  # fmt: skip
    os.write(end, json.dumps(told).encode())
    os._exit(0)


def _said(pipe: int, pid: int) -> tuple[bytes, bool]:
    """Return what a child wrote until its end, and whether it had to be killed."""
    said, hung, until = b"", False, time.monotonic() + HANG
    while True:
        ready, _, _ = select.select([pipe], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            os.kill(pid, signal.SIGKILL)
            hung = True
            break
        part = os.read(pipe, 1 << 16)
        if not part:
            break
        said += part
    os.close(pipe)
    return (b"" if hung else said), hung


def _status(field: str) -> float:
    """Return a size of this process in megabytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) / 1024
    raise OSError(f"/proc/self/status: expected {field}, found none")


def fingerprint(value: Any) -> str:
    """Return a hash over dataclasses, containers, arrays, tensors and plain values."""
    digest = hashlib.sha256()
    _feed(digest, value)
    return digest.hexdigest()


def _feed(digest: Any, value: Any) -> None:
    if isinstance(value, torch.Tensor):
        digest.update(f"tensor {value.dtype}".encode())
        value = value.detach().reshape(value.shape).numpy()
    if isinstance(value, np.ndarray):
        digest.update(f"array {value.dtype} {value.shape}".encode() + value.tobytes())
    elif dataclasses.is_dataclass(value):
        digest.update(type(value).__name__.encode())
        for field in dataclasses.fields(value):
            if field.name != "path":
                digest.update(field.name.encode())
                _feed(digest, getattr(value, field.name))
    elif isinstance(value, dict):
        digest.update(f"dict {len(value)}".encode())
        for key in sorted(value, key=str):
            digest.update(repr(key).encode())
            _feed(digest, value[key])
    elif isinstance(value, (list, tuple)):
        digest.update(f"list {len(value)}".encode())
        for each in value:
            _feed(digest, each)
    else:
        digest.update(f"{type(value).__name__} {value!r}".encode())
