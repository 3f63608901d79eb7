"""``python -m benchmarks.peers.peer_tests``: Lava's own tests, run on our parts.

The tests come with the wheels of lava-nc and lava-dl. Those of lava-nc's Processes run in our
runtime (:func:`lava_procs.inline`), those of lava-dl's netx in our runtime and on our Network.
``--runtime lava`` runs them in Lava's own runtime. Further arguments go to pytest, for example
``-k mnist``.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple


class Suite(NamedTuple):
    """Tests of one wheel: how many there are, and which parts of Lava ours replace."""

    name: str
    modules: tuple[str, ...]
    passed: int
    options: tuple[str, ...] = ()


_PROCESSES = ("lif", "dense", "sparse", "conv", "sdn", "rf", "atrlif", "io", "monitor")
_NETX = ("test_hdf5", "test_blocks")

SUITES = (
    Suite("lava-nc 0.10, Processes", tuple(f"tests.lava.proc.{name}" for name in _PROCESSES), 212),
    Suite(
        "lava-dl 0.6, netx",
        tuple(f"tests.lava.lib.dl.netx.{name}" for name in _NETX),
        19,
        ("--our-network",),
    ),
)
TEST_SECONDS = 1800
"""One takes minutes on two busy cores; in Lava's runtime, a model that raises hangs its test."""

_ROOT = Path(__file__).resolve().parents[2]


def command(suite: Suite, runtime: str, arguments: list[str], folder: str) -> list[str]:
    """Pytest in ``folder``, without this project's configuration, which is stricter than Lava's.

    The tests write files to where they are started, so that is not the repository.
    """
    return [
        *(sys.executable, "-m", "pytest", "-c", os.devnull, "--rootdir", folder, "--noconftest"),
        *("-p", "no:cacheprovider", "-p", "benchmarks.peers.peer_plugin", "--durations=3", "-q"),
        *("-W", "ignore", f"--timeout={TEST_SECONDS}", *suite.options),
        *(("--inline",) if runtime == "inline" else ()),
        # A selection of the tests is not the whole, and not counted.
        *(() if arguments else (f"--expect-passed={suite.passed}",)),
        *("--pyargs", *suite.modules, *arguments),
    ]


def run(suite: Suite, runtime: str, arguments: list[str]) -> int:
    """Run one suite; the exit code is pytest's."""
    paths = [str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    with tempfile.TemporaryDirectory(prefix="celif-peer-") as folder:
        # A session of its own, so that whatever a failing test leaves running can be ended.
        tests = subprocess.Popen(
            command(suite, runtime, arguments, folder),
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
        try:
            # Not reaped yet: until the group is gone, its number must stay taken.
            os.waitid(os.P_PID, tests.pid, os.WEXITED | os.WNOWAIT)
        finally:
            os.killpg(tests.pid, signal.SIGKILL)
            code = tests.wait()
        return code


def main(arguments: list[str]) -> int:
    """Run all suites; 0 if every test passed."""
    parser = argparse.ArgumentParser(description=__doc__, add_help=False)
    parser.add_argument("--runtime", choices=("inline", "lava"), default="inline")
    options, further = parser.parse_known_args(arguments)
    code = 0
    for suite in SUITES:
        sys.stdout.write(f"\n{suite.name}, runtime {options.runtime}\n")
        sys.stdout.flush()
        ended = run(suite, options.runtime, further)
        # Pytest's 5: a selection that has no test in this suite.
        if ended not in ((0, 5) if further else (0,)):
            code = ended
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
