"""Reading a netx file with full validation: what comes back is what was written, or an error."""

from __future__ import annotations

import os
from dataclasses import replace

import h5py

from export.model.celif import CelifLayer
from export.model.network import KINDS, Encoding, FixedNetwork, Layer, ReadoutLayer, needed_gap
from export.model.task_label import TaskLabel
from export.netx import integrity
from export.netx.file_values import Values
from export.netx.names import AGAIN, FLATTEN, SIGNED, VERSION, NetxError
from export.netx.read_fields import read_fields
from export.netx.read_synapses import read_synapses
from export.netx.read_te import Tables

_DAMAGE = (
    OSError, RuntimeError, KeyError, ValueError, TypeError, ZeroDivisionError, OverflowError,
    MemoryError,
)  # fmt: skip
"""What h5py and numpy raise when they meet damage."""


def read_netx(path: str | os.PathLike[str]) -> FixedNetwork:
    """Read and validate a network, or raise :class:`NetxError`."""
    with integrity.open_netx(path) as f:
        try:
            signed = integrity.verify(path, integrity.datasets(path, f))
            return _Reader(path, f).network(signed)
        except NetxError:
            raise
        except _DAMAGE as error:
            found = f"damage ({type(error).__name__}: {error})"
            raise NetxError(path, "/", "a sound HDF5 file", found, AGAIN) from None


def read_layer(f: h5py.File, i: int, name: str) -> Layer:
    """Read layer ``i`` of an open file, validated, under another name for its errors."""
    layer = _Reader(f.filename, f).layer(f"layer/{i}", f"layer {i}")
    return replace(layer, name=name)


class _Reader(Values):
    """Builds a network from the values of one open file."""

    def __init__(self, path: str | os.PathLike[str], f: h5py.File):
        super().__init__(path, f)
        self.tables = Tables(self, None)

    def network(self, signed: bool) -> FixedNetwork:
        if "celif" not in self.f:
            return self.loose_blocks()
        version = self.integer("celif/version")
        if not 1 <= version <= VERSION:
            remedy = "update celif-lava" if version > VERSION else f"the file is damaged, {AGAIN}"
            raise self.error("celif/version", f"1..{VERSION}", str(version), remedy)
        if version >= SIGNED and not signed:
            raise self.error(integrity.CHECKSUM[1:], "the checksum of the content", "none", AGAIN)
        self.tables.version = version
        layers = self.layers()
        readout = layers.pop() if isinstance(layers[-1], ReadoutLayer) else None
        if not layers:
            raise self.error("layer", "a layer that fires", "only a readout", AGAIN)
        for layer in layers:
            if isinstance(layer, ReadoutLayer):
                at = f"{self.groups[layer.name]}/neuron/type"
                raise self.error(at, "a readout only last", "layers after it")
        return self.checked(
            FixedNetwork,
            layers=tuple(layers),
            readout=readout,
            steps=self.integer("celif/steps"),
            gap=self.integer("celif/gap"),
            encoding=self.encoding(),
            digests={name: self.digest(name) for name in self.sources()},
            path=self.path,
            task=self.task(),
        )

    def task(self) -> TaskLabel | None:
        """The task that the file was made for, if it says so."""
        if "celif/task" not in self.f:
            return None
        words = self.text("celif/task/encoding") if "celif/task/encoding" in self.f else ""
        return self.checked(TaskLabel, name=self.text("celif/task/name"), encoding=words)

    def loose_blocks(self) -> FixedNetwork:
        """Read blocks that wrote themselves: their input is spikes, and their order gives lags."""
        kinds = [self.text(f"{at}/neuron/type") for at in self.places()]
        if set(kinds) != {CelifLayer.kind}:
            found = "none: a stock netx file; load it with lava_procs.Network"
            if CelifLayer.kind in kinds:
                found = f"none, and {' '.join(kinds)}: when these shift, only to_netx can write"
            raise self.error("celif", "the group that export.to_netx writes", found)
        layers: list[CelifLayer] = []
        lag = 1
        for layer in self.layers():
            assert isinstance(layer, CelifLayer)
            layers.append(replace(layer, lag=lag))
            lag += 1 - layer.delay_shift
        return self.checked(
            FixedNetwork,
            layers=tuple(layers),
            readout=None,
            steps=layers[0].te.shape[1],
            gap=needed_gap(layers),
            encoding=Encoding(layers[0].inputs, 1.0, 1, signed=False),
            digests={},
            path=self.path,
        )

    def digest(self, name: str) -> str:
        """Return the checksum of the tensor ``name``; both may be shown and must be printable."""
        found = self.text(f"celif/source/{name}")
        if not (name.isprintable() and found.isprintable()):
            raise self.error(f"celif/source/{name}", "printable text", repr(found), AGAIN)
        return found

    def sources(self) -> list[str]:
        found = self.f.get("celif/source", {})
        if isinstance(found, h5py.Dataset):
            raise self.error("celif/source", "a group", "a dataset")
        return list(found)

    def encoding(self) -> Encoding:
        order = self.array("celif/input/permutation", 1)
        return self.checked(
            Encoding,
            channels=self.integer("celif/input/channels"),
            scale=float(self.scalar("celif/input/scale", "f")),
            bits=self.integer("celif/input/bits"),
            signed=bool(self.scalar("celif/input/signed", "b")),
            permutation=order if order.size else None,
        )

    def places(self) -> list[str]:
        """Groups of the layers that have neurons."""
        places = [f"layer/{i}" for i in range(len(self.group("layer")))]
        return [at for at in places if self.text(f"{at}/type") != FLATTEN]

    def layers(self) -> list[Layer]:
        """Every layer; between an image and a dense layer there must be a flattening one."""
        layers: list[Layer] = []
        flat = False
        for i in range(len(self.group("layer"))):
            at = f"layer/{i}"
            if self.text(f"{at}/type") == FLATTEN:
                found = self.array(f"{at}/shape", 1).tolist()
                self.equal(f"{at}/shape", found, [layers[-1].neurons, 1, 1] if layers else None)
                flat = True
                continue
            layers.append(self.layer(at, f"layer {len(layers)}"))
            image = len(layers) > 1 and layers[-2].positions > 1
            expected = FLATTEN if image and layers[-1].geometry is None else "another"
            if (expected == FLATTEN) != flat:
                found = FLATTEN if flat else "another"
                raise self.error(f"layer/{i - 1}/type", f"{expected} before it", found)
            flat = False
        if flat or not layers:
            raise self.error("layer", "a layer that fires", f"only {FLATTEN}", AGAIN)
        return layers

    def layer(self, at: str, name: str) -> Layer:
        """The layer of the group ``at``."""
        self.groups[name] = at
        neuron = self.text(f"{at}/neuron/type")
        if neuron not in KINDS:
            expected, found = ", ".join(KINDS), f"{neuron!r}, which the twin cannot run"
            remedy = "export blocks of these with to_netx, load stock files with lava_procs.Network"
            raise self.error(f"{at}/neuron/type", expected, found, remedy)
        kind = KINDS[neuron]
        synapses = read_synapses(self, at)
        return self.checked(
            kind,
            name=name,
            lag=self.integer(f"{at}/lag"),
            delay_shift=bool(self.scalar(f"{at}/delayShift", "b")),
            **synapses,
            **read_fields(self, at, kind, self.tables, name, len(synapses["weight"])),
        )
