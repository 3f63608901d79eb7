"""The code on the page about modules runs as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("lava.magma", reason="Lava is not installed")

PAGE = Path(__file__).parents[3] / "docs" / "modules.md"


def test_example_of_a_module_is_verified(tmp_path, monkeypatch, capsys) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, str(PAGE), "exec"), {})
    assert capsys.readouterr().out.split() == ["True"]
