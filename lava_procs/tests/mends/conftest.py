"""Run a few lines in a new Python, in which nothing is imported yet."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

PREPARE = """
import sys
sys.path.insert(0, {root!r})
from lava_procs.mends import MENDS, hook
unwanted = {without!r}
assert unwanted in ("", *(mend.name for mend in MENDS)), unwanted
sys.meta_path[:] = [f for f in sys.meta_path if not isinstance(f, hook.MendingFinder)]
hook.install([mend for mend in MENDS if mend.name != unwanted])
"""


@pytest.fixture
def python(tmp_path: Path) -> Callable[..., str]:
    """Run code with every mend but one, warnings being errors; return what it printed."""

    def run(code: str, without: str = "", expect: int = 0) -> str:
        lines = PREPARE.format(root=str(ROOT), without=without) + textwrap.dedent(code)
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", lines],
            cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
        assert done.returncode == expect, done.stdout + done.stderr
        return done.stdout + done.stderr

    return run
