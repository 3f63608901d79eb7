"""A pytest plugin for Lava's own tests: our Network and our runtime stand in for Lava's.

Loaded before the tests are imported (``-p benchmarks.peers.peer_plugin``). Nothing is replaced
outside that process, and the run fails unless the parts that it is about were really used.
"""

from __future__ import annotations

import functools
from collections import Counter
from typing import Any

from lava_procs import LavaInlineError, inline
from lava_procs import Network as OurNetwork
from lava_procs.one_process import InlineRuntime

_counts: Counter[str] = Counter()
_refused: list[str] = []


def _count_constructions(kind: type, what: str) -> None:
    """Count in ``__init__`` itself: a subclass of a Process would need a model of its own."""
    build: Any = kind.__init__  # type: ignore[misc]

    @functools.wraps(build)
    def counted(self: Any, *args: Any, **kwargs: Any) -> None:
        _counts[what] += 1
        build(self, *args, **kwargs)

    setattr(kind, "__init__", counted)  # noqa: B010 (mypy takes it for a mistake)


def pytest_addoption(parser: Any) -> None:
    """Say what stands in, and how many tests must pass."""
    parser.addoption("--expect-passed", type=int, default=None)
    parser.addoption("--our-network", action="store_true")
    parser.addoption("--inline", action="store_true")


def pytest_configure(config: Any) -> None:
    """Put our classes where Lava looks its own up."""
    _count_constructions(OurNetwork, "networks")
    _count_constructions(InlineRuntime, "runtimes")
    if config.getoption("--our-network"):
        from lava.lib.dl.netx import hdf5

        hdf5.Network = OurNetwork
    if config.getoption("--inline"):
        config._inline = inline()
        config._inline.__enter__()


def pytest_unconfigure(config: Any) -> None:
    """Give Lava its runtime back."""
    if hasattr(config, "_inline"):
        config._inline.__exit__(None, None, None)


def pytest_runtest_makereport(item: Any, call: Any) -> None:
    """Note what our runtime refuses."""
    if call.excinfo is not None and call.excinfo.errisinstance(LavaInlineError):
        _refused.append(f"{item.name}: {call.excinfo.value}")


def pytest_runtest_logreport(report: Any) -> None:
    """Count tests that passed."""
    if report.when == "call" and report.passed:
        _counts["passed"] += 1


def _missed(config: Any) -> list[str]:
    expected = config.getoption("--expect-passed")
    missed = []
    if config.getoption("--our-network") and not _counts["networks"]:
        missed.append("lava_procs.Network was never built: these tests prove nothing about it")
    if config.getoption("--inline") and not _counts["runtimes"]:
        missed.append("the inline runtime was never used: these tests prove nothing about it")
    if not config.getoption("--inline") and _counts["runtimes"]:
        missed.append("the inline runtime was used although it was not asked for")
    if expected is not None and _counts["passed"] != expected:
        missed.append(f"expected {expected} tests to pass, {_counts['passed']} did")
    return missed


def pytest_sessionfinish(session: Any, exitstatus: int) -> None:
    """Fail a green run that tested something else."""
    if exitstatus == 0 and _missed(session.config):
        session.exitstatus = 1


def pytest_terminal_summary(terminalreporter: Any, exitstatus: int, config: Any) -> None:
    """Say how often our classes were built, and what our runtime refused."""
    terminalreporter.section("our parts in the place of Lava's")
    terminalreporter.write_line(
        f"{_counts['passed']} tests passed; lava_procs.Network was built {_counts['networks']} "
        f"times, the inline runtime {_counts['runtimes']} times; it refused {len(_refused)}"
    )
    for line in _refused:
        terminalreporter.write_line(f"refused: {line}")
    for line in _missed(config):
        terminalreporter.write_line(f"FAILED: {line}", red=True)
