"""The compile cache: its key covers all code of kernels, and it may be missing altogether."""

from __future__ import annotations

import ast
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from training.support import compiled

_prange = compiled.parallel_range()
ROOT = Path(compiled.__file__).resolve().parents[2]


def double(x: np.ndarray) -> None:
    for i in _prange(len(x)):
        x[i] *= 2


@pytest.fixture
def key_of_copy(tmp_path):
    """The key of a copy of the kernels' sources, computed again on each call."""
    for path in compiled.source_files():
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    return lambda: compiled.cache_key.__wrapped__(tmp_path)


def test_cache_key_changes_with_any_kernel_source(tmp_path, key_of_copy):
    before = key_of_copy()
    assert key_of_copy() == before == compiled.cache_key()
    files = compiled.source_files(tmp_path)
    assert len(files) > 15
    for path in files:
        text = path.read_text()
        path.write_text(text + "\n# edited\n")
        assert key_of_copy() != before, path
        path.write_text(text)
    assert key_of_copy() == before


def test_cache_key_changes_with_a_new_kernel_file(tmp_path, key_of_copy):
    before = key_of_copy()
    (tmp_path / "export" / "twin" / "another.py").write_text("x = 1")
    assert key_of_copy() != before


def project_imports(path: Path) -> dict[str, Path]:
    """The names that a module imports from the project, with the file that each comes from."""
    found = {}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            for name in node.names:
                base = ROOT / node.module.replace(".", "/")
                for file in (base / f"{name.name}.py", base.with_suffix(".py")):
                    if file.is_file():
                        found[name.asname or name.name] = file
                        break
    return found


def compiled_functions(path: Path) -> list[ast.FunctionDef]:
    """Functions of a module that numba compiles."""
    return [
        node
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef)
        and any("compiled." in ast.unparse(each) for each in node.decorator_list)
    ]


def test_compiled_code_comes_from_the_hashed_sources_alone():
    hashed = set(compiled.source_files())
    rooms = ("training", "export", "lava_procs", "hw_tests", "celif")
    everywhere = [
        p for room in rooms for p in (ROOT / room).rglob("*.py") if "tests" not in p.parts
    ]
    makers = [path for path in everywhere if compiled_functions(path)]
    assert len(makers) > 8
    assert [path for path in makers if path not in hashed] == []
    for path in makers:
        imported = project_imports(path)
        for function in compiled_functions(path):
            used = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
            outside = {name for name in used & imported.keys() if imported[name] not in hashed}
            assert outside == set(), f"{path}: {function.name}"


@pytest.mark.parametrize("writable", [True, False], ids=["writable", "blocked"])
def test_kernel_is_cached_where_the_user_keeps_caches_or_not_at_all(
    tmp_path, monkeypatch, writable
):
    root = tmp_path / "caches"
    if not writable:
        root.touch()  # a file in the folder's place
    monkeypatch.setenv("XDG_CACHE_HOME", str(root))
    x = np.arange(3.0)
    compiled.kernel()(double)(x)
    assert x.tolist() == [0, 2, 4]
    assert bool(list((root / "celif" / "numba").rglob("*double*.nbc"))) == writable


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """The folder in which kernels are kept, in an otherwise empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return compiled._cache_folder()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_cache_is_private_whatever_the_umask(cache):
    before = os.umask(0)
    try:
        assert compiled.why_not_cached() is None
    finally:
        os.umask(before)
    assert [mode(p) for p in (cache, cache.parent, cache.parent.parent)] == [0o700] * 3


@pytest.mark.parametrize("bits", [0o770, 0o702])
def test_cache_that_others_can_write_to_is_not_used(cache, bits):
    cache.mkdir(parents=True)
    cache.chmod(bits)
    x = np.arange(3.0)
    compiled.kernel()(double)(x)
    assert x.tolist() == [0, 2, 4]
    assert list(cache.iterdir()) == []
    assert "found one that others can write to" in str(compiled.why_not_cached())


def test_cache_behind_a_link_or_of_another_user_is_not_used(cache, tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    cache.parent.mkdir(parents=True)
    cache.symlink_to(elsewhere)
    assert "found another's or a link" in str(compiled.why_not_cached())
    cache.unlink()
    assert compiled.why_not_cached() is None
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    assert "found another's or a link" in str(compiled.why_not_cached())


def test_folder_above_the_cache_is_made_private(cache):
    cache.parent.mkdir(parents=True)
    cache.parent.parent.chmod(0o775)
    assert compiled.why_not_cached() is None
    assert mode(cache.parent.parent) == 0o700


ALIKE = """
import torch
from training.functional import layers
torch.manual_seed(0)
x, te = torch.rand(3, 2, 9), torch.rand(70, 9) / 5
weights = [torch.randn(70, 2), torch.randn(5, 70) / 4]
own = [torch.randn(70, 70) / 9, None]
spikes = layers(x, weights, [torch.zeros(70), torch.zeros(5)], te, context="v+te", weights_rec=own)
assert 0.05 < spikes.mean() < 0.95
print(spikes.int().flatten().tolist())
"""


def test_kernels_run_as_plain_python_where_numbas_compiler_is_switched_off():
    said = []
    for switch in ("0", "1"):
        given = {**os.environ, "NUMBA_DISABLE_JIT": switch}
        command = [sys.executable, "-c", ALIKE]
        found = subprocess.run(command, capture_output=True, text=True, env=given, check=False)
        assert found.returncode == 0, found.stderr
        said.append(found.stdout)
    assert said[0] == said[1] != ""
