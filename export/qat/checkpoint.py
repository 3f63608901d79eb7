"""Checkpoints of quantisation-aware networks: a float network, and the formats of its integers.

The formats are kept as a netx file in base64, because a checkpoint's description of a network holds
plain values only.
"""

from __future__ import annotations

import base64
import tempfile
import zlib
from pathlib import Path
from typing import Any

from export.checks import ModelError
from export.model.network import FixedNetwork
from export.netx.read import read_netx
from export.netx.write import write_netx

_BYTES_MAX = 64 << 20
"""Largest netx file of a checkpoint's formats."""


def in_letters(formats: FixedNetwork) -> str:
    """Return a network's file as text, the same for the same network."""
    with tempfile.TemporaryDirectory(prefix="celif-") as folder:
        path = Path(folder) / "formats.net"
        write_netx(formats, path)
        return base64.b64encode(zlib.compress(path.read_bytes(), 9)).decode()


def from_letters(text: str) -> FixedNetwork:
    """Return the network of such a text, checked as any file is."""
    with tempfile.TemporaryDirectory(prefix="celif-") as folder:
        path = Path(folder) / "formats.net"
        path.write_bytes(_unpacked(base64.b64decode(text, validate=True)))
        return read_netx(path)


def _unpacked(data: bytes) -> bytes:
    """Decompress a file, but not one that is far larger than any network's."""
    unpacker = zlib.decompressobj()
    try:
        content = unpacker.decompress(data, _BYTES_MAX)
    except zlib.error as error:
        raise ModelError(
            f"formats: expected a compressed netx file, found damage ({error})"
        ) from None
    if unpacker.unconsumed_tail or not unpacker.eof:
        raise ModelError(f"formats: expected a netx file of up to {_BYTES_MAX:,} bytes, got more")
    return content


def described(config: dict[str, Any], formats: FixedNetwork) -> dict[str, Any]:
    """Return the ``config`` of a quantised network: its float network's, and the formats."""
    return {"net": config, "formats": in_letters(formats)}
