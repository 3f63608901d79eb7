"""The netx HDF5 file: writing it atomically, reading it with full validation.

``FORMAT.md`` specifies every dataset. A network in integers goes in and comes out; floats
become integers in :mod:`export.quantize`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from export.model import (
    CelifLayer,
    CubaLayer,
    Encoding,
    FixedNetwork,
    Layer,
    ModelError,
    ReadoutLayer,
)
from training.files import atomic_file

VERSION = 1

# neuron/<dataset> ↔ field, for the scalars of each neuron type.
CELIF_FIELDS = {
    "alphaMant": "alpha_mant",
    "betaMant": "beta_mant",
    "vThMant": "theta0_int",
    "teExp": "te_exp",
    "teBits": "te_bits",
    "wgtExp": "weight_exp",
    "wgtBits": "weight_bits",
    "fractionBits": "fraction_bits",
    "biasExp": "bias_exp",
}
READOUT_FIELDS = {"wgtExp": "weight_exp", "wgtBits": "weight_bits"}


class NetxError(ValueError):
    """A file that is not what it should be: which one, where, what was expected and found."""

    def __init__(self, path: str | os.PathLike[str], dataset: str, expected: str, found: str):
        self.path, self.dataset, self.expected, self.found = str(path), dataset, expected, found
        super().__init__(f"{path}: {dataset}: expected {expected}, found {found}")


def write_netx(network: FixedNetwork, path: str | os.PathLike[str]) -> None:
    """Write ``network``; a reader sees the old file or the whole new one, never a half."""
    with atomic_file(path) as draft, h5py.File(draft, "w") as f:
        _write_celif_group(f.create_group("celif"), network)
        store = _table_store(f, network.layers)
        for i, layer in enumerate(network.all_layers):
            write_layer(f.create_group(f"layer/{i}"), layer, store)


def _write_celif_group(group: h5py.Group, network: FixedNetwork) -> None:
    group["version"] = VERSION
    group["steps"] = network.steps
    group["gap"] = network.gap
    code = network.encoding
    group["input/channels"], group["input/bits"] = code.channels, code.bits
    group["input/scale"], group["input/signed"] = float(code.scale), code.signed
    if code.permutation is not None:
        group["input/permutation"] = code.permutation.astype(np.int64)
    for name, digest in sorted(network.digests.items()):
        group[f"source/{name}"] = np.bytes_(digest)


def _table_store(
    f: h5py.File, layers: tuple[CelifLayer | CubaLayer, ...]
) -> Callable[[CelifLayer], h5py.Dataset]:
    """Give each TE table one home under /te; a layer may be the first rows of a wider one's."""
    tables: list[tuple[np.ndarray, h5py.Dataset]] = []

    def store(layer: CelifLayer) -> h5py.Dataset:
        for table, dataset in tables:
            if np.array_equal(table[: layer.neurons], layer.te):
                return dataset
        dataset = f.create_dataset(f"te/{len(tables)}", data=te_array(layer))
        tables.append((layer.te, dataset))
        return dataset

    # Widest first, so that the rows of every narrower layer are there to be found.
    celif = [layer for layer in layers if isinstance(layer, CelifLayer)]
    for layer in sorted(celif, key=lambda layer: -layer.neurons):
        store(layer)
    return store


def te_array(layer: CelifLayer) -> np.ndarray:
    """TE in the narrowest type that holds its bits."""
    return layer.te.astype(np.int8 if layer.te_bits <= 8 else np.int16)


