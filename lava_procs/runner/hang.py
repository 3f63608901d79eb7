"""Who is behind: what each process of a run that hangs is doing, without its help.

The worker registers a handler that writes a process's Python stack to a file, and says which
processes Lava started; all of them inherit the handler. The guard signals one after the other
and reads the stacks: most wait for a message, and the one that does not is the one they wait for.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import re
import signal
import time
from collections.abc import Mapping
from pathlib import Path

SIGNAL = signal.SIGUSR1
_PATIENCE = 0.5
_SHOWN = 6
"""Innermost frames to show."""

# Where Lava's models wait for input, for room in a channel or for the next command.
_WAITING = re.compile(r"pypychannel\.py|message_infrastructure|multiprocessing/connection\.py")
_FRAME = re.compile(r'^  File "(?P<file>.*)", line (?P<line>\d+) in (?P<function>.*)$', re.M)


def _stacks(folder: str) -> Path:
    return Path(folder, "stacks.txt")


def _processes(folder: str) -> Path:
    return Path(folder, "processes.json")


def register(folder: str) -> None:
    """Let this process, and those that it forks from now on, write their stacks when signalled."""
    # Unbuffered and never closed: the handler writes to its descriptor, in the children as well.
    file = _stacks(folder).open("ab", buffering=0)
    faulthandler.register(SIGNAL, file=file, all_threads=True, chain=False)


def announce(folder: str, processes: Mapping[int, str]) -> None:
    """Say which processes take part, by their ids; only those may be signalled."""
    draft = _processes(folder).with_suffix(".draft")
    draft.write_text(json.dumps({str(pid): name for pid, name in processes.items()}))
    draft.replace(_processes(folder))


def behind(folder: str) -> str:
    """What the run waits for, as a sentence; empty where nothing can be said.

    Called by the guard, the parent of the worker, while everything still runs.
    """
    try:
        processes = {int(k): v for k, v in json.loads(_processes(folder).read_text()).items()}
    except (OSError, ValueError):
        return "it was still being built"
    busy, waiting = [], []
    for pid, name in processes.items():
        stack = _ask(folder, pid)
        if stack is None:
            busy.append(f"{name} is behind, and does not answer ({_state(pid)})")
        elif _waits(stack):
            waiting.append(name)
        else:
            busy.append(f"{name} is behind:\n{_shown(stack)}")
    if busy:
        return "\n".join(busy)
    return f"each of its {len(waiting)} processes waits for another"


def _ask(folder: str, pid: int) -> list[re.Match[str]] | None:
    """The frames of a process's main thread, innermost first, or None if it does not answer."""
    file = _stacks(folder)
    start = file.stat().st_size
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, SIGNAL)
    deadline = time.monotonic() + _PATIENCE
    text = ""
    while time.monotonic() < deadline:
        time.sleep(0.02)
        with file.open("rb") as f:
            f.seek(start)
            text, former = f.read().decode(errors="replace"), text
        if text and text == former:  # written to the end
            break
    # Lava's channels have threads of their own; the oldest thread comes last.
    frames = list(_FRAME.finditer(re.split(r"^(?:Current thread|Thread) ", text, flags=re.M)[-1]))
    return frames or None


def _waits(stack: list[re.Match[str]]) -> bool:
    return any(_WAITING.search(frame["file"]) for frame in stack[:4])


def _shown(stack: list[re.Match[str]]) -> str:
    """As a traceback shows it: innermost frame last."""
    return "\n".join(
        f'  File "{frame["file"]}", line {frame["line"]}, in {frame["function"]}'
        for frame in reversed(stack[:_SHOWN])
    )


def _state(pid: int) -> str:
    try:
        # After the name, which may hold spaces and brackets.
        letter = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return "it is gone"
    return {"T": "it is stopped", "D": "it waits for a device"}.get(letter, f"state {letter}")
