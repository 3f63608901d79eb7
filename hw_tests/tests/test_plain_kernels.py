"""Every kernel computes the same compiled and as plain Python, which is how one debugs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]


def kernel_results(folder: Path, **environment: str) -> dict[str, np.ndarray]:
    out = folder / "results.npz"
    subprocess.run(
        [sys.executable, "-m", "hw_tests.tests.kernel_results", str(out)],
        cwd=ROOT,
        env={**os.environ, **environment},
        check=True,
    )
    with np.load(out) as arrays:
        return dict(arrays)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict, dict]:
    plain = kernel_results(tmp_path_factory.mktemp("plain"), NUMBA_DISABLE_JIT="1")
    return plain, kernel_results(tmp_path_factory.mktemp("compiled"))


def test_every_kernel_of_the_sources_is_called(both):
    called = dict(line.rsplit(" ", 1) for line in both[0]["calls"].tolist())
    assert [name for name, times in called.items() if times == "0"] == []
    written = sum(
        path.read_text().count("\n@compiled.kernel")
        for room in ("training", "export", "lava_procs", "hw_tests", "celif")
        for path in (ROOT / room).rglob("*.py")
        if "tests" not in path.parts
    )
    assert len(called) == written > 10


def test_plain_python_equals_the_compiled_kernels(both):
    plain, compiled = (dict(results) for results in both)
    assert plain.pop("calls").tolist() == compiled.pop("calls").tolist()
    assert plain.keys() == compiled.keys()
    for name in plain:
        np.testing.assert_array_equal(plain[name], compiled[name], err_msg=name)
    spikes = [name for name in plain if name.endswith(" 0") and "certificate" not in name]
    assert all(plain[name].any() for name in spikes if "quiet" not in name)
