"""The netx HDF5 file: its names, its errors, and writing it atomically.

``FORMAT.md`` specifies every dataset, :mod:`export.netx.read` reads them. Only integers are
written here; floats become integers in :mod:`export.convert.round`.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable

import h5py
import numpy as np

from export.model.network import (
    CelifLayer,
    CubaLayer,
    FixedNetwork,
    Layer,
    ReadoutLayer,
    SigmaDeltaLayer,
    SpikingLayer,
)
from export.model.slayer import SlayerLayer
from export.model.te import CosineTable
from export.netx.synapses import write_flatten, write_synapses
from training.support.atomic import atomic_file

VERSION = 2

# neuron/<dataset> ↔ field, for the scalars of each neuron type. Exponents may also be arrays, one
# value per output channel.
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
CUBA_FIELDS = {"iDecay": "du", "vDecay": "dv", "vThMant": "vth"}
SDNN_FIELDS = {"vThMant": "vth"}
ACTIVATION = "relu"
"""Of sigma-delta neurons; Lava's knows no other."""
REF_DELAY = 1
"""SLAYER's refractory delay of CUBA neurons; it knows no other."""


class NetxError(ValueError):
    """A file that is not what it should be: which one, where, what was expected and found."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        dataset: str,
        expected: str,
        found: str,
        remedy: str = "",
    ):
        self.path, self.dataset, self.expected, self.found = str(path), dataset, expected, found
        self.remedy = remedy
        text = f"{path}: {dataset}: expected {expected}, found {found}"
        super().__init__(f"{text}; {remedy}" if remedy else text)


def write_netx(network: FixedNetwork, path: str | os.PathLike[str]) -> None:
    """Write ``network``; a reader sees the old file or the whole new one, never a half."""
    with atomic_file(path) as draft, h5py.File(draft, "w") as f:
        _write_celif_group(f.create_group("celif"), network)
        store = _table_store(f, network.layers)
        places = (f.create_group(f"layer/{i}") for i in itertools.count())
        before: Layer | None = None
        for layer in network.all_layers:
            if before is not None and before.positions > 1 and layer.geometry is None:
                write_flatten(next(places), before)
            write_layer(next(places), layer, store)
            before = layer


def _write_celif_group(group: h5py.Group, network: FixedNetwork) -> None:
    group["version"] = VERSION
    group["steps"] = network.steps
    group["gap"] = network.gap
    code = network.encoding
    group["input/channels"], group["input/bits"] = code.channels, code.bits
    group["input/scale"], group["input/signed"] = float(code.scale), code.signed
    order = np.zeros(0) if code.permutation is None else code.permutation
    group["input/permutation"] = order.astype(np.int64)
    for name, digest in sorted(network.digests.items()):
        group[f"source/{name}"] = np.bytes_(digest)


def _table_store(
    f: h5py.File, layers: tuple[SpikingLayer, ...]
) -> Callable[[CelifLayer], h5py.Dataset]:
    """Give each TE table one home under /te; a layer may be the first rows of a wider one's."""
    tables: list[tuple[CelifLayer, h5py.Dataset]] = []

    def store(layer: CelifLayer) -> h5py.Dataset:
        for wider, dataset in tables:
            if np.array_equal(wider.te[: layer.rows], layer.te) and wider.te_form.same(
                layer.te_form
            ):
                return dataset
        dataset = f.create_dataset(f"te/{len(tables)}", data=te_array(layer))
        tables.append((layer, dataset))
        return dataset

    # Widest first, so that the rows of every narrower layer are there to be found.
    celif = [layer for layer in layers if isinstance(layer, CelifLayer)]
    for layer in sorted(celif, key=lambda layer: -layer.rows):
        store(layer)
    return store


def te_array(layer: CelifLayer) -> np.ndarray:
    """What the file holds of TE, in the narrowest type that holds its bits."""
    stored = layer.te_form.stored(layer.te)
    if isinstance(layer.te_form, CosineTable):
        return stored.astype(np.int32)
    return stored.astype(np.uint8 if layer.te_form.packed else _mantissa_type(layer.te_bits))


def _mantissa_type(bits: int) -> type[np.signedinteger]:
    return np.int8 if bits <= 8 else np.int16


def write_layer(
    group: h5py.Group, layer: Layer, store_te: Callable[[CelifLayer], h5py.Dataset]
) -> None:
    """Write one layer as netx has them: synapses, neurons."""
    write_synapses(group, layer)
    group["lag"], group["delayShift"] = layer.lag, layer.delay_shift
    neuron = group.create_group("neuron")
    neuron["type"] = np.bytes_(layer.kind)
    if isinstance(layer, CelifLayer):
        group["bias"] = layer.bias_mant.astype(np.int16)
        _write_fields(neuron, layer, CELIF_FIELDS)
        neuron["te"] = store_te(layer)
        neuron["teEncoding"] = np.bytes_(layer.te_form.encoding)
        neuron["teHold"], neuron["teSteps"] = layer.te_form.hold, layer.te.shape[1]
        if isinstance(layer.te_form, CosineTable):
            neuron["teWave"] = layer.te_form.wave.astype(_mantissa_type(layer.te_bits))
    elif isinstance(layer, ReadoutLayer):
        group["bias"] = layer.bias.astype(np.int32)
        _write_fields(neuron, layer, READOUT_FIELDS)
    elif isinstance(layer, SlayerLayer) and layer.bias_mant.any():
        group["bias"] = layer.bias_mant.astype(np.float32)
    if isinstance(layer, CubaLayer):
        neuron["iDecay"], neuron["vDecay"], neuron["vThMant"] = layer.du + 1, layer.dv, layer.vth
        neuron["refDelay"], neuron["gradedSpike"] = REF_DELAY, False
    elif isinstance(layer, SigmaDeltaLayer):
        neuron["vThMant"], neuron["activation"] = layer.vth, np.bytes_(ACTIVATION)


def _write_fields(neuron: h5py.Group, layer: Layer, fields: dict[str, str]) -> None:
    for dataset, field in fields.items():
        value = getattr(layer, field)
        neuron[dataset] = value.astype(np.int8) if isinstance(value, np.ndarray) else int(value)
