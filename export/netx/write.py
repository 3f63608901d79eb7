"""Writing a netx file, whole and at once: the network, its layers, their synapses, neurons and TE.

``FORMAT.md`` specifies every dataset. Only integers are written here; floats become integers in
:mod:`export.convert.round`. The order in which datasets are written is part of the file's bytes.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable
from typing import Any

import h5py
import numpy as np

from export.model.celif import CelifLayer
from export.model.fields import CONSTANT, ROWS, SPARSE_ROWS, TE, NetxField
from export.model.geometry import Geometry
from export.model.layer import Layer
from export.model.network import FixedNetwork
from export.model.te import CosineTable
from export.netx import integrity
from export.netx.hdf5_kinds import NETX
from export.netx.names import CONV, DENSE, DENSE_REC, FLATTEN, INPUT, PAIRS, VERSION
from training.support.atomic import atomic_file
from training.support.replaceable import require_replaceable

StoreTe = Callable[[CelifLayer], h5py.Dataset]
"""Returns the dataset that holds a layer's TE."""


def write_netx(network: FixedNetwork, path: str | os.PathLike[str]) -> None:
    """Write ``network``; a reader sees the old file or the whole new one, never a part.

    The file is built in memory and written once: HDF5 cannot be trusted to survive a full disk. It
    replaces a netx file and no other.
    """
    require_replaceable(path, NETX)
    with h5py.File("memory", "w", driver="core", backing_store=False) as f:
        _write_network(f, network)
        integrity.sign(f)
        f.flush()
        image = f.id.get_file_image()
    with atomic_file(path) as draft:
        draft.write_bytes(image)


def _write_network(f: h5py.File, network: FixedNetwork) -> None:
    _write_celif_group(f.create_group("celif"), network)
    store = _table_store(f, network.layers)
    places = (f.create_group(f"layer/{i}") for i in itertools.count())
    before: Layer | None = None
    for layer in network.all_layers:
        if before is not None and before.positions > 1 and layer.geometry is None:
            group = next(places)  # the images of the layer before become vectors
            _write_type(group, FLATTEN)
            group["shape"] = np.array([before.neurons, 1, 1])
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
    if network.task is not None:
        group["task/name"] = np.bytes_(network.task.name.encode())
        if network.task.encoding:
            group["task/encoding"] = np.bytes_(network.task.encoding.encode())
    for name, digest in sorted(network.digests.items()):
        group[f"source/{name}"] = np.bytes_(digest)


def write_layer(group: h5py.Group, layer: Layer, store_te: StoreTe) -> None:
    """Write one layer as netx has them: synapses, then neurons in the order of their table."""
    _write_synapses(group, layer)
    group["lag"], group["delayShift"] = layer.lag, layer.delay_shift
    group.create_group("neuron")["type"] = np.bytes_(layer.kind)
    for entry in layer.netx:
        if entry.form == TE:
            assert isinstance(layer, CelifLayer)  # the one kind that has an encoding
            _write_te(group["neuron"], layer, store_te(layer))
        elif entry.form == CONSTANT:
            fixed = entry.value
            group[entry.dataset] = np.bytes_(fixed) if isinstance(fixed, str) else fixed
        else:
            _write_value(group, entry, getattr(layer, entry.field))


def _write_value(group: h5py.Group, entry: NetxField, value: Any) -> None:
    if entry.form in (ROWS, SPARSE_ROWS):
        if entry.form == ROWS or value.any():
            group[entry.dataset] = value.astype(entry.dtype)
    elif isinstance(value, np.ndarray):
        group[entry.dataset] = value.astype(entry.dtype)
    else:
        group[entry.dataset] = int(value) + entry.offset


def _layer_type(layer: Layer) -> str:
    """Netx's name for the layer's synapses."""
    if layer.geometry is None:
        return DENSE if layer.weight_rec is None else DENSE_REC
    alike = bool((layer.weight == layer.weight.flat[0]).all())
    return INPUT if alike and layer.geometry.one_to_one(layer.weight) else CONV


def _write_type(group: h5py.Group, name: str) -> None:
    group.create_dataset("type", (1,), "S10", [name.encode()])


def _write_synapses(group: h5py.Group, layer: Layer) -> None:
    """Write the weights of a layer, and how its output is delayed."""
    kind = _layer_type(layer)
    _write_type(group, kind)
    weight = layer.weight.ravel()[:1] if kind == INPUT else layer.weight
    group["weight"] = weight.astype(layer.weight_type)
    if layer.geometry is None:
        group["shape"] = np.array([layer.neurons])
        group["inFeatures"], group["outFeatures"] = layer.inputs, layer.neurons
    else:
        group["shape"] = np.array(layer.output_shape)
    if kind == CONV:
        _write_geometry(group, layer.geometry, layer.weight)
    if layer.weight_rec is not None:
        group["weight_rec"] = layer.weight_rec.astype(layer.weight_type)
    if layer.delay is not None:
        group["delay"] = layer.delay.astype(np.int8)
    if layer.input_exp:
        group["inExp"] = layer.input_exp


def _write_geometry(group: h5py.Group, geometry: Geometry | None, weight: np.ndarray) -> None:
    assert geometry is not None  # of a convolution
    group["inShape"] = np.array(geometry.input_shape)
    group["inChannels"], group["outChannels"] = geometry.input_shape.channels, len(weight)
    group["kernelSize"] = np.array(weight.shape[2:])
    for name in PAIRS:
        group[name] = np.array(getattr(geometry, name))
    group["groups"] = geometry.groups


def _table_store(f: h5py.File, layers: Iterable[Layer]) -> StoreTe:
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
    encoded = [layer for layer in layers if isinstance(layer, CelifLayer)]
    for layer in sorted(encoded, key=lambda layer: -layer.rows):
        store(layer)
    return store


def te_array(layer: CelifLayer) -> np.ndarray:
    """Return what the file holds of TE, in the narrowest type that has enough bits."""
    stored = layer.te_form.stored(layer.te)
    if isinstance(layer.te_form, CosineTable):
        return stored.astype(np.int32)
    return stored.astype(np.uint8 if layer.te_form.packed else _mantissa_type(layer.te_bits))


def _mantissa_type(bits: int) -> type[np.signedinteger]:
    return np.int8 if bits <= 8 else np.int16


def _write_te(neuron: h5py.Group, layer: CelifLayer, stored: h5py.Dataset) -> None:
    """Link the layer's group ``neuron`` to its table, and say how the table is stored."""
    neuron["te"] = stored
    neuron["teEncoding"] = np.bytes_(layer.te_form.encoding)
    neuron["teHold"], neuron["teSteps"] = layer.te_form.hold, layer.te.shape[1]
    if isinstance(layer.te_form, CosineTable):
        neuron["teWave"] = layer.te_form.wave.astype(_mantissa_type(layer.te_bits))
