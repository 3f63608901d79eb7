"""Compare the vectors of another implementation with those of a kit."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hw_tests.golden.kit import (
    FORMAT,
    MANIFEST,
    MANIFEST_BYTES_MAX,
    NETWORK,
    digest,
    trace_of,
)
from hw_tests.golden.vectors import read_vectors
from hw_tests.trace_difference import Difference
from training.support.plain_files import read_json

Arrays = Mapping[str, np.ndarray]
# In the order in which they are computed, so that the first difference is the cause.
_ORDER = ("input", "sum", "theta", "v", "spikes", "logits")
_OPTIONAL = ("input", "sum")
"""What another implementation need not show."""


@dataclass(frozen=True)
class CheckResult:
    """Result of a comparison."""

    values: int
    mismatches: int
    file: str
    """The golden file with the first difference, within the kit."""
    first: Difference | None
    missing: tuple[str, ...]
    """Arrays of the kit that were not there to compare."""

    @property
    def equal(self) -> bool:
        """Whether nothing differs, as far as was compared."""
        return self.first is None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        first = self.first
        names = ("sample", "layer", "neuron", "step", "variable", "expected", "found")
        return {
            "equal": self.equal,
            "values": self.values,
            "mismatches": self.mismatches,
            "first": first and {"file": self.file, **{n: getattr(first, n) for n in names}},
            "missing": list(self.missing),
        }


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a kit whose files are what they should be, and inside its folder."""
    file = folder / MANIFEST
    _require_inside(folder, MANIFEST)
    try:
        manifest = read_json(file, MANIFEST_BYTES_MAX)
        version, sums = manifest["format"], dict(manifest["sha256"])
        traces = [trace_of(str(case["name"])) for case in manifest["cases"]]
    except (OSError, ValueError, KeyError, TypeError):
        raise ValueError(
            f"{folder}: expected a kit, found none; write one with celif golden NET -o {folder}"
        ) from None
    if version != FORMAT:
        raise ValueError(f"{file}: expected format {FORMAT}, found {version}; use that celif")
    for name in sums:
        _require_inside(folder, name)
    for name, expected in sums.items():
        part = folder / name
        there = os.path.isfile(part)  # unlike Path.is_file, False for a name that is too long
        if not there or digest(part) != expected:
            found = "changed" if there else "missing"
            raise ValueError(f"{part}: {found} since the kit was written; write the kit again")
    if unlisted := sorted(set(traces) - set(sums)):
        raise ValueError(f"{file}: expected the SHA-256 of {unlisted[0]!r}, found none")
    return dict(manifest)


def _require_inside(folder: Path, name: str) -> None:
    """Refuse the name of a file that leads out of the kit, by itself or by a link."""
    try:
        outside = not Path(os.path.realpath(folder / name)).is_relative_to(os.path.realpath(folder))
    except (OSError, ValueError):  # too long, or with a zero in it
        outside = True
    if outside:
        remedy = "write the kit again with celif golden"
        raise ValueError(
            f"{folder / MANIFEST}: expected files of the kit, found {name!r} outside it; {remedy}"
        )


def _by_case(given: Arrays, names: list[str], case: str | None) -> dict[str, Arrays]:
    """Arrays of each case: ``<case>/v/0`` of many, or ``v/0`` of one."""
    if case is not None and case not in names:
        raise ValueError(f"--case: expected one of {', '.join(names)}, got {case!r}")
    grouped: dict[str, dict[str, np.ndarray]] = {}
    for name, array in given.items():
        first, _, rest = name.partition("/")
        if first in names:
            grouped.setdefault(first, {})[rest] = array
        else:
            grouped.setdefault(case or NETWORK, {})[name] = array
    return {name: arrays for name, arrays in grouped.items() if case in (None, name)}


def _place(name: str, at: tuple[int, ...], layers: int, last: int) -> tuple[int, int, int, int]:
    """Sample, layer, neuron and step of a value of an array; logits are the last step's."""
    variable, _, layer = name.partition("/")
    if variable == "logits":
        return at[0], layers, at[1], last
    return at[0], int(layer or -1), at[1], at[2]


def _compare_case(golden: Arrays, found: Arrays, origin: str) -> tuple[int, int, list[Any]]:
    """Values, mismatches, and the first difference of each array with what sorts it."""
    layers = sum(name.startswith("spikes/") for name in golden)
    last = golden["input"].shape[2] - 1
    values = mismatches = 0
    firsts = []
    for name, ours in golden.items():
        theirs = found.get(name)
        if theirs is None:
            continue
        if theirs.shape != ours.shape:
            expected = f"expected shape {ours.shape}, found {theirs.shape}"
            remedy = "if it is of another case, name that with --case"
            raise ValueError(f"{origin} {name}: {expected}; {remedy}")
        differs = ours != theirs
        values += differs.size
        mismatches += int(np.count_nonzero(differs))
        if not differs.any():
            continue
        # Time before neurons: what comes first in a sample may be the cause of the rest.
        turned = differs.transpose(0, 2, 1) if differs.ndim == 3 else differs
        index = tuple(np.argwhere(turned)[0].tolist())
        at = (index[0], index[2], index[1]) if differs.ndim == 3 else index
        sample, layer, neuron, step = _place(name, at, layers, last)
        variable = name.partition("/")[0]
        order = (sample, step, layer, _ORDER.index(variable), neuron)
        values_there = ours[at].item(), theirs[at].item()
        difference = Difference(sample, layer, step, neuron, variable, *values_there)
        firsts.append((order, difference))
    return values, mismatches, firsts


def check(
    folder: str | os.PathLike[str], other: str | os.PathLike[str], case: str | None = None
) -> CheckResult:
    """Compare an archive of vectors with a kit.

    Parameters
    ----------
    folder
        The kit; its files are checked against its manifest first.
    other
        An npz archive with the kit's names: ``<case>/v/0`` and so on, or ``v/0`` for one case.
    case
        Compare only this one; without it, names that belong to no case are the given network's.
    """
    kit, theirs = Path(folder), Path(other)
    names = [about["name"] for about in read_manifest(kit)["cases"]]
    given = _by_case(read_vectors(theirs), names, case)
    if not given:
        raise ValueError(f"{theirs}: expected vectors of {case or 'some case'}, found none")
    values = mismatches = 0
    first: Difference | None = None
    file, missing = "", []
    single = set(given) == {case or NETWORK}
    for name in names:
        if name not in given:
            if not single:
                missing.append(name)
            continue
        path = trace_of(name)
        golden = read_vectors(kit / path)
        if unknown := sorted(set(given[name]) - set(golden)):
            expected = ", ".join(golden)
            raise ValueError(f"{theirs} {unknown[0]}: expected one of {expected} of case {name}")
        counted, wrong, firsts = _compare_case(golden, given[name], str(theirs))
        values, mismatches = values + counted, mismatches + wrong
        if firsts and first is None:
            first, file = min(firsts, key=lambda pair: pair[0])[1], path
        missing += [
            f"{name}/{array}"
            for array in golden
            if array not in given[name] and array.partition("/")[0] not in _OPTIONAL
        ]
    if not values:
        raise ValueError(f"{kit}: expected a case that {theirs} has values of, found none")
    return CheckResult(values, mismatches, file, first, tuple(missing))
