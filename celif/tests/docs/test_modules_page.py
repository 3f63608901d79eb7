"""The code on the page about modules runs as it stands there."""

from __future__ import annotations

import re
import runpy
import shlex
import sys
from pathlib import Path

import pytest

from celif.tests.run_command import answer

pytest.importorskip("lava.magma", reason="Lava is not installed")

PAGE = Path(__file__).parents[3] / "docs" / "modules.md"


def test_example_of_a_module_is_verified_by_the_commands_as_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    Path("mine.py").write_text(code)
    begin, *commands = re.findall(r"^    ((?:python|celif) .*)$", PAGE.read_text(), re.M)
    assert begin == "python mine.py"
    runpy.run_path("mine.py", run_name="__main__")
    assert capsys.readouterr().out.split() == ["True"]
    written = {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("*.*")}
    verify, export = (shlex.split(command)[1:] for command in commands)
    said = answer(*verify)
    assert said["equal"]
    assert said["source"]["equal"]
    assert [layer["neurons"] for layer in answer(*export)["layers"]] == [16, 32]
    again = {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("*.*")}
    assert {name: again[name] for name in written} == written, "imported, it trains nothing"
    monkeypatch.delitem(sys.modules, "mine", raising=False)
