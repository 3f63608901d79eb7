"""The arguments of a run: checked, with their defaults filled in."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection

from export import FixedNetwork, read_netx, write_netx
from lava_procs.loihi.host import Loihi, LoihiMissingError, missing
from lava_procs.runner.inline_session import ForkedInlineSession
from lava_procs.runner.session import Probed, Session, check_precision

RUNTIMES = ("inline", "lava")
"""What may run Lava's models on this CPU."""


def checked(
    net: str | os.PathLike[str] | FixedNetwork,
    precision: str,
    trace: bool,
    probe: Collection[str] | None,
    layers: Collection[int] | None,
) -> tuple[FixedNetwork, Probed]:
    """Return the network, and what is to be seen of it."""
    fixed = net if isinstance(net, FixedNetwork) else read_netx(net)
    check_precision(precision)
    return fixed, Probed.of(fixed, trace, probe, layers)


def check_runtime(runtime: str) -> None:
    """Refuse a runtime that there is not."""
    if runtime not in RUNTIMES:
        raise ValueError(f"runtime: expected {' or '.join(map(repr, RUNTIMES))}, got {runtime!r}")


def session_kind(runtime: str) -> type[Session]:
    """Return the session for runs in processes of their own."""
    return ForkedInlineSession if runtime == "inline" else Session


def chip_of(target: str | Loihi, precision: str, workers: int | None) -> Loihi | None:
    """Return the chip to run on, all of whose pieces are there; None for this CPU."""
    if target == "lava":
        return None
    chip = Loihi() if target == "loihi2" else target
    if not isinstance(chip, Loihi):
        raise ValueError(f"target: expected 'lava', 'loihi2' or a Loihi, got {target!r}")
    if precision != "fixed":
        raise ValueError(f"precision: expected 'fixed', all that Loihi has, got {precision!r}")
    if workers != 1:
        raise ValueError(f"workers: expected 1, as there is one chip, got {workers}")
    if (reason := missing(chip)) is not None:
        raise LoihiMissingError(reason)
    return chip


def file_of(net: str | os.PathLike[str] | FixedNetwork, root: str) -> str:
    """Return a file that holds the network."""
    if not isinstance(net, FixedNetwork):
        return os.fspath(net)
    path = f"{root}/net.net"
    write_netx(net, path)
    return path


def new_folder(root: str) -> str:
    """Make a folder for the traces of one network."""
    return tempfile.mkdtemp(dir=root)


def count_of(workers: int | None) -> int:
    """Return how many networks run side by side; None stands for every core."""
    if workers is None:
        if hasattr(os, "sched_getaffinity"):
            return len(os.sched_getaffinity(0))
        return os.cpu_count() or 1
    if workers < 1:
        raise ValueError(f"workers: expected 1 or more, or None for every core, got {workers}")
    return workers
