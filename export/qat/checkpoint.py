"""Checkpoints of quantisation-aware networks: a float network, and the formats of its integers.

Formats are kept as what they are elsewhere, a netx file, in letters: a checkpoint's description of
a network holds plain values only.
"""

from __future__ import annotations

import base64
import tempfile
import zlib
from pathlib import Path
from typing import Any

from export.model.network import FixedNetwork
from export.netx.read import read_netx
from export.netx.write import write_netx


def in_letters(formats: FixedNetwork) -> str:
    """A network's file as text; the same for the same network."""
    with tempfile.TemporaryDirectory(prefix="celif-") as folder:
        path = Path(folder) / "formats.net"
        write_netx(formats, path)
        return base64.b64encode(zlib.compress(path.read_bytes(), 9)).decode()


def from_letters(text: str) -> FixedNetwork:
    """The network of such a text, checked as any file is."""
    with tempfile.TemporaryDirectory(prefix="celif-") as folder:
        path = Path(folder) / "formats.net"
        path.write_bytes(zlib.decompress(base64.b64decode(text, validate=True)))
        return read_netx(path)


def described(config: dict[str, Any], formats: FixedNetwork) -> dict[str, Any]:
    """What a checkpoint says of a network of that config in these formats."""
    return {"net": config, "formats": in_letters(formats)}
