"""One name, one meaning: files and classes that share a name, and what it means everywhere.

A name that occurs twice outside tests has to be in one of the two tables, together with the one
meaning that it has in each of its places. A second meaning needs a second name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

import pytest

from hw_tests.tests.test_rooms import ALLOWED, FORBIDDEN, ROOT, sources

ROOMS = (*ALLOWED, *FORBIDDEN)

COMMAND = "the command, in celif/commands, and what it calls"

# File name: its one meaning, and the folders in which a file has it.
FILES = {
    "adaptive.py": (
        "neurons with an adaptive threshold",
        "training/kernels training/kernels/scans",
    ),
    "alif.py": ("the ALIF neuron", "export/model export/steps hw_tests/oracle training/neurons"),
    "arithmetic.py": ("shifts and saturation", "export/steps hw_tests/oracle"),
    "backend.py": ("a back end of the ladder", "hw_tests/oracle hw_tests/recorded"),
    "card.py": (COMMAND, "celif celif/commands"),
    "celif.py": (
        "the CE-LIF neuron",
        "export/model export/steps hw_tests/oracle hw_tests/worked training/kernels/scans "
        "training/neurons",
    ),
    "checkpoint.py": ("checkpoint files", "export/qat training"),
    "checks.py": ("checks of arguments and ranges", "export training/support"),
    "cuba.py": (
        "the current-based LIF neuron",
        "celif/interchange export/steps hw_tests/oracle hw_tests/worked",
    ),
    "demo.py": (COMMAND, "celif celif/commands"),
    "doctor.py": (COMMAND, "celif celif/commands"),
    "layer.py": ("a layer in integers", "export/model export/qat"),
    "lif.py": (
        "the LIF neuron",
        "export/model export/steps hw_tests/oracle hw_tests/recorded training/neurons",
    ),
    "models.py": (
        "Lava's ProcessModels",
        "lava_procs/one_process lava_procs/processes/celif lava_procs/processes/cuba "
        "lava_procs/processes/lif lava_procs/processes/readout lava_procs/processes/recorder "
        "lava_procs/processes/shifted_dense lava_procs/processes/sigma_delta "
        "lava_procs/processes/sign_extend",
    ),
    "network.py": (
        "a whole network",
        "export/model export/qat lava_procs/one_process training/network",
    ),
    "process.py": (
        "a Lava Process, alone in its folder",
        "lava_procs/processes/alif lava_procs/processes/celif lava_procs/processes/cuba "
        "lava_procs/processes/hosted lava_procs/processes/layer lava_procs/processes/lif "
        "lava_procs/processes/network lava_procs/processes/readout lava_procs/processes/recorder "
        "lava_procs/processes/shifted_dense lava_procs/processes/sigma_delta "
        "lava_procs/processes/sign_extend",
    ),
    "readout.py": (
        "what makes logits of spikes",
        "hw_tests/oracle training/baselines training/slayer",
    ),
    "session.py": ("a network that is fed samples", "lava_procs/loihi lava_procs/runner"),
    "simulate.py": (COMMAND, "celif/commands export/twin"),
    "synapses.py": ("weights between layers", "hw_tests/oracle training/network"),
    "verify.py": (COMMAND, "celif/commands celif/verification"),
}

# Class name: its one meaning, and the files that define it.
CLASSES = {
    "ALIF": (
        "the ALIF neuron",
        "lava_procs/processes/alif/process.py training/baselines/adaptive_neurons.py",
    ),
    "CELIF": ("the CE-LIF neuron", "lava_procs/processes/celif/process.py training/modules.py"),
    "LIF": (
        "the LIF neuron",
        "lava_procs/processes/lif/process.py training/baselines/adaptive_neurons.py",
    ),
    "Layer": ("a layer of a netx file", "export/model/layer.py hw_tests/independent_reader.py"),
    "Network": (
        "a whole network",
        "hw_tests/independent_reader.py lava_procs/processes/network/process.py "
        "training/network/network.py",
    ),
    "Readout": (
        "the classifier of mean firing rates",
        "lava_procs/processes/readout/process.py training/slayer/readout.py",
    ),
    "State": ("the registers of a CE-LIF layer", "export/steps/celif.py training/dynamics.py"),
}


def python_files() -> list[Path]:
    return [path.relative_to(ROOT) for room in ROOMS for path in sources(room)]


def repeated(pairs: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    """The places of every name that has more than one."""
    places: dict[str, list[str]] = {}
    for name, place in pairs:
        places.setdefault(name, []).append(place)
    return {name: set(found) for name, found in places.items() if len(found) > 1}


def test_file_names_have_one_meaning():
    named = ((path.name, path.parent.as_posix()) for path in python_files())
    found = repeated(pair for pair in named if not pair[0].startswith("__"))
    assert found == {name: set(places.split()) for name, (_, places) in FILES.items()}


def test_class_names_have_one_meaning():
    found = repeated(
        (node.name, path.as_posix())
        for path in python_files()
        for node in ast.parse((ROOT / path).read_text()).body
        if isinstance(node, ast.ClassDef)
    )
    assert found == {name: set(places.split()) for name, (_, places) in CLASSES.items()}


@pytest.mark.parametrize("places", [["a", "b"], ["a", "a"]], ids=["two-files", "one-file"])
def test_a_second_place_is_found(places):
    assert repeated([("Layer", place) for place in places]) == {"Layer": set(places)}
    assert repeated([("Layer", "a"), ("Network", "b")]) == {}
