"""The LIF neuron as a Lava Process: a constant threshold and a hard reset."""

from __future__ import annotations

from typing import ClassVar

from export.model.layer import Layer
from export.model.lif import LifLayer
from lava_procs.leaky import LeakyProcess


class LIF(LeakyProcess):
    """A layer of LIF neurons; see :mod:`export.steps.lif` and :class:`LeakyProcess`."""

    layer_type: ClassVar[type[Layer]] = LifLayer
