"""The examples run as they stand, in a short version."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

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


def test_lightning_trains_exports_and_verifies(tmp_path: Path) -> None:
    pytest.importorskip("lightning", reason="lightning is not installed")
    assert load("with_lightning").main(epochs=1, path=str(tmp_path / "net.net")).equal
