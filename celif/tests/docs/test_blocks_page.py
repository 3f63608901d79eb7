"""The code on the page about blocks runs as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("lava.lib.dl.slayer", reason="Lava is not installed")

PAGE = Path(__file__).parents[3] / "docs" / "blocks.md"


def test_example_of_blocks_runs_and_lava_agrees(tmp_path, monkeypatch, capsys) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, str(PAGE), "exec"), {})
    printed = capsys.readouterr().out
    ours, lavas = (re.findall(r"-?\d+", part) for part in printed.split("]]")[:2])
    assert len(ours) == 6
    assert ours == lavas
