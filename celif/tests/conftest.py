"""What the tests of the command share."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from celif import cli
from celif.tests.run_command import Ending, answer
from export import write_netx
from hw_tests.networks.random_nets import random_network


@pytest.fixture
def end_of(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a command through main, as the shell does: exit code and both outputs."""

    def run(*arguments: Any) -> Ending:
        monkeypatch.setattr(sys, "argv", ["celif", *(str(a) for a in arguments)])
        with pytest.raises(SystemExit) as exit_info:
            cli.main()
        said = capsys.readouterr()
        return Ending(exit_info.value.code or 0, said.err, said.out)

    return run


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run trained for three epochs, and its export."""
    folder = tmp_path_factory.mktemp("cli")
    trained = answer(
        *("train", "--out", folder / "run", "--epochs", 3, "--hidden", "32,24"),
        *("--dropout", 0),
    )
    assert trained["validation"] > 0.3
    exported = answer("export", folder / "run" / "last.safetensors", "-o", folder / "net.net")
    assert len(exported["layers"]) == 2
    return folder


@pytest.fixture(scope="module")
def saturating(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network whose registers overflow on any input, with digits' shape."""
    path = tmp_path_factory.mktemp("saturating") / "net.net"
    rng = np.random.default_rng(0)
    net = random_network(rng, (6, 5), 64, channels=1, classes=10, saturating=True)
    write_netx(net, path)
    return path
