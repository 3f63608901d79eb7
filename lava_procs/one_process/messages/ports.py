"""The same ports with less work per message, for models that use the stock ones.

Lava's dense in-port adds up what arrives with a fold over zeros, through a transformer, and its
out-port loops over its channels. The functions here give the same values for every input.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from lava.magma.core.model.py.model import PyLoihiProcessModel
from lava.magma.core.model.py.ports import (
    IdentityTransformer,
    PyInPortVectorDense,
    PyOutPortVectorDense,
)


def hasten(model: PyLoihiProcessModel) -> None:
    """Replace the methods of a model's stock ports, on the ports themselves."""
    for port in model.py_ports:
        if type(port) is PyInPortVectorDense and type(port._transformer) is IdentityTransformer:
            port.recv = _receive(port)
        elif type(port) is PyOutPortVectorDense and len(port.csp_ports) == 1:
            port.send = port.csp_ports[0].send


def _receive(port: Any) -> Callable[[], np.ndarray]:
    takes = [csp_port.recv for csp_port in port.csp_ports]
    zeros = np.zeros(port._shape, port._d_type)
    if len(takes) != 1:

        def receive() -> np.ndarray:
            total = zeros.copy()
            for take in takes:
                total = total + take()
            return total

        return receive
    [take] = takes
    arriving = port.csp_ports[0].d_type
    if arriving.kind in "bui" and np.result_type(zeros.dtype, arriving) == arriving:
        return take  # adding zero changes neither the value nor the type of an integer

    def receive_one() -> np.ndarray:
        return zeros + take()

    return receive_one
