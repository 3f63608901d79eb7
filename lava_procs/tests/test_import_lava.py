"""The door to Lava: what it says where Lava is missing, and what it leaves unimported."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import lava_procs
from lava_procs import import_lava
from lava_procs.mends import lava_command

ROOT = Path(__file__).parents[2]


def test_importing_the_package_imports_neither_lava_nor_torch(tmp_path):
    code = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
import lava_procs
found = [name for name in sys.modules if name.split(".")[0] in ("lava", "torch", "numba", "h5py")]
assert not found, found
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=tmp_path, check=True)


def test_every_name_is_there_and_no_other():
    for name in lava_procs.__all__:
        assert getattr(lava_procs, name).__name__ == name
        assert name in dir(lava_procs)
    assert sorted(lava_procs._HOMES) == sorted(lava_procs.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'no_such_name'"):
        lava_procs.no_such_name  # noqa: B018


@pytest.mark.parametrize(
    ("blocked", "said"),
    [
        ("lava", "found no lava-nc and no lava-dl"),
        ("lava.magma", "found no lava-nc"),
        ("lava.lib", "found no lava-dl"),
    ],
)
def test_missing_lava_is_named_with_the_command_that_installs_it(monkeypatch, blocked, said):
    for name in [name for name in sys.modules if name.partition(".")[0] == "lava"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, blocked, None)
    with pytest.raises(ImportError) as caught:
        importlib.reload(import_lava)
    assert caught.value.name == "lava"
    assert f"{said}; install them with: {lava_command()}" in str(caught.value)
