"""The integer world: the fixed-point recurrence, quantisation, the netx file, the batched twin."""

from export.convert.formats import Formats
from export.convert.report import ExportReport
from export.exporter import to_netx
from export.model.network import FixedNetwork, ModelError
from export.model.trace import Trace
from export.netx.read import read_netx
from export.netx.write import NetxError, write_netx
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
