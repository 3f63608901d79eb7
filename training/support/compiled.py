"""numba, where it is installed, with a compile cache that notices every edit of a kernel.

numba's own cache looks only at the file of the function that it compiles: a kernel would keep
using an old ``step`` from another file. The cache folder is therefore named by a hash of all files
that hold code or constants of kernels (:data:`KERNEL_SOURCES`), so that no list has to be kept by
hand. After an edit of any of them every kernel is compiled again.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.util
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

AVAILABLE = importlib.util.find_spec("numba") is not None
"""Whether numba is installed; without it the plain step serves, and functional.py says so."""

CACHE_LINE = 64
"""Bytes of a cache line: vectors that straddle two take twice the time."""

_waiting: list[Callable[[Any], object]] = []
"""What to tell numba once it is imported, which only a kernel does: it takes half a second."""

_ROOT = Path(__file__).resolve().parents[2]

KERNEL_SOURCES = (
    "training/support/compiled.py",
    "training/kernels",
    "training/dynamics.py",
    "export/steps",
    "export/twin",
    "export/proof",
    "export/loihi2.py",
)
"""Files, and folders of files, whose functions and constants kernels are compiled from."""


@functools.lru_cache(maxsize=1)
def _numba() -> Any:
    """Import numba and tell it what kernels may call."""
    numba = importlib.import_module("numba")
    importlib.import_module("numba.extending")
    for register in _waiting:
        register(numba)
    return numba


def _tell(register: Callable[[Any], object]) -> None:
    """Call ``register`` with numba, now or once it is imported."""
    if _numba.cache_info().currsize:
        register(_numba())
    elif AVAILABLE:
        _waiting.append(register)


def source_files(root: Path = _ROOT) -> list[Path]:
    """List the files of :data:`KERNEL_SOURCES` below ``root`` in a fixed order."""
    files = []
    for name in KERNEL_SOURCES:
        path = root / name
        files += sorted(path.rglob("*.py")) if path.is_dir() else [path] * path.is_file()
    return files


@functools.lru_cache(maxsize=1)
def cache_key(root: Path = _ROOT) -> str:
    """Hash the sources of all kernels, with their paths, and the version of numba."""
    digest = hashlib.sha256(_numba().__version__.encode())
    for path in source_files(root):
        content = hashlib.sha256(path.read_bytes()).digest()
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + content)
    return digest.hexdigest()[:16]


def _cache_folder() -> Path:
    root = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))
    return root / "celif" / "numba" / cache_key()


def why_not_cached() -> str | None:
    """Say why compiled kernels cannot be kept for the next process; None if they can.

    Whoever can write to the cache can run code as its user, because the cache holds machine code.
    Its folders are therefore created for their owner alone, and a folder that somebody else owns or
    can write to is not used.
    """
    folder = _cache_folder()
    try:
        folder.parent.parent.parent.mkdir(parents=True, exist_ok=True)
        for part in (folder.parent.parent, folder.parent, folder):
            part.mkdir(mode=0o700, exist_ok=True)
            found = part.lstat()
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
                return f"{part}: expected a folder of the present user, found another's or a link"
            if found.st_mode & 0o022:
                if part == folder:
                    return f"{part}: expected a private folder, found one that others can write to"
                part.chmod(0o700)  # it may be older than this rule; what is below is checked next
    except OSError as error:
        return f"{folder}: {error.strerror}"
    return None if os.access(folder, os.W_OK) else f"{folder}: not writable"


def jitable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let kernels call ``function``, which remains a plain Python function.

    Kernels compile it without fastmath, which would change bits.
    """
    _tell(lambda numba: numba.extending.register_jitable(function))
    return function


def scalar_form_of(plain: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make kernels call the decorated function wherever the source calls ``plain``.

    This is for a primitive whose plain operators are slow when compiled to scalar code. A test must
    show that both compute the same.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        _tell(lambda numba: numba.extending.overload(plain, strict=False)(lambda *types: function))
        return function

    return decorate


def intrinsic(typed: Callable[..., Any], plain: Callable[..., Any]) -> Any:
    """Make a function of LLVM's operations that kernels can call; ``plain`` without a compiler.

    ``typed`` takes numba's typing context and the arguments' types, and returns a signature and
    what writes the operations. A test must show that it computes what ``plain`` does.
    """
    if not AVAILABLE or _numba().config.DISABLE_JIT:
        return plain
    return _numba().extending.intrinsic(typed)


def kernel(parallel: bool = True) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Compile a loop over :func:`parallel_range` with numba, or leave it as it is without numba.

    Without ``parallel`` it uses no threads, and may be called in a forked process.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        if not AVAILABLE:
            return function
        numba, folder, cached = _numba(), _cache_folder(), why_not_cached() is None
        config: Any = numba.config
        users = config.CACHE_DIR
        config.CACHE_DIR = str(folder)
        try:
            # If our folder cannot be written, numba must not cache in another, possibly stale, one.
            return numba.njit(parallel=parallel, cache=cached, nogil=True)(function)
        finally:
            config.CACHE_DIR = users

    return decorate


def parallel_range() -> Any:
    """Return ``numba.prange``, or ``range`` without numba."""
    return _numba().prange if AVAILABLE else range


def is_loaded() -> bool:
    """Whether numba has been imported, which takes half a second."""
    return _numba.cache_info().currsize > 0


def threads() -> int:
    """Return the number of threads that a kernel runs on."""
    return _numba().get_num_threads() if AVAILABLE else 1
