"""The compile cache: named by the sources, and done without where it cannot be written."""

from __future__ import annotations

import numpy as np
import pytest

from training.kernels import compiled

_prange = compiled.parallel_range()


def double(x: np.ndarray) -> None:
    for i in _prange(len(x)):
        x[i] *= 2


def test_cache_is_named_by_every_source(tmp_path):
    a, b = tmp_path / "a.py", tmp_path / "b.py"
    a.write_text("x = 1")
    b.write_text("y = 1")
    before = compiled._cache_folder((str(a), str(b)))
    assert compiled._cache_folder((str(a), str(b))) == before
    b.write_text("y = 2")
    assert compiled._cache_folder((str(a), str(b))) != before


@pytest.mark.parametrize("writable", [True, False], ids=["writable", "blocked"])
def test_kernel_is_cached_where_the_user_keeps_caches_or_not_at_all(
    tmp_path, monkeypatch, writable
):
    root = tmp_path / "caches"
    if not writable:
        root.touch()  # a file in the folder's place
    monkeypatch.setenv("XDG_CACHE_HOME", str(root))
    x = np.arange(3.0)
    compiled.kernel(__file__)(double)(x)
    assert x.tolist() == [0, 2, 4]
    assert bool(list((root / "celif" / "numba").rglob("*double*.nbc"))) == writable
