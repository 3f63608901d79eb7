"""What ``import export`` costs: a file is read without torch and without numba."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

import export
from training import Network, checkpoint

HEAVY = ("torch", "numba", "lava", "matplotlib")
FILE = Path(__file__).parent / "data" / "version-2.net"

STATEMENTS = {
    "export": "import export",
    "read_netx": f"from export import read_netx; read_netx({str(FILE)!r}).encode",
    "model": "import export.model.network, export.model.geometry, export.model.te",
    "atomic": "import training.support.atomic",
    "checks": "from training.support import checks; checks.scalar('x', 0.5, 0, 1)",
}


@pytest.mark.parametrize("statement", STATEMENTS.values(), ids=STATEMENTS.keys())
def test_what_needs_no_torch_does_not_import_it(statement):
    after = f"import sys; print(*(name for name in {HEAVY} if name in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", f"{statement}; {after}"], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []


def test_every_public_name_is_there():
    assert set(export.__all__) <= set(dir(export))
    for name in export.__all__:
        assert getattr(export, name).__name__ == name


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'to_nothing'"):
        export.to_nothing  # noqa: B018


def test_checkpoint_of_a_quantised_network_finds_its_builder(tmp_path):
    torch.manual_seed(0)
    net = export.quantize(Network(1, (4,), 2, 6), torch.rand(3, 1, 6))
    checkpoint.save(tmp_path / "net.safetensors", net)
    path = str(tmp_path / "net.safetensors")
    load = f"from training import checkpoint; print(checkpoint.load_module({path!r}))"
    done = subprocess.run([sys.executable, "-c", load], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("QuantizedNetwork")
