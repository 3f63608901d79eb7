"""The integer world: the fixed-point recurrence, quantisation, the netx file, the batched twin."""

from export.exporter import to_netx
from export.formats import Formats
from export.model import FixedNetwork, ModelError
from export.netx import NetxError, write_netx
from export.netx_read import read_netx
from export.qat import QuantizedNetwork, quantize
from export.report import ExportReport
from export.trace import Trace
from export.twin import simulate

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
