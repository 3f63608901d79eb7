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
_DAMAGE = (
    OSError, RuntimeError, KeyError, IndexError, TypeError, AttributeError, AssertionError,
    ArithmeticError, MemoryError, UnicodeError,
)  # fmt: skip
"""What h5py and nir raise where a file is not what they expect, besides ValueError."""


def read_nir(source: str | os.PathLike[str]) -> Any:
    """Return the graph of a file; ValueError if it is not NIR, or not one to be read."""
    path = Path(source)
    if path.is_dir():
        raise ValueError(f"{path}: expected a NIR file, found a folder; name a file in it")
    if not path.is_file():
        raise ValueError(f"{path}: expected a NIR file, found none")
    try:
        with h5py.File(path, "r") as file:
            _require_own_values(path, file)
    except _DAMAGE as error:
        raise _damaged(path, error) from None
    try:
        return nir_package().read(path, type_check=False)
    except (ValueError, *_DAMAGE) as error:
        raise _damaged(path, error) from None


def _damaged(path: Path, error: BaseException) -> ValueError:
    found = f"{type(error).__name__}: {error}"
    return ValueError(f"{path}: expected a NIR file, found damage ({found})")


def _require_own_values(path: Path, file: h5py.File) -> None:
    """Refuse a file that leads elsewhere, or that claims far more than it has bytes."""
    seen: list[h5py.HLObject] = []
    _look(path, file, "", (), seen)
    total = sum(each.nbytes for each in seen if isinstance(each, h5py.Dataset))
    most = max(CONTENT_BYTES_MAX, 100 * path.stat().st_size)
    if total > most:
        raise ValueError(f"{path}: expected up to {most} bytes of arrays, found {total}")


def _look(
    path: Path, group: h5py.Group, name: str, above: tuple[int, ...], seen: list[h5py.HLObject]
) -> None:
    """Collect the members of a group; refuse links, and values that are not in the file."""
    for key in group:
        place = f"{name}/{key}"
        if not isinstance(group.get(key, getlink=True), h5py.HardLink):
            raise ValueError(f"{path}: {place}: expected values in the file itself, found a link")
        member = group[key]
        seen.append(member)
        if len(seen) > OBJECTS_MAX:
            raise ValueError(f"{path}: expected up to {OBJECTS_MAX} members, found more")
        address = h5py.h5o.get_info(member.id).addr
        if isinstance(member, h5py.Group):
            if address in above or len(above) >= DEPTH_MAX:
                raise ValueError(f"{path}: {place}: expected up to {DEPTH_MAX} groups, found more")
            _look(path, member, place, (*above, address), seen)
        elif isinstance(member, h5py.Dataset) and (member.is_virtual or member.external):
            raise ValueError(f"{path}: {place}: expected values in the file itself, found none")
