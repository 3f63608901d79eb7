"""The integer world: the fixed-point recurrence, quantisation, the netx file, the batched twin.

Each name is imported when it is first used: reading a file needs neither torch nor numba.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import training as training  # first: it sets OpenMP's wait policy before torch loads

if TYPE_CHECKING:
    from export.convert.formats import Formats
    from export.exporter import ExportReport, to_netx
    from export.model.network import FixedNetwork, ModelError
    from export.model.trace import Trace
    from export.netx.names import NetxError
    from export.netx.read import read_netx
    from export.netx.write import write_netx
    from export.qat.network import QuantizedNetwork, quantize
    from export.twin.simulate import simulate

__all__ = [
    "ExportReport",
    "FixedNetwork",
    "Formats",
    "ModelError",
    "NetxError",
    "QuantizedNetwork",
    "Trace",
    "quantize",
    "read_netx",
    "simulate",
    "to_netx",
    "write_netx",
]

_HOMES = {
    "ExportReport": "export.exporter",
    "FixedNetwork": "export.model.network",
    "Formats": "export.convert.formats",
    "ModelError": "export.checks",
    "NetxError": "export.netx.names",
    "QuantizedNetwork": "export.qat.network",
    "Trace": "export.model.trace",
    "quantize": "export.qat.network",
    "read_netx": "export.netx.read",
    "simulate": "export.twin.simulate",
    "to_netx": "export.exporter",
    "write_netx": "export.netx.write",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
