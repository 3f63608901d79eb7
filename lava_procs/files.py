"""Telling netx files apart before lava-dl reads them."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

from export import NetxError
from export.model import CelifLayer, ReadoutLayer


def is_ours(path: str, num_layers: int | None) -> bool:
    """Whether :func:`export.to_netx` wrote the file; what lava-dl stumbles over is refused."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path}: no such netx file; write one with export.to_netx")
    with h5py.File(path, "r") as f:
        if "celif" in f:
            return True
        for i in range(len(f.get("layer", ()))):
            name = f"layer/{i}/neuron/type"
            if name not in f or (num_layers is not None and i >= num_layers):
                continue
            kind = np.ravel(f[name][()])[0].decode()
            if kind in (layer.kind for layer in (CelifLayer, ReadoutLayer)):
                found = f"{kind!r} without the group /celif; write the file with export.to_netx"
                raise NetxError(path, f"/{name}", "a neuron whose timing the file knows", found)
            # lava-dl's own rule, which fails on a None far from here for any other name.
            if kind not in ("LOIHI", "CUBA", "SDNN") and "RF" not in kind:
                supported = "CUBA, LOIHI, SDNN, RF types, or CELIF from export.to_netx"
                raise NetxError(path, f"/{name}", supported, f"{kind!r}, which netx cannot run")
    return False
