"""The examples run as they stand, in a short version."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path
from types import ModuleType

import pytest

from celif.tests.run_command import answer

EXAMPLES = Path(__file__).parents[3] / "examples"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_own_loop_trains_exports_and_verifies(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = load("own_loop").main(epochs=3, path=str(tmp_path / "net.net"))
    assert result.equal
    assert result.gap.accuracy_float > 0.3
    assert "Verification: passed" in capsys.readouterr().out


def test_own_network_goes_from_python_to_lava_by_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commands are those of the example's own docstring."""
    pytest.importorskip("lava.lib.dl.slayer", reason="Lava is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(EXAMPLES))
    module = load("own_network")
    accuracy = module.main(epochs=4)
    assert accuracy > 0.5
    trained = (tmp_path / "runs" / "own_network" / "best.safetensors").read_bytes()
    assert module.main(epochs=4) == accuracy, "a second call continues the run, which is finished"
    assert (tmp_path / "runs" / "own_network" / "best.safetensors").read_bytes() == trained
    lines = re.findall(r"^    celif (.*?)(?:  +#.*)?$", module.__doc__ or "", re.M)
    export, verify, run = (shlex.split(line) for line in lines)
    assert [layer["neurons"] for layer in answer(*export)["layers"]] == [32, 64, 32]
    said = answer(*verify, "--lava-samples", 1)
    assert said["equal"]
    assert said["complete"]
    ran = answer(*run[:-1], 1)
    assert ran["predictions"] == answer("simulate", "mine.net", "--samples", 1)["predictions"]


def test_lightning_trains_exports_and_verifies(tmp_path: Path) -> None:
    pytest.importorskip("lightning", reason="lightning is not installed")
    assert load("with_lightning").main(epochs=1, path=str(tmp_path / "net.net")).equal
