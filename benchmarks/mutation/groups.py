"""Which sources get mutants, and which tests are expected to notice them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXCUSED = Path(__file__).with_name("excused.json")
"""Mutants that no test needs to notice, with the reason: most change nothing that is computed."""


@dataclass(frozen=True)
class SourceGroup:
    """A part of the sources, and files or folders of tests that concern it."""

    sources: tuple[str, ...]
    tests: tuple[str, ...]
    named: tuple[str, ...] = ()
    """Mutants that tests once did not see; they are in every sample."""

    def files(self) -> list[str]:
        """List the source files, relative to the root."""
        found: list[str] = []
        for source in self.sources:
            path = ROOT / source
            paths = sorted(path.rglob("*.py")) if path.is_dir() else [path]
            found += [p.relative_to(ROOT).as_posix() for p in paths]
        return found


GROUPS = {
    "steps": SourceGroup(
        ("export/steps",),
        (
            "export/tests/steps",
            "export/tests/twin",
            "export/tests/fit/test_microcode.py",
            "hw_tests/tests/test_oracle.py",
            "hw_tests/tests/test_kinds.py",
            "lava_procs/tests/processes/test_slayer_neurons.py",
        ),
    ),
    "netx": SourceGroup(
        ("export/netx",),
        (
            "export/tests/netx",
            "export/tests/convert/test_loose_blocks.py",
        ),
        ("export/netx/read.py _Reader.sources: not (isinstance(found, h5py.Dataset))",),
    ),
    "convert": SourceGroup(
        ("export/convert",),
        ("export/tests/convert", "export/tests/qat"),
        (
            "export/convert/choose.py Planner.propose: weight.any → weight.all",
            "export/convert/round.py integer_readout: -EXPONENT_MAX - 1: Sub → Add",
            "export/convert/round.py integer_readout: 1 → 0",
        ),
    ),
    "proof": SourceGroup(
        ("export/proof",),
        ("export/tests/proof", "export/tests/convert/test_choose.py"),
        ("export/proof/intervals.py _together: 1 → 2",),
    ),
    "te": SourceGroup(
        ("export/model/te.py",),
        (
            "export/tests/model",
            "export/tests/netx/test_hostile_te.py",
            "export/tests/netx/test_netx.py",
            "export/tests/convert/test_formats.py",
        ),
        ("export/model/te.py CosineTable.generator: 0 → 1",),
    ),
    "scans": SourceGroup(
        # Not row_sums.py, most of which writes operations of LLVM: mutants run as plain Python.
        tuple(f"training/kernels/scans/{name}.py" for name in ("celif", "adaptive", "gated")),
        ("training/tests/kernels", "training/tests/test_functional.py"),
        (
            "training/kernels/scans/celif.py hashed: x ^ key >> np.uint64(32): BitXor → BitAnd",
            "training/kernels/scans/celif.py hashed: 32 → 33",
        ),
    ),
}


def excused() -> dict[str, str]:
    """Reasons by the names of mutants."""
    return json.loads(EXCUSED.read_text(encoding="utf-8")) if EXCUSED.exists() else {}
