"""A NIR file is looked over before the package ``nir`` reads it.

NIR files are HDF5, which can lead a reader to other files or let it allocate far more than the file
has bytes. ``nir`` reads whatever is there.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import h5py

from celif.interchange.nodes import nir_package

CONTENT_BYTES_MAX = 1 << 28
"""Bytes of all arrays, or a hundred times the file's size if that is more: nir packs them."""
OBJECTS_MAX, DEPTH_MAX = 1 << 12, 16


def read_nir(source: str | os.PathLike[str]) -> Any:
    """Return the graph of a file; ValueError if it is not NIR, or not one to be read."""
    path = Path(source)
    if not path.is_file():
        raise ValueError(f"{path}: expected a NIR file, found none")
    try:
        with h5py.File(path, "r") as file:
            seen: list[h5py.Dataset] = []
            _look(path, file, "", (), seen)
            total, most = sum(each.nbytes for each in seen), 100 * path.stat().st_size
            if total > max(CONTENT_BYTES_MAX, most):
                raise ValueError(f"{path}: expected up to {most} bytes of arrays, found {total}")
        return nir_package().read(path, type_check=False)
    except (OSError, RuntimeError, KeyError, TypeError, AttributeError, MemoryError) as error:
        found = f"{type(error).__name__}: {error}"
        raise ValueError(f"{path}: expected a NIR file, found damage ({found})") from None


def _look(
    path: Path, group: h5py.Group, name: str, above: tuple[int, ...], seen: list[h5py.Dataset]
) -> None:
    """Collect the datasets of a group; refuse links, and values that are not in the file."""
    for key in group:
        place = f"{name}/{key}"
        if not isinstance(group.get(key, getlink=True), h5py.HardLink):
            raise ValueError(f"{path}: {place}: expected values in the file itself, found a link")
        member = group[key]
        address = h5py.h5o.get_info(member.id).addr
        if isinstance(member, h5py.Group):
            if address in above or len(above) >= DEPTH_MAX:
                raise ValueError(f"{path}: {place}: expected up to {DEPTH_MAX} groups, found more")
            _look(path, member, place, (*above, address), seen)
        elif isinstance(member, h5py.Dataset):
            if member.is_virtual or member.external:
                raise ValueError(f"{path}: {place}: expected values in the file itself, found none")
            seen.append(member)
        if len(seen) > OBJECTS_MAX:
            raise ValueError(f"{path}: expected up to {OBJECTS_MAX} datasets, found more")
