"""Whether there is room for the messages of Lava's own runtime, which go through shared memory.

A full ``/dev/shm`` would end a model with a bus error in the middle of a run, and a read-only one
ends it with an error that names no file, so both are looked for before a run.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from export import FixedNetwork
from lava_procs.errors import LavaRunError

FOLDER = Path("/dev/shm")
"""Where Linux keeps shared memory; other systems have no such folder, and are not checked."""

_SLOTS, _BYTES, _PORTS = 64, 8, 3
"""Messages that a channel holds, bytes of a number in them, and channels between two layers."""
_LEAST = 1 << 20
"""Bytes for the messages that keep the models in step."""


def needed(net: FixedNetwork) -> int:
    """Return an estimate of the bytes that the channels of a network take."""
    values = net.encoding.channels + sum(layer.neurons for layer in net.all_layers)
    return _LEAST + _SLOTS * _BYTES * _PORTS * values


def check_shared_memory(size: int, networks: int = 1) -> None:
    """Raise :class:`LavaRunError` unless each network can have ``size`` bytes."""
    if not FOLDER.is_dir():
        return
    size *= networks
    try:
        with tempfile.NamedTemporaryFile(dir=FOLDER, prefix="celif-") as file:
            os.posix_fallocate(file.fileno(), 0, size)
    except OSError as error:
        raise LavaRunError(
            f"{FOLDER}: {error.strerror}; Lava's own runtime needs about {-(-size // 1024):,} kB "
            f"of shared memory there: free some or make it writable (in a container: "
            "--shm-size=1g), or use runtime='inline', which needs none"
        ) from None
