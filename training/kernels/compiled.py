"""numba, when it is there, with a compile cache that notices an edited ``step``.

numba's own cache looks only at the file of the function it compiles, so a kernel would go on
using an old ``step`` from another file. The cache folder is therefore named by a hash of the
sources of every file that kernels are made from.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

try:
    import numba
    import numba.extending
except ImportError:  # the plain step serves instead; functional.py says so
    numba = None  # type: ignore[assignment]

AVAILABLE = numba is not None


def _cache_folder(sources: tuple[str, ...]) -> Path:
    digest = hashlib.sha256(numba.__version__.encode())
    for source in (__file__, *sources):  # the options of the compiler stand in this file
        digest.update(Path(source).read_bytes())
    root = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))
    return root / "celif" / "numba" / digest.hexdigest()[:16]


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


def jitable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let kernels call ``function``; it stays the plain Python function it is.

    Compiled without fastmath, which would change bits.
    """
    return numba.extending.register_jitable(function) if AVAILABLE else function


def scalar_form_of(plain: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let kernels compute by the decorated function what ``plain`` does with arrays, too.

    For a primitive whose plain operators are slow when compiled; a test must hold them equal.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        if AVAILABLE:
            numba.extending.overload(plain, strict=False)(lambda *types: function)
        return function

    return decorate


def kernel(*sources: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Compile a parallel loop; ``sources`` are the files that the loop's code comes from."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        if not AVAILABLE:
            return function
        folder = _cache_folder(sources)
        config: Any = numba.config
        users = config.CACHE_DIR
        config.CACHE_DIR = str(folder)
        try:
            # Without a folder of ours to write to, numba would cache in a stale one, or refuse.
            return numba.njit(parallel=True, cache=_writable(folder), nogil=True)(function)
        finally:
            config.CACHE_DIR = users

    return decorate


def parallel_range() -> Any:
    """``numba.prange``, or ``range`` where there is no numba."""
    return numba.prange if AVAILABLE else range


def threads() -> int:
    """How many threads a kernel runs on."""
    return numba.get_num_threads() if AVAILABLE else 1