def write_layer(
    group: h5py.Group, layer: Layer, store_te: Callable[[CelifLayer], h5py.Dataset]
) -> None:
    """Write one layer as a netx ``dense`` group."""
    group.create_dataset("type", (1,), "S10", [b"dense"])
    group["shape"] = np.array([layer.neurons])
    group["inFeatures"], group["outFeatures"] = layer.inputs, layer.neurons
    group["lag"], group["delayShift"] = layer.lag, layer.delay_shift
    neuron = group.create_group("neuron")
    neuron["type"] = np.bytes_(layer.kind)
    if isinstance(layer, CelifLayer):
        group["weight"] = layer.weight.astype(np.int8)
        group["bias"] = layer.bias_mant.astype(np.int16)
        _write_fields(neuron, layer, CELIF_FIELDS)
        neuron["te"] = store_te(layer)
    elif isinstance(layer, ReadoutLayer):
        group["weight"] = layer.weight.astype(np.int8)
        group["bias"] = layer.bias.astype(np.int32)
        _write_fields(neuron, layer, READOUT_FIELDS)
    elif isinstance(layer, CubaLayer):
        group["weight"] = layer.weight.astype(np.float32)
        if layer.bias_mant.any():
            group["bias"] = layer.bias_mant.astype(np.float32)
        neuron["iDecay"], neuron["vDecay"], neuron["vThMant"] = layer.du + 1, layer.dv, layer.vth
        neuron["refDelay"], neuron["gradedSpike"] = 1, False


def _write_fields(neuron: h5py.Group, layer: Layer, fields: dict[str, str]) -> None:
    for dataset, field in fields.items():
        neuron[dataset] = int(getattr(layer, field))


def read_netx(path: str | os.PathLike[str]) -> FixedNetwork:
    """Read and validate a network, or raise :class:`NetxError`."""
    if not Path(path).is_file():
        raise NetxError(path, "/", "a netx HDF5 file", "no such file; export one with to_netx")
    try:
        f = h5py.File(path, "r")
    except OSError as error:
        raise NetxError(path, "/", "a netx HDF5 file", f"unreadable as HDF5 ({error})") from None
    with f:
        return _Reader(path, f).network()


def read_layer(f: h5py.File, i: int, name: str) -> Layer:
    """Read layer ``i`` of an open file, validated, under another name for its errors."""
    layer = _Reader(f.filename, f).layer(i)
    return replace(layer, name=name)


