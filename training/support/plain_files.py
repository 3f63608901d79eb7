"""Reading JSON and arrays that somebody else wrote: numbers and texts, of sizes that are checked.

A hostile file may be deeply nested, name a field twice, claim terabytes or unfold to them. Each of
these ends in a ValueError that says what was found, before memory is taken for it.
"""

from __future__ import annotations

import json
import math
import os
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np

JSON_BYTES_MAX = 1 << 20
"""Size of the largest JSON file that is read, unless more is asked for."""
UNFOLDED_MAX, RATIO_MAX = 1 << 28, 200
"""Bytes to which an archive may unfold, or how many times its own size if that is more."""

NPY = ".npy"
"""Ending of the arrays in an archive."""


def read_json(path: str | os.PathLike[str], most: int = JSON_BYTES_MAX) -> Any:
    """Return the content of a JSON file of at most ``most`` bytes; ValueError says why not."""
    file = Path(path)
    if not file.is_file():
        raise ValueError("no such file")
    if (size := file.stat().st_size) > most:
        raise ValueError(f"{size} bytes, more than {most}")
    return parse_json(file.read_bytes())


def parse_json(text: bytes) -> Any:
    """Parse JSON without doubled names, without NaN and infinity, and not deeply nested."""
    try:
        return json.loads(
            text.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_constant
        )
    except RecursionError:
        raise ValueError("JSON that is nested too deeply") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice!r} twice")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} instead of a finite number")


def check_npy(stream: IO[bytes], size: int) -> None:
    """Require that an ``.npy`` of ``size`` bytes holds exactly the numbers that it claims."""
    version = np.lib.format.read_magic(stream)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version)
    if read is None:
        raise ValueError(f"version {version} of the .npy format")
    shape, _, dtype = read(stream)
    if dtype.hasobject:
        raise ValueError("Object arrays, which are pickles")
    if any(length < 0 for length in shape):
        raise ValueError(f"shape {shape}")
    needed, held = math.prod(shape) * dtype.itemsize, size - stream.tell()
    if needed != held:
        raise ValueError(f"{held} bytes, where shape {shape} of {dtype} needs {needed}")


def check_npz(path: str | os.PathLike[str]) -> list[str]:
    """Check every array of an archive as :func:`check_npy` does; return their names."""
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        unfolded = sum(member.file_size for member in members)
        packed = sum(member.compress_size for member in members)
        if unfolded > max(UNFOLDED_MAX, RATIO_MAX * packed):
            raise ValueError(
                f"{unfolded} bytes packed into {packed}; write it with numpy.savez, uncompressed"
            )
        names = [member.filename for member in members]
        if len(set(names)) < len(names):
            raise ValueError("two arrays of one name")
        for member in members:
            if not member.filename.endswith(NPY):
                raise ValueError(f"{member.filename[:80]!r}, which is no array")
            with archive.open(member) as stream:
                check_npy(stream, member.file_size)
    return [name[: -len(NPY)] for name in names]
