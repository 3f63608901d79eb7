"""Runs tests in forks of a process that has imported heavy packages, and nothing of the project.

A fork puts one mutant into place of its module, imports the project and runs pytest until the first
failure: a second or two, where a new process would take ten. Its processor time and memory are
limited, and it runs in a process group of its own, which is ended as a whole.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.abc
import importlib.machinery
import json
import os
import resource
import select
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from benchmarks.mutation.operators import Mutant

ROOT = Path(__file__).parents[2]
ROOMS = ("training", "export", "lava_procs", "hw_tests", "celif")
WALL = 8.0
"""How much longer than its processor time a run may take, on a machine that is busy."""
MEMORY = 4 << 30
"""Bytes that a run may allocate above what it has."""


@dataclass
class Ran:
    """How a run of tests ended: which one failed first, and what each took and called."""

    failed: str = ""
    timeout: bool = False
    passed: dict[str, float] = field(default_factory=dict)
    """Processor time of each test that passed."""
    called: dict[str, list[str]] = field(default_factory=dict)
    """Functions, as file:line, that each test called; only of a traced run."""


def preload() -> None:
    """Import what the project imports, so that forks need not; nothing here starts a thread."""
    os.environ.update(OMP_NUM_THREADS="1", OMP_WAIT_POLICY="passive")
    sys.path.insert(0, str(ROOT))
    import h5py  # noqa: F401
    import hypothesis.extra.numpy
    import numba.extending  # noqa: F401
    import pytest  # noqa: F401
    import safetensors.torch  # noqa: F401
    import scipy.sparse  # noqa: F401
    import torch.utils.data
    import typer  # noqa: F401

    torch.set_num_threads(1)
    hypothesis.settings.register_profile("mutation", database=None, derandomize=True, deadline=None)
    hypothesis.settings.load_profile("mutation")
    # What the package of benchmarks has imported of the project; a fork imports it again.
    for name in [name for name in sys.modules if name.split(".")[0] in ROOMS]:
        del sys.modules[name]


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads the mutant's module from its changed tree."""

    tree: ast.Module

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.tree, self.path, "exec", dont_inherit=True)


class _MutantFinder(importlib.abc.MetaPathFinder):
    """Finds the mutant's module before anything else does."""

    def __init__(self, mutant: Mutant) -> None:
        path = ROOT / mutant.path
        parts = Path(mutant.path).with_suffix("").parts
        self.package = parts[-1] == "__init__"
        self.name = ".".join(parts[:-1] if self.package else parts)
        self.loader = _Loader(self.name, str(path))
        self.loader.tree = mutant.apply()

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name != self.name:
            return None
        return importlib.util.spec_from_file_location(
            name,
            self.loader.path,
            loader=self.loader,
            submodule_search_locations=[str(Path(self.loader.path).parent)]
            if self.package
            else None,
        )


class _Plugin:
    """Keeps and orders the chosen tests, and notes what each took and called."""

    def __init__(self, order: Sequence[str], traced: frozenset[str]) -> None:
        self.order = {name: i for i, name in enumerate(order)}
        self.traced = traced
        self.ran = Ran()
        self.calls: set[str] = set()
        self.failures: set[str] = set()

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        if self.order:
            items[:] = [item for item in items if item.nodeid in self.order]
            items.sort(key=lambda item: self.order[item.nodeid])

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed and not self.ran.failed:
            self.ran.failed = f"{report.nodeid} (import)"

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.ran.failed = self.ran.failed or report.nodeid
            self.failures.add(report.nodeid)

    def pytest_runtest_setup(self, item: Any) -> None:
        self.began, self.calls = time.process_time(), set()
        if self.traced:
            threading.settrace(self.trace)
            sys.settrace(self.trace)

    def pytest_runtest_teardown(self, item: Any) -> None:
        if self.traced:
            sys.settrace(None)
            threading.settrace(None)
        self.ran.passed[item.nodeid] = time.process_time() - self.began
        self.ran.called[item.nodeid] = sorted(self.calls)

    def trace(self, frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if code.co_filename in self.traced:
            self.calls.add(f"{code.co_filename}:{code.co_firstlineno}")


def run(
    files: Sequence[str],
    order: Sequence[str] = (),
    mutant: Mutant | None = None,
    compiled: bool = True,
    seconds: float = 600.0,
    traced: Sequence[str] = (),
    each: float = 300.0,
) -> Ran:
    """Run the tests ``order`` of ``files`` (all of them by default) in a fork.

    A run without a mutant goes on after failures, and gives only the tests that passed.
    """
    with tempfile.TemporaryDirectory(prefix="celif-mutant-") as name:
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reader)
            _child(files, order, mutant, compiled, seconds, traced, each, Path(name), writer)
        os.close(writer)
        said = _listen(reader, time.monotonic() + WALL * seconds)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    if said is None:
        return Ran(timeout=True)
    return Ran(**json.loads(said)) if said else Ran(failed="the process ended")


def _child(
    files: Sequence[str],
    order: Sequence[str],
    mutant: Mutant | None,
    compiled: bool,
    seconds: float,
    traced: Sequence[str],
    each: float,
    folder: Path,
    writer: int,
) -> None:
    """Run pytest within the limits, tell the parent, and end."""
    import numba
    import pytest

    os.setpgid(0, 0)
    sink = os.open(os.environ.get("CELIF_MUTATION_LOG", os.devnull), os.O_WRONLY | os.O_APPEND)
    os.dup2(sink, 1)
    os.dup2(sink, 2)
    os.chdir(ROOT)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # A test that passes the limit of processor time gets SIGXCPU, which ends the fork.
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
    signal.signal(signal.SIGXCPU, lambda *_: _tell(writer, None))
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
    if not compiled:
        config: Any = numba.config
        config.DISABLE_JIT = 1
        os.environ["NUMBA_DISABLE_JIT"] = "1"
    if mutant is not None:
        sys.meta_path.insert(0, _MutantFinder(mutant))
    plugin = _Plugin(order, frozenset(str(ROOT / path) for path in traced))
    words = ["-q", "-p", "no:cacheprovider", f"--basetemp={folder}/tests", "--no-header"]
    words += ["-W", "ignore::pytest.PytestAssertRewriteWarning", f"--timeout={each}"]
    words += ["--hypothesis-profile=mutation", *(["-x"] if mutant else []), *files]
    code = pytest.main(words, plugins=[plugin])
    ran = plugin.ran
    if mutant is None:
        ran.failed = ""
        ran.passed = {n: time for n, time in ran.passed.items() if n not in plugin.failures}
        ran.called = {n: calls for n, calls in ran.called.items() if n in ran.passed}
    elif code not in (0, 5) and not ran.failed:
        ran.failed = f"pytest ended with {int(code)}"
    _tell(writer, ran)


def _tell(writer: int, ran: Ran | None) -> None:
    """Write what happened, or that the time was up, and end the process."""
    told = Ran(timeout=True) if ran is None else ran
    data = json.dumps(told.__dict__).encode()
    while data:
        data = data[os.write(writer, data) :]
    os._exit(0)


def _listen(reader: int, until: float) -> bytes | None:
    """Return what a fork writes until it ends, or None if it takes too long."""
    said = b""
    while True:
        ready, _, _ = select.select([reader], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            os.close(reader)
            return None
        part = os.read(reader, 1 << 16)
        if not part:
            os.close(reader)
            return said
        said += part