class _Reader:
    """Reads one open file; remembers its name for the errors."""

    def __init__(self, path: str | os.PathLike[str], f: h5py.File):
        self.path, self.f = str(path), f
        self.tables: dict[Any, np.ndarray] = {}

    def network(self) -> FixedNetwork:
        if "celif" not in self.f:
            raise NetxError(
                self.path,
                "/celif",
                "the group that export.to_netx writes",
                "none: a stock netx file; load it with lava_procs.Network",
            )
        version = self.integer("celif/version")
        if not 1 <= version <= VERSION:
            raise NetxError(
                self.path, "/celif/version", f"1..{VERSION}", f"{version}; update celif-lava"
            )
        layers = [self.layer(i) for i in range(len(self.group("layer")))]
        readout = layers.pop() if layers and isinstance(layers[-1], ReadoutLayer) else None
        misplaced = [layer.name for layer in layers if isinstance(layer, ReadoutLayer)]
        if misplaced:
            raise NetxError(self.path, misplaced[0], "a readout last", "layers after it")
        return self.checked(
            "/",
            FixedNetwork,
            layers=tuple(layers),
            readout=readout,
            steps=self.integer("celif/steps"),
            gap=self.integer("celif/gap"),
            encoding=self.encoding(),
            digests={k: v[()].decode() for k, v in self.f.get("celif/source", {}).items()},
            path=self.path,
        )

    def encoding(self) -> Encoding:
        order = "celif/input/permutation"
        return self.checked(
            "/celif/input",
            Encoding,
            channels=self.integer("celif/input/channels"),
            scale=float(self.dataset("celif/input/scale", "f")[()]),
            bits=self.integer("celif/input/bits"),
            signed=bool(self.dataset("celif/input/signed", "b")[()]),
            permutation=self.array(order) if order in self.f else None,
        )

    def layer(self, i: int) -> Layer:
        at = f"layer/{i}"
        kind = self.text(f"{at}/type")
        if kind != "dense":
            raise NetxError(self.path, f"/{at}/type", "dense", repr(kind))
        neuron = self.text(f"{at}/neuron/type")
        common: dict[str, Any] = {
            "name": f"layer {i}",
            "weight": self.array(f"{at}/weight"),
            "lag": self.integer(f"{at}/lag"),
            "delay_shift": bool(self.dataset(f"{at}/delayShift", "b")[()]),
        }
        if neuron == "CELIF":
            return self.celif_layer(at, common)
        if neuron == "READOUT":
            fields = {f: self.integer(f"{at}/neuron/{d}") for d, f in READOUT_FIELDS.items()}
            return self.checked(at, ReadoutLayer, bias=self.array(f"{at}/bias"), **fields, **common)
        if neuron == "CUBA":
            return self.cuba_layer(at, common)
        raise NetxError(
            self.path,
            f"/{at}/neuron/type",
            "CELIF, CUBA or READOUT",
            f"{neuron!r}, which the twin cannot run",
        )

    def celif_layer(self, at: str, common: dict[str, Any]) -> CelifLayer:
        fields = {f: self.integer(f"{at}/neuron/{d}") for d, f in CELIF_FIELDS.items()}
        table = self.table(f"{at}/neuron/te")
        return self.checked(
            at,
            CelifLayer,
            te=table[: len(common["weight"])],
            bias_mant=self.array(f"{at}/bias"),
            **fields,
            **common,
        )

    def cuba_layer(self, at: str, common: dict[str, Any]) -> CubaLayer:
        bias = np.zeros(len(common["weight"]), np.int64)
        return self.checked(
            at,
            CubaLayer,
            du=self.integer(f"{at}/neuron/iDecay") - 1,
            dv=self.integer(f"{at}/neuron/vDecay"),
            vth=self.integer(f"{at}/neuron/vThMant"),
            bias_mant=self.array(f"{at}/bias") if f"{at}/bias" in self.f else bias,
            **common,
        )

    def checked(self, at: str, make: Callable[..., Any], **fields: Any) -> Any:
        try:
            return make(**fields)
        except ModelError as error:
            raise NetxError(self.path, at, "a consistent network", str(error)) from None

    def dataset(self, name: str, kinds: str) -> h5py.Dataset:
        """The dataset of that name, whose dtype kind must be among ``kinds``."""
        found = self.f.get(name)
        if not isinstance(found, h5py.Dataset):
            raise NetxError(
                self.path, f"/{name}", "a dataset", "a group" if found is not None else "nothing"
            )
        if found.dtype.kind not in kinds:
            raise NetxError(self.path, f"/{name}", f"a dtype of kind {kinds!r}", f"{found.dtype}")
        return found

    def group(self, name: str) -> h5py.Group:
        found = self.f.get(name)
        if not isinstance(found, h5py.Group) or len(found) == 0:
            raise NetxError(self.path, f"/{name}", "a group with members", "none")
        return found

    def text(self, name: str) -> str:
        value = self.dataset(name, "SO")[()]
        value = value[0] if isinstance(value, np.ndarray) else value
        return value.decode() if isinstance(value, bytes) else str(value)

    def integer(self, name: str) -> int:
        found = self.dataset(name, "iu")
        if found.shape not in ((), (1,)):
            raise NetxError(self.path, f"/{name}", "one integer", f"shape {found.shape}")
        return int(found[()] if found.shape == () else found[0])

    def array(self, name: str) -> np.ndarray:
        """Integers, as int64; stock netx keeps them as floats, which must be whole."""
        value = self.dataset(name, "iuf")[()]
        whole = np.asarray(value).astype(np.int64)
        if not np.array_equal(whole, value):
            raise NetxError(self.path, f"/{name}", "whole numbers", "fractions, NaN or infinity")
        return whole

    def table(self, name: str) -> np.ndarray:
        """A TE table; hard links to one dataset give one array."""
        found = self.dataset(name, "i")
        key = h5py.h5o.get_info(found.id).addr
        if key not in self.tables:
            self.tables[key] = self.array(name)
        return self.tables[key]
