"""The command that installs Lava, for the running Python and installer."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from lava_procs.mends import command


@pytest.mark.parametrize(
    ("version", "pip", "uv", "expected"),
    [
        ((3, 10), True, False, "python -m pip install --no-deps lava-nc==0.10.0 lava-dl==0.6.0"),
        (
            (3, 13), True, False,
            "python -m pip install --no-deps --ignore-requires-python lava-nc==0.10.0 "
            "lava-dl==0.6.0",
        ),
        ((3, 12), False, True, "uv pip install --no-deps lava-nc==0.10.0 lava-dl==0.6.0"),
        (
            (3, 12), True, True,
            "python -m pip install --no-deps --ignore-requires-python lava-nc==0.10.0 "
            "lava-dl==0.6.0",
        ),
    ],
    ids=["pip on 3.10", "pip on 3.13", "uv", "pip in an environment of uv"],
)  # fmt: skip
def test_command_is_for_the_running_python_and_installer(monkeypatch, version, pip, uv, expected):
    monkeypatch.setattr(command, "_has_pip", lambda: pip)
    monkeypatch.setattr(command, "_made_by_uv", lambda: uv)
    monkeypatch.setattr(command, "sys", SimpleNamespace(version_info=version))
    assert command.lava_command() == expected


def test_environment_of_uv_is_known_by_its_configuration(monkeypatch, tmp_path):
    monkeypatch.delenv("UV", raising=False)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert not command._made_by_uv()
    (tmp_path / "pyvenv.cfg").write_text("home = /usr/bin\nuv = 0.13.7\n")
    assert command._made_by_uv()
