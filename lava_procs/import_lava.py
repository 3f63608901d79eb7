"""Imports Lava, quietly, and whatever ran before.

Lava sets multiprocessing's start method to ``fork`` when imported, and fails if anything (a
DataLoader's worker, a Queue) has fixed a method already, even the same one.
"""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import sys

_SETTER = "lava.magma.runtime.message_infrastructure.multiprocessing"


def _free_start_method() -> None:
    """Let Lava set the start method that is set already."""
    method = multiprocessing.get_start_method(allow_none=True)
    if _SETTER in sys.modules or method is None:
        return
    if method != "fork":
        raise ImportError(
            f"lava_procs: expected multiprocessing's start method to be 'fork', the only one Lava "
            f"runs with, found {method!r}; import lava_procs before it is set"
        )
    multiprocessing.set_start_method(None, force=True)


_free_start_method()
try:
    # SLAYER, which netx imports, reports on CUDA and on datasets that nobody asked for.
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        import lava.lib.dl.netx.hdf5  # noqa: F401
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "lava":
        raise
    raise ImportError(
        "lava_procs: expected lava-nc and lava-dl, found neither or only one; install them with "
        "pip install 'celif-lava[lava]' on Python 3.10, the only one that Lava runs on"
    ) from error
