"""Writing a netx file atomically.

``FORMAT.md`` specifies every dataset. Only integers are written here; floats become integers in
:mod:`export.convert.round`.
"""

from __future__ import annotations

import itertools
import os

import h5py
import numpy as np

from export.model.layer import Layer
from export.model.network import FixedNetwork
from export.netx import checksum
from export.netx.fields import StoreTe, write_fields
from export.netx.names import VERSION
from export.netx.synapses import write_flatten, write_synapses
from export.netx.te import table_store
from training.support.atomic import atomic_file


def write_netx(network: FixedNetwork, path: str | os.PathLike[str]) -> None:
    """Write ``network``; a reader sees the old file or the whole new one, never a part.

    The file is built in memory and written once: HDF5 cannot be trusted to survive a full disk.
    """
    with h5py.File("memory", "w", driver="core", backing_store=False) as f:
        _write_network(f, network)
        checksum.sign(f)
        f.flush()
        image = f.id.get_file_image()
    with atomic_file(path) as draft:
        draft.write_bytes(image)


def _write_network(f: h5py.File, network: FixedNetwork) -> None:
    _write_celif_group(f.create_group("celif"), network)
    store = table_store(f, network.layers)
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
    if network.task is not None:
        group["task/name"] = np.bytes_(network.task.name.encode())
        if network.task.encoding:
            group["task/encoding"] = np.bytes_(network.task.encoding.encode())
    for name, digest in sorted(network.digests.items()):
        group[f"source/{name}"] = np.bytes_(digest)


def write_layer(group: h5py.Group, layer: Layer, store_te: StoreTe) -> None:
    """Write one layer as netx has them: synapses, neurons."""
    write_synapses(group, layer)
    group["lag"], group["delayShift"] = layer.lag, layer.delay_shift
    group.create_group("neuron")["type"] = np.bytes_(layer.kind)
    write_fields(group, layer, store_te)
