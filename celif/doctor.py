"""What is installed, what works, which rungs can run here and why not: one line each."""

from __future__ import annotations

import importlib
import os
import platform
import resource
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from hw_tests.backends import TARGETS
from hw_tests.ladder import CHIP, RUNGS
from lava_procs.mends import lava_command

OK, NOTE, MISSING = "ok", "note", "missing"

# Distribution, the versions that celif is made for, and what installs them.
_PACKAGES = (
    ("celif-lava", "", "pip install -e ."),
    ("torch", "", "pip install 'torch>=2.3'"),
    ("numpy", "", "pip install 'numpy>=1.26'"),
    ("numba", "", "pip install 'numba>=0.59'"),
    ("h5py", "", "pip install 'h5py>=3.10'"),
    ("lava-nc", "0.10.", lava_command()),
    ("lava-dl", "0.6.", lava_command()),
)
_PYTHONS = (3, 10), (3, 13)
"""The oldest and the newest Python that celif is tested with."""
_GB = 1e9
_LEAST_DISK, _LEAST_SHARED, _LEAST_FILES = 1 * _GB, 0.05 * _GB, 1024


@dataclass(frozen=True)
class Check:
    """One line: what was looked at, what was found, and what to do where it is not well.

    ``state`` is ``ok``, ``note`` (works, but worth knowing) or ``missing``.
    """

    group: str
    name: str
    state: str
    found: str
    remedy: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


def examine(chip: dict[str, Any] | None = None) -> Iterator[Check]:
    """Look at everything, from what is installed to the chip.

    ``chip`` has arguments of :class:`lava_procs.Loihi`; with None the chip is looked for all the
    same, but nothing about it counts as missing.
    """
    yield from _software()
    yield from _machine()
    lava = list(_lava())
    yield from lava
    yield from _rungs(chip)
    if all(check.state == OK for check in lava):
        yield from _chip(chip)


def _software() -> Iterator[Check]:
    version = platform.python_version()
    tested = _PYTHONS[0] <= sys.version_info[:2] <= _PYTHONS[1]
    remedy = "celif is tested with Python 3.10 to 3.13: make setup"
    yield Check("software", "Python", OK if tested else NOTE, version, "" if tested else remedy)
    for name, wanted, remedy in _PACKAGES:
        try:
            found = metadata.version(name)
        except metadata.PackageNotFoundError:
            yield Check("software", name, MISSING, "not installed", remedy)
            continue
        fits = found.startswith(wanted)
        other = f"celif is tested with {wanted}x: {remedy}"
        yield Check("software", name, OK if fits else NOTE, found, "" if fits else other)


def _machine() -> Iterator[Check]:
    import torch

    from training.support import compiled

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    yield Check("machine", "cores", OK, f"{cores}")
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "none; training uses cores"
    yield Check("machine", "GPU", OK, gpu)
    places = {
        "disk here": (Path.cwd(), _LEAST_DISK, "free some, or work elsewhere"),
        "temporary files": (
            Path(tempfile.gettempdir()),
            _LEAST_DISK,
            "traces go there: free some, or set TMPDIR",
        ),
        "shared memory": (
            Path("/dev/shm"),
            _LEAST_SHARED,
            "Lava's messages go there: in a container, start it with --shm-size=1g",
        ),
    }
    for name, (place, least, remedy) in places.items():
        if not place.is_dir():
            continue
        free = shutil.disk_usage(place).free
        enough = free >= least
        found = f"{free / _GB:.1f} GB free in {place}"
        yield Check("machine", name, OK if enough else NOTE, found, "" if enough else remedy)
    problem = compiled.why_not_cached()
    remedy = "kernels are compiled in every process: give the folder to yourself alone (chmod 700)"
    found = problem or "kept in a private folder"
    yield Check(
        "machine", "compiled kernels", NOTE if problem else OK, found, remedy if problem else ""
    )
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    enough = files == resource.RLIM_INFINITY or files >= _LEAST_FILES
    remedy = "Lava's networks open hundreds: ulimit -n 4096"
    yield Check(
        "machine", "open files", OK if enough else NOTE, f"up to {files}", "" if enough else remedy
    )


def _lava() -> Iterator[Check]:
    """Whether Lava can be imported, and whether a network of it runs."""
    try:
        importlib.import_module("lava_procs.import_lava")
        lava_procs = importlib.import_module("lava_procs")
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
        yield Check("Lava", "import", MISSING, found, f"install it again: {lava_command()}")
        return
    yield Check("Lava", "import", OK, "works")
    import numpy as np

    from export import simulate
    from hw_tests.networks.random_nets import random_network

    net = random_network(np.random.default_rng(0), (3,), 4)
    x = np.full((1, 2, 4), 15)
    try:
        logits = lava_procs.run(net, x, trace=False, timeout=120).logits
    except lava_procs.LavaRunError as error:
        first = str(error).splitlines()[0]
        yield Check("Lava", "a small run", MISSING, first, "see the lines above for what is short")
        return
    same = bool((logits == simulate(net, x).logits).all())
    yield Check(
        "Lava",
        "a small run",
        OK if same else MISSING,
        "equal to the twin" if same else "differs from the twin",
        "" if same else "run celif verify on a network of yours, and report what it says",
    )


def _rungs(options: dict[str, Any] | None) -> Iterator[Check]:
    rungs = RUNGS
    if options:
        from lava_procs import Loihi

        rungs = tuple(rung.on(Loihi(**options)) for rung in RUNGS)
    for rung in rungs:
        reason = rung.why_not(TARGETS)
        state = OK if reason is None else NOTE if rung.number == CHIP else MISSING
        found, _, remedy = (reason or "can run").partition("; ")
        yield Check("ladder", f"rung {rung.number}, {rung.compared}", state, found, remedy)


def _chip(options: dict[str, Any] | None) -> Iterator[Check]:
    from lava_procs.loihi.host import Loihi, pieces

    if sys.version_info[:2] != (3, 10):
        remedy = "Intel's extension of Lava is made for Python 3.10: use that to reach a chip"
        yield Check("Loihi 2", "Python", NOTE, platform.python_version(), remedy)
    for piece in pieces(Loihi(**(options or {}))):
        state = OK if piece.found else NOTE if options is None else MISSING
        remedy = "" if piece.found else piece.remedy
        yield Check("Loihi 2", piece.name, state, "there" if piece.found else "missing", remedy)
