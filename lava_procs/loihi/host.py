"""Find a Loihi 2, reach it, and say what is missing if there is none.

Nothing here needs Intel's extension of Lava (``lava-loihi``, for members of INRC): what it brings
is looked for by name before anything is imported, because Lava's own calls fail in ways that do
not say why (a NameError in ``Loihi2HwCfg``, a FileNotFoundError where there is no ``sinfo``).
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from lava.utils import loihi as lava_loihi

from lava_procs.loihi.chip_models import GROUP, chip_models
from lava_procs.loihi.nc_celif import UCODE
from lava_procs.processes.celif.process import CELIF

_ASK_INTEL = (
    "install Intel's lava-loihi into this Python; members of INRC get it "
    "(http://neuromorphic.intel.com, inrc_interest@intel.com)"
)
_BROUGHT = "install Intel's lava-loihi, which brings it"


class LoihiMissingError(ImportError):
    """Raised when something that a run on the chip needs is missing; says what to do."""


@dataclass(frozen=True)
class Loihi:
    """A Loihi 2: which one, how to reach it, and what runs on it.

    What is left out comes from the environment, by the names that Lava's own utilities use.

    Attributes
    ----------
    host
        Address of a host that is reached directly (``NXSDKHOST``), or ``"slurm"``; by default
        SLURM, unless the environment has an address.
    partition, board
        Names that SLURM has for them (``PARTITION``, ``BOARD``); give one of the two.
    generation
        Generation of the chip (``LOIHI_GEN``), by default N3C1, the one that public scripts of 2025
        use.
    hybrid
        Synapses on the chip, CELIF on the host: needs no on-chip model of CELIF.
    profile
        A JSON file to which the figures of the extension's profilers are written
        (:mod:`lava_procs.loihi.profile`); None attaches none.
    adapter_steps
        Time steps that a spike takes from the host to the chip, and back, beyond those of its
        synapse. Both are 0 by default: so it is in a published trace of a Loihi 2
        (:mod:`hw_tests.recorded`) and in lava-dl's tests on the chip.
    """

    host: str | None = None
    partition: str | None = None
    board: str | None = None
    generation: str | None = None
    hybrid: bool = False
    profile: str | None = None
    adapter_steps: tuple[int, int] = (0, 0)

    def __post_init__(self) -> None:
        if self.address and (self.partition or self.board):
            raise ValueError(
                f"host {self.address}: expected no partition or board, which SLURM's hosts have, "
                f"got {self.partition or self.board}; leave out one or the other"
            )
        names = [generation.name for generation in lava_loihi.ChipGeneration]
        if self.chip not in names:
            raise ValueError(f"generation: expected one of {', '.join(names)}, got {self.chip!r}")
        if len(self.adapter_steps) != 2 or min(self.adapter_steps) < 0:
            raise ValueError(
                "adapter_steps: expected two numbers, 0 or more, to the chip and back, "
                f"got {self.adapter_steps}"
            )

    @property
    def address(self) -> str | None:
        """Address of a host that is reached directly; None for SLURM."""
        if self.host is not None:
            return None if self.host.lower() == "slurm" else self.host
        if self.partition or self.board or "SLURM" in os.environ:
            return None
        return os.environ.get("NXSDKHOST")

    @property
    def chip(self) -> str:
        """Name of the generation."""
        default = lava_loihi.ChipGeneration.N3C1.name
        return self.generation or os.environ.get("LOIHI_GEN", default)

    def __str__(self) -> str:
        where = self.address or self.board or self.partition or os.environ.get("PARTITION")
        return f"Loihi 2 ({self.chip}) at {where or 'any host that SLURM gives'}"

    @contextmanager
    def reached(self) -> Iterator[None]:
        """Tell Lava which host to use, by its own calls; the environment is put back afterwards.

        Raises
        ------
        ValueError
            The host, the board or the partition is not there, or is down.
        """
        before, host = dict(os.environ), lava_loihi.host
        generation = lava_loihi.ChipGeneration[self.chip]
        try:
            if self.address:
                binary = os.environ.get("HOST_BINARY")
                extra = {} if binary is None else {"host_binary_path": binary}
                lava_loihi.use_ethernet_host(
                    host_address=self.address, loihi_gen=generation, **extra
                )
            else:
                places = {
                    "PARTITION": self.partition or os.environ.get("PARTITION"),
                    "BOARD": self.board or os.environ.get("BOARD"),
                }
                # Given either, Lava 0.10 fails on the last, empty line of sinfo's answer, and
                # takes a partition for down if its first board is (its issues 753 and 754).
                lava_loihi.use_slurm_host(loihi_gen=generation)
                _check_slurm(places["PARTITION"], places["BOARD"])
                os.environ.update({name: value for name, value in places.items() if value})
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)
            lava_loihi.host = host


def _check_slurm(partition: str | None, board: str | None) -> None:
    """Refuse a partition or a board that SLURM does not have, or that is down."""
    if partition is None and board is None:
        return
    command = ["sinfo", "--noheader", "--Node", "--format=%N %R %T"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise ValueError(f"SLURM: expected sinfo to list the boards, found {error}") from None
    rows = [line.split() for line in answer.stdout.splitlines() if len(line.split()) == 3]
    for name, wanted, column in (("board", board, 0), ("partition", partition, 1)):
        if wanted is None:
            continue
        states = [state for *names, state in rows if names[column] == wanted]
        if not any("down" not in state for state in states):
            known = ", ".join(sorted({row[column] for row in rows})) or "none"
            raise ValueError(
                f"{name} {wanted}: expected one that SLURM has and that is up, found "
                f"{', '.join(states) or 'no such one'}; SLURM has {known} (run sinfo)"
            )
    if partition and board and [board, partition] not in [row[:2] for row in rows]:
        raise ValueError(f"board {board}: expected it in partition {partition}; name only one")


@dataclass(frozen=True)
class Piece:
    """One thing that a run on the chip needs; ``remedy`` says what to do without it."""

    name: str
    found: bool
    remedy: str


def pieces(chip: Loihi | None = None) -> list[Piece]:
    """List everything that a run on the chip needs, found or not; nothing is started."""
    chip = Loihi() if chip is None else chip
    parts = {
        "the compiler for neurocores": "lava.magma.compiler.subcompilers.nc.ncproc_compiler",
        "models for neurocores": "lava.magma.core.model.nc.model",
        "ports and Vars of such models": "lava.magma.core.model.nc.var",
        "models for embedded processors": "lava.magma.core.model.c.model",
        "adapters between host and chip": "lava.proc.embedded_io.spike",
        "probes of on-chip state": "lava.utils.loihi2_state_probes",
    }
    extension = "lava.utils.loihi2_profiler"  # what lava.utils.loihi.is_installed looks for
    found = [Piece(f"Intel's extension of Lava ({extension})", _present(extension), _ASK_INTEL)]
    found += [
        Piece(f"{name} ({module})", _present(module), _BROUGHT) for name, module in parts.items()
    ]
    if chip.address:
        command, why = "ping", "Lava pings the host before it uses it; install ping on this machine"
    else:
        command = "sinfo"
        why = (
            "run this on a machine with SLURM that knows the boards, such as an INRC login node, "
            "with its folder on PATH, or name a host's address with --host"
        )
    found.append(
        Piece(f"a way to {chip} (the command {command})", bool(shutil.which(command)), why)
    )
    if not chip.hybrid:
        found.append(_neuron())
    return found


def _neuron() -> Piece:
    """Look for an on-chip model of CELIF; NcCELIF lacks only its microcode."""
    name = "an on-chip model of CELIF, or the microcode for ours (NcCELIF)"
    remedy = (
        "name the microcode's file, which a member of INRC writes from `celif golden`, in "
        f"{UCODE}, or bring a model of your own by an entry point {GROUP!r} or "
        "lava_procs.register_chip_model(CELIF, Model), or use --hybrid, which keeps CELIF on the "
        "host"
    )
    try:
        return Piece(name, CELIF in chip_models(), remedy)
    except ImportError as error:  # no microcode, no extension, or a package that is broken
        return Piece(name, False, str(error))


def missing(chip: Loihi | None = None) -> str | None:
    """Name the first thing that is missing, in one sentence with its remedy, or return None."""
    first = next((piece for piece in pieces(chip) if not piece.found), None)
    return None if first is None else f"no Loihi 2: {first.name} is missing; {first.remedy}"


def _present(module: str) -> bool:
    if module in sys.modules:
        return True
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):  # a package above it is missing
        return False
