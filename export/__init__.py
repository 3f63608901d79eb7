"""The integer world: the fixed-point recurrence, quantisation, the netx file, the batched twin."""

from export.model import FixedNetwork, ModelError
from export.netx import NetxError, read_netx, write_netx
from export.trace import Trace

__all__ = ["FixedNetwork", "ModelError", "NetxError", "Trace", "read_netx", "write_netx"]
