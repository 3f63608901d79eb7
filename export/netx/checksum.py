"""The checksum over a file's content: every dataset's name, type, shape and bytes.

It covers what the file says, not how HDF5 lays it out. Since version 3 every file has one, in
``/celif/checksum``; where there is one, it is verified, whatever the version.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping

import h5py
import numpy as np

from export.netx.names import AGAIN, NetxError
from export.netx.screen import datasets, open_netx

PLACE = "/celif/checksum"


def content(found: Mapping[str, h5py.Dataset]) -> str:
    """SHA-256, in hexadecimal, of all datasets but the checksum itself, in the order of names."""
    digest = hashlib.sha256()
    for name in sorted(found):
        if name == PLACE:
            continue
        values = np.asarray(found[name][()])
        if values.dtype.kind == "O":  # a string of any length
            values = np.asarray(values.item())
        head = f"{name}\0{values.dtype.str}\0{values.shape}\0"
        digest.update(head.encode() + np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()


def stored_in(path: str | os.PathLike[str]) -> str | None:
    """The checksum that a file has, or None for one of an earlier version."""
    with open_netx(path) as f:
        value = f[PLACE][()] if PLACE in f else None
    return value.decode() if isinstance(value, bytes) else None


def sign(f: h5py.File) -> None:
    """Write the checksum of an open file's present content."""
    if PLACE in f:
        del f[PLACE]
    f[PLACE] = np.bytes_(content(datasets(f.filename, f)))


def verify(path: str | os.PathLike[str], found: Mapping[str, h5py.Dataset]) -> bool:
    """Whether the file has a checksum; :class:`NetxError` if it is not that of the content."""
    if PLACE not in found:
        return False
    value = found[PLACE][()]
    stored = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    expected = content(found)
    if stored != expected:
        remedy = f"the file is damaged, {AGAIN}"
        raise NetxError(path, PLACE, f"{expected}, that of the content", repr(stored), remedy)
    return True
