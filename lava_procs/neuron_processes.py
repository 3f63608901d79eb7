"""Which Process runs the layers of a celif file.

To add a neuron, write its Process in ``lava_procs/processes/<kind in small letters>/process.py``.
"""

from __future__ import annotations

import importlib

from export import ModelError
from export.model.layer import Layer
from lava_procs.sampled import SampledProcess

FOLDERS = {"SDNN": "sigma_delta"}
"""Folders of Processes that are not called as the kind in a file."""


def process_for(layer: Layer) -> type[SampledProcess]:
    """Return the Process that runs a layer's neurons."""
    name = f"lava_procs.processes.{FOLDERS.get(layer.kind, layer.kind.lower())}.process"
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not name.startswith(error.name):
            raise
        expected, found = "a kind that has a Process", repr(layer.kind)
        raise ModelError.about(layer.name, "neuron", expected, found) from None
    return next(
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, SampledProcess)
        and getattr(value, "layer_type", None) is type(layer)
    )
