"""What may be replaced by a netx file: another one, and no HDF5 file with other content."""

from __future__ import annotations

from pathlib import Path

from training.support.replaceable import FileKind

_START = b"\x89HDF\r\n\x1a\n"
"""How every HDF5 file begins."""


def hdf5_with(group: str, name: str) -> FileKind:
    """The kind of HDF5 file that has a group of this name at its top."""
    return FileKind(name, lambda path: _holds(path, group), _is_damaged)


def _holds(path: Path, group: str) -> bool:
    import h5py  # here, as help must not wait for it

    try:
        with h5py.File(path, "r") as file:
            return group in file
    except (OSError, RuntimeError):
        return False


def _is_damaged(path: Path) -> bool:
    """Whether a file begins as HDF5 does and cannot be read as such."""
    import h5py

    with path.open("rb") as file:
        if file.read(len(_START)) != _START:
            return False
    try:
        with h5py.File(path, "r") as opened:
            list(opened)
    except (OSError, RuntimeError):
        return True
    return False


NETX = hdf5_with("layer", "a netx file")
