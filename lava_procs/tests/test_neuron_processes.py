"""Every kind of neuron has a Process."""

from __future__ import annotations

import numpy as np
import pytest

from export import ModelError
from export.model.layer import Layer
from export.model.network import KINDS
from lava_procs.neuron_processes import process_for


def subclasses(kind: type[Layer]) -> set[type[Layer]]:
    found = set(kind.__subclasses__())
    return found.union(*map(subclasses, found))


def test_every_kind_of_layer_has_a_process():
    kinds = {layer.kind: layer for layer in subclasses(Layer) if layer.kind}
    assert {"ALIF", "CELIF", "CUBA", "LIF", "READOUT", "SDNN"} <= set(kinds)
    assert kinds == KINDS
    for layer in kinds.values():
        found = process_for(layer.__new__(layer))  # only its class matters
        assert found.layer_type is layer


def test_layer_without_a_process_is_refused_by_name():
    layer = Layer(name="layer 3", weight=np.ones((2, 2), int), lag=1, delay_shift=False)
    with pytest.raises(
        ModelError, match=r"layer 3 neuron: expected a kind that has a Process, got ''"
    ):
        process_for(layer)
