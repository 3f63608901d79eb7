"""Tell celif files from stock netx files, before lava-dl reads them."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

from export import NetxError
from export.model.network import CelifLayer, ReadoutLayer


def is_ours(path: str, num_layers: int | None) -> bool:
    """Return whether celif wrote the file; refuse by name what lava-dl would fail on later."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path}: no such netx file; write one with export.to_netx")
    try:
        f = h5py.File(path, "r")
    except OSError as error:
        found = f"unreadable as HDF5 ({error})"
        remedy = "write one with export.to_netx"
        raise NetxError(path, "/", "a netx HDF5 file", found, remedy) from None
    with f:
        if "celif" in f:
            return True
        layers = f.get("layer")
        if not isinstance(layers, h5py.Group) or len(layers) == 0:
            remedy = "export the blocks' layers to /layer/0 and on, or use export.to_netx"
            raise NetxError(path, "/layer", "a group with layers", "an empty network", remedy)
        for i in range(len(layers)):
            name = f"layer/{i}/neuron/type"
            if name not in f or (num_layers is not None and i >= num_layers):
                continue
            kind = np.ravel(f[name][()])[0].decode()
            if kind in (layer.kind for layer in (CelifLayer, ReadoutLayer)):
                return True  # blocks that wrote themselves
            # lava-dl's own rule, which fails on a None far from here for any other name.
            if kind not in ("LOIHI", "CUBA", "SDNN") and "RF" not in kind:
                supported = "CUBA, LOIHI, SDNN, RF types, or CELIF from export.to_netx"
                raise NetxError(path, f"/{name}", supported, f"{kind!r}, which netx cannot run")
    return False
