"""Keeping freed memory in the process, for training on a CPU.

A training step frees and allocates hundreds of megabytes. glibc returns such blocks to the
system, and touching them anew then costs about as much as computing with them. The setting holds
for the whole process, so only programs that own theirs, such as the trainer, make it.
"""

from __future__ import annotations

import ctypes
import sys

_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4


def keep_freed_memory() -> bool:
    """Ask glibc to reuse freed blocks; False where the C library is another one."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):
        return False
    # No block by mmap, and no trimming of the heap's top: freed memory stays mapped.
    return bool(mallopt(_M_MMAP_MAX, 0)) and bool(mallopt(_M_TRIM_THRESHOLD, -1))
