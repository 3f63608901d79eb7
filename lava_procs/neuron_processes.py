"""The table of neuron kinds: which Process runs the layers of a celif file.

To add a neuron, write its Process in a folder of its own and add the class to ``PROCESSES``.
"""

from __future__ import annotations

from export import ModelError
from export.model.layer import Layer
from lava_procs.processes.celif.process import CELIF
from lava_procs.processes.cuba.process import CUBA
from lava_procs.processes.readout.process import Readout
from lava_procs.processes.sigma_delta.process import SigmaDelta
from lava_procs.sampled import SampledProcess

PROCESSES: dict[str, type[SampledProcess]] = {
    process.layer_type.kind: process for process in (CELIF, CUBA, Readout, SigmaDelta)
}
"""Process of each kind of neuron, by the name that files give it."""


def process_for(layer: Layer) -> type[SampledProcess]:
    """Return the Process that runs a layer's neurons."""
    if layer.kind not in PROCESSES:
        expected, found = f"one of {', '.join(PROCESSES)}", f"{layer.kind!r}, which has no Process"
        raise ModelError.about(layer.name, "neuron", expected, found)
    return PROCESSES[layer.kind]
