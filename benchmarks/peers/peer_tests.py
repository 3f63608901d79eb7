"""``python -m benchmarks.peers.peer_tests``: lava-dl's own netx tests, run on our Network.

The tests come with lava-dl's wheel. Further arguments go to pytest, e.g. ``-k mnist``.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

TESTS = ("tests.lava.lib.dl.netx.test_hdf5", "tests.lava.lib.dl.netx.test_blocks")
PASSED = 19
"""Tests in lava-dl 0.6's two files."""
TEST_SECONDS = 1800
"""One takes four minutes on two busy cores; a model that raises would hang its test for ever."""

_ROOT = Path(__file__).resolve().parents[2]


def command(arguments: list[str], folder: str) -> list[str]:
    """Pytest in ``folder``, without this project's configuration, which is stricter than lava-dl's.

    The tests write files to where they are started, so that is not the repository.
    """
    return [
        *(sys.executable, "-m", "pytest", "-c", os.devnull, "--rootdir", folder),
        *("-p", "no:cacheprovider", "-p", "benchmarks.peers.peer_plugin", "--durations=3"),
        *("-W", "ignore", f"--timeout={TEST_SECONDS}"),
        # A selection of the tests is not the whole, and not counted.
        *(() if arguments else (f"--expect-passed={PASSED}",)),
        *("--pyargs", *TESTS, *arguments),
    ]


def main(arguments: list[str]) -> int:
    """Run the tests; the exit code is pytest's."""
    paths = [str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    with tempfile.TemporaryDirectory(prefix="celif-peer-") as folder:
        # A session of its own, so that whatever a failing test leaves running can be ended.
        tests = subprocess.Popen(
            command(arguments, folder), cwd=folder, env=environment, start_new_session=True
        )
        try:
            # Not reaped yet: until the group is gone, its number must stay taken.
            os.waitid(os.P_PID, tests.pid, os.WEXITED | os.WNOWAIT)
        finally:
            os.killpg(tests.pid, signal.SIGKILL)
            code = tests.wait()
        return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
