"""Check that a file holds the integers of its checkpoint, dataset by dataset.

The floats are quantised again in the formats of the file (exponents, bits, fractional bits, input
encoding). A dataset that then differs was changed after the export, or was exported wrongly.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np

from celif.verification.float_run import Source
from export import FixedNetwork, QuantizedNetwork, simulate, write_netx
from export.convert.float_network import FloatNetwork
from export.convert.to_integers import digests, read, requantise
from export.netx import integrity
from export.netx.names import FLATTEN
from hw_tests.trace_difference import Difference, compare

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
    layer: int | None
    """The network's layer that it belongs to, if it belongs to one."""

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
    """Tensors whose digest in the file is not that of the checkpoint."""
    effect: Difference | None
    """What the differing integers change first in a run of the given samples."""

    @property
    def equal(self) -> bool:
        """Whether the file has the integers of the checkpoint, and was made from its floats."""
        return not self.mismatches and not self.other_floats

    @property
    def verdict(self) -> str:
        """The verdict in the words of a rung: ``equal`` or ``DIFFERS``."""
        return "equal" if self.equal else "DIFFERS"

    @property
    def detail(self) -> str:
        """A description of the differences, for the terminal."""
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
    held = contents(expected)
    found = tuple(_differences(held, contents(fixed)))
    other = sorted(
        name
        for name in (expected.digests.keys() | fixed.digests.keys() if fixed.digests else ())
        if expected.digests.get(name) != fixed.digests.get(name)
    )
    effect = None
    if found:
        traces = (simulate(net, graded, trace=True) for net in (expected, fixed))
        effect = compare(*traces).first
    return Provenance(
        datasets=len(held.datasets),
        values=sum(values.size for values in held.datasets.values()),
        mismatches=sum(difference.mismatches for difference in found),
        differences=found,
        other_floats=tuple(other),
        effect=effect,
    )


def quantise_again(source: Source, formats: FixedNetwork, x: np.ndarray) -> FixedNetwork:
    """The integers of ``source`` in the formats of a file."""
    if isinstance(source, QuantizedNetwork):
        made = replace(source.fixed(), digests=digests(source.floats()))
        return replace(made, task=formats.task)  # which is not the network's to know
    floats = _floats(source, formats, x)
    check_same_shape(floats, formats)
    encoding = replace(formats.encoding, permutation=floats.permutation)
    return replace(requantise(floats, formats), encoding=encoding, digests=digests(floats))


def _floats(source: Source, formats: FixedNetwork, x: np.ndarray) -> FloatNetwork:
    return read(source, x)


def check_same_shape(floats: FloatNetwork, fixed: FixedNetwork) -> None:
    """Refuse a network that cannot be what the file was exported from."""
    ours = [layer.weight.shape for layer in fixed.all_layers]
    theirs = [layer.weight.shape for layer in floats.layers]
    if floats.readout is not None:
        theirs.append(floats.readout[0].shape)
    if ours != theirs or fixed.steps != floats.steps:
        expected, found = (
            f"{', '.join('×'.join(map(str, shape)) for shape in shapes)} weights"
            for shapes in (ours, theirs)
        )
        raise ValueError(
            f"net: expected {expected} and {fixed.steps} steps, as {fixed.path or 'the file'} "
            f"has, got {found} and {floats.steps}; pass the network it was exported from"
        )


class Contents(NamedTuple):
    """The datasets of a network's file by path, except the checksums."""

    datasets: dict[str, np.ndarray]
    layers: dict[str, int]
    """The layer of each dataset that belongs to one; a flattening entry of the file is no layer."""


def contents(network: FixedNetwork) -> Contents:
    """What the network's file holds."""
    datasets: dict[str, np.ndarray] = {}
    layers: dict[str, int] = {}

    def collect(group: h5py.Group, path: str, layer: int | None = None) -> None:
        for name, item in group.items():
            place = f"{path}/{name}"
            if isinstance(item, h5py.Group):
                collect(item, place, layer)
            elif place != integrity.CHECKSUM and not place.startswith("/celif/source/"):
                datasets[place] = np.asarray(item[()])
                if layer is not None:
                    layers[place] = layer

    with tempfile.TemporaryDirectory(prefix="celif-") as folder:
        file = Path(folder) / "again.net"
        write_netx(network, file)
        with h5py.File(file, "r") as f:
            collect(f["celif"], "/celif")
            number = 0  # the tables of /te hang in their layers, too
            for place in sorted(f["layer"], key=int):
                flatten = f[f"layer/{place}/type"][0] == FLATTEN.encode()
                collect(f[f"layer/{place}"], f"/layer/{place}", None if flatten else number)
                number += not flatten
    for place, i in layers.items():
        if place.endswith(_TE):
            rows = len(network.layers[i].weight)
            datasets[place] = datasets[place][:rows]  # of a table that wider layers share
    return Contents(datasets, layers)


def differences(expected: FixedNetwork, found: FixedNetwork) -> list[DatasetDifference]:
    """Every dataset in which the files of two networks differ, in the order of the layers."""
    return _differences(contents(expected), contents(found))


def _differences(ours: Contents, theirs: Contents) -> list[DatasetDifference]:
    layers = {**theirs.layers, **ours.layers}
    names = [*ours.datasets, *(name for name in theirs.datasets if name not in ours.datasets)]
    each = (
        _difference(name, ours.datasets.get(name), theirs.datasets.get(name), layers.get(name))
        for name in names
    )
    return [difference for difference in each if difference is not None]


def _difference(
    name: str, ours: np.ndarray | None, theirs: np.ndarray | None, layer: int | None
) -> DatasetDifference | None:
    if ours is None or theirs is None or ours.shape != theirs.shape:
        shape, other = ("none" if v is None else f"shape {v.shape}" for v in (ours, theirs))
        size = max(v.size for v in (ours, theirs) if v is not None)
        return DatasetDifference(name, (), shape, other, size, size, layer)
    differs = np.atleast_1d(ours != theirs)
    if not differs.any():
        return None
    index = tuple(np.argwhere(differs)[0].tolist()) if ours.ndim else ()
    values = _plain(ours[index]), _plain(theirs[index])
    return DatasetDifference(name, index, *values, int(differs.sum()), ours.size, layer)


def _plain(value: np.generic) -> Any:
    """Convert a value of a dataset for JSON and for messages."""
    found = value.item()
    return found.decode() if isinstance(found, bytes) else found
