"""A pytest plugin: our Network stands in for lava-dl's, in the process of the tests only.

Loaded before the tests are imported (``-p benchmarks.peers.peer_plugin``). Nothing is patched
outside that process, and the run fails unless our class was really built.
"""

from __future__ import annotations

import functools
from collections import Counter
from typing import Any

from lava_procs import Network as OurNetwork

_counts: Counter[str] = Counter()


def _count_constructions() -> None:
    """Count in ``__init__`` itself: a subclass would need a ProcessModel of its own."""
    build = OurNetwork.__init__

    @functools.wraps(build)
    def counted(self: Any, *args: Any, **kwargs: Any) -> None:
        _counts["built"] += 1
        build(self, *args, **kwargs)

    setattr(OurNetwork, "__init__", counted)  # noqa: B010 (mypy takes it for a mistake)


def pytest_configure(config: Any) -> None:
    """Put our class where ``netx.hdf5.Network`` is looked up."""
    from lava.lib.dl.netx import hdf5

    _counts["was lava-dl's"] = int(hdf5.Network is not OurNetwork)
    _count_constructions()
    hdf5.Network = OurNetwork


def pytest_addoption(parser: Any) -> None:
    """``--expect-passed N``: fewer or more tests passed is a failure too."""
    parser.addoption("--expect-passed", type=int, default=None)


def pytest_runtest_logreport(report: Any) -> None:
    """Count tests that passed."""
    if report.when == "call" and report.passed:
        _counts["passed"] += 1


def _missed(config: Any) -> list[str]:
    expected = config.getoption("--expect-passed")
    missed = []
    if not _counts["was lava-dl's"]:
        missed.append("netx.hdf5.Network was ours before it was replaced")
    if not _counts["built"]:
        missed.append("lava_procs.Network was never built: these tests prove nothing about it")
    if expected is not None and _counts["passed"] != expected:
        missed.append(f"expected {expected} tests to pass, {_counts['passed']} did")
    return missed


def pytest_sessionfinish(session: Any, exitstatus: int) -> None:
    """Fail a green run that tested something else."""
    if exitstatus == 0 and _missed(session.config):
        session.exitstatus = 1


def pytest_terminal_summary(terminalreporter: Any, exitstatus: int, config: Any) -> None:
    """Say how often our class was built."""
    terminalreporter.section("lava_procs.Network in place of lava.lib.dl.netx.hdf5.Network")
    terminalreporter.write_line(
        f"built {_counts['built']} times; {_counts['passed']} of lava-dl's tests passed"
    )
    for line in _missed(config):
        terminalreporter.write_line(f"FAILED: {line}", red=True)
