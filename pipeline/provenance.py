"""Whether a file is what its checkpoint exports to: quantised again, compared dataset by dataset.

The formats (exponents, bits, fractional bits, input encoding) are the file's; every integer that
follows from them and the floats is made anew. What then differs was changed, or made wrongly.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from export import FixedNetwork, QuantizedNetwork, simulate, write_netx
from export.blocks import block_stack
from export.exporter import digests
from export.stacks import Stack, network_stack, requantise_all
from hw_tests.trace import Difference, compare
from pipeline.floats import Source
from training import Network

COMPARED = "checkpoint, quantised again ↔ file"

_TE = "neuron/te"


@dataclass(frozen=True)
class DatasetDifference:
    """A dataset that is not what it should be, and its first value that is not."""

    dataset: str
    index: tuple[int, ...]
    expected: Any
    found: Any
    mismatches: int
    values: int

    @property
    def layer(self) -> int | None:
        """The layer it belongs to, if it belongs to one."""
        parts = self.dataset.split("/")
        return int(parts[2]) if parts[1] == "layer" else None

    @property
    def step(self) -> int | None:
        """The step that a value of a plain TE table is for."""
        is_te = self.dataset.endswith(_TE) and len(self.index) == 2
        return self.index[1] if is_te else None

    def __str__(self) -> str:
        where = self.dataset + (str(list(self.index)) if self.index else "")
        rest = f" ({self.mismatches:,} of {self.values:,} values)" if self.values > 1 else ""
        return f"{where}: expected {self.expected}, found {self.found}{rest}"


@dataclass(frozen=True)
class Provenance:
    """What the comparison of a file with its checkpoint found."""

    datasets: int
    values: int
    mismatches: int
    differences: tuple[DatasetDifference, ...]
    other_floats: tuple[str, ...]
    """Tensors whose sum in the file is not that of the checkpoint's."""
    effect: Difference | None
    """What the differing integers change first in a run of the given samples."""

    @property
    def equal(self) -> bool:
        """Whether the file has the integers of the checkpoint, and was made from its floats."""
        return not self.mismatches and not self.other_floats

    @property
    def verdict(self) -> str:
        """As a rung's."""
        return "equal" if self.equal else "DIFFERS"

    @property
    def detail(self) -> str:
        """What to say of a difference."""
        lines = []
        if self.other_floats:
            lines.append(
                f"the file was exported from another {', another '.join(self.other_floats)}"
            )
        elif self.differences:
            lines.append("the floats are the file's, its integers are not")
        return "; ".join([*lines, *map(str, self.differences[:3])])


def examine(fixed: FixedNetwork, source: Source, x: np.ndarray, graded: np.ndarray) -> Provenance:
    """Compare a file with what it was exported from.

    Parameters
    ----------
    x, graded
        Samples as the float network and as the twin take them, to find out what a difference
        changes; SLAYER's blocks learn their shape from them.
    """
    expected = quantise_again(source, fixed, x)
    ours, theirs = _datasets(expected), _datasets(fixed)
    differences = tuple(_differences(ours, theirs))
    other = sorted(
        name
        for name in (expected.digests.keys() | fixed.digests.keys() if fixed.digests else ())
        if expected.digests.get(name) != fixed.digests.get(name)
    )
    effect = None
    if differences:
        traces = (simulate(net, graded, trace=True) for net in (expected, fixed))
        effect = compare(*traces).first
    return Provenance(
        datasets=len(ours.keys() | theirs.keys()),
        values=sum(values.size for values in ours.values()),
        mismatches=sum(difference.mismatches for difference in differences),
        differences=differences,
        other_floats=tuple(other),
        effect=effect,
    )


def quantise_again(source: Source, formats: FixedNetwork, x: np.ndarray) -> FixedNetwork:
    """The integers of ``source`` in the formats of a file."""
    if isinstance(source, QuantizedNetwork):
        return replace(source.fixed(), digests=digests(source.stack()))
    stack = _stack(source, formats, x)
    check_same_shape(stack, formats)
    encoding = replace(formats.encoding, permutation=stack.permutation)
    return replace(requantise_all(stack, formats), encoding=encoding, digests=digests(stack))


def _stack(source: Source, formats: FixedNetwork, x: np.ndarray) -> Stack:
    return network_stack(source) if isinstance(source, Network) else block_stack(source, x)


def check_same_shape(stack: Stack, fixed: FixedNetwork) -> None:
    """Refuse a network that cannot be what the file was exported from."""
    ours = [layer.weight.shape for layer in fixed.all_layers]
    theirs = [layer.weight.shape for layer in stack.layers]
    if stack.readout is not None:
        theirs.append(stack.readout[0].shape)
    if ours != theirs or fixed.steps != stack.steps:
        expected, found = (
            f"{', '.join('×'.join(map(str, shape)) for shape in shapes)} weights"
            for shapes in (ours, theirs)
        )
        raise ValueError(
            f"net: expected {expected} and {fixed.steps} steps, as {fixed.path or 'the file'} "
            f"has, got {found} and {stack.steps}; pass the network it was exported from"
        )


def _datasets(network: FixedNetwork) -> dict[str, np.ndarray]:
    """Every dataset of the network's file by path, but the sums of the floats."""
    found: dict[str, np.ndarray] = {}

    def collect(group: h5py.Group, path: str) -> None:
        for name, item in group.items():
            if isinstance(item, h5py.Group):
                collect(item, f"{path}/{name}")
            else:
                found[f"{path}/{name}"] = np.asarray(item[()])

    with tempfile.TemporaryDirectory(prefix="celif-") as folder:
        path = Path(folder) / "again.net"
        write_netx(network, path)
        with h5py.File(path, "r") as f:
            for name in ("celif", "layer"):  # the tables of /te hang in their layers, too
                collect(f[name], f"/{name}")
    for i, layer in enumerate(network.layers):
        if (te := f"/layer/{i}/{_TE}") in found:
            found[te] = found[te][: layer.weight.shape[0]]  # of a table that wider layers share
    return {name: found[name] for name in found if not name.startswith("/celif/source/")}


def _differences(
    expected: dict[str, np.ndarray], found: dict[str, np.ndarray]
) -> Iterator[DatasetDifference]:
    for name in sorted(expected.keys() | found.keys()):
        ours, theirs = expected.get(name), found.get(name)
        if ours is None or theirs is None or ours.shape != theirs.shape:
            shape, other = ("none" if v is None else f"shape {v.shape}" for v in (ours, theirs))
            size = max(v.size for v in (ours, theirs) if v is not None)
            yield DatasetDifference(name, (), shape, other, mismatches=size, values=size)
            continue
        differs = np.atleast_1d(ours != theirs)
        if differs.any():
            index = tuple(np.argwhere(differs)[0].tolist()) if ours.ndim else ()
            yield DatasetDifference(
                name,
                index,
                ours[index].item(),
                theirs[index].item(),
                int(differs.sum()),
                ours.size,
            )
