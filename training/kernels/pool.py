"""Memory that outlives its tensors, for training on a CPU.

A training step allocates and frees hundreds of megabytes. The system takes such blocks back, and
touching them again then costs about as much as computing with them. :class:`BufferPool` keeps the
blocks of the fused kernels; :func:`keep_freed_memory` asks glibc to keep all of them. The latter
holds for the whole process, so only programs that own their process, such as the trainer, call it.
"""

from __future__ import annotations

import ctypes
import math
import sys
import weakref

import numpy as np
import torch

from training.support.compiled import CACHE_LINE

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


class BufferPool:
    """Blocks of memory that outlive the tensors made of them.

    It never holds more than the tensors of one moment have taken.
    """

    def __init__(self) -> None:
        self._idle: dict[int, np.ndarray] = {}
        self._lent = self._most = 0

    def empty(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        """An uninitialised tensor, of a block that an earlier one has left if there is one."""
        size = math.prod(shape) * dtype.itemsize
        block = self._take(size + CACHE_LINE)
        self._lent += block.nbytes
        self._most = max(self._most, self._lent)
        lent = block[-block.ctypes.data % CACHE_LINE :][:size]
        # The tensor's storage holds `lent`, and autograd frees it as soon as nobody needs it.
        weakref.finalize(lent, self._give_back, block).atexit = False
        return torch.from_numpy(lent).view(dtype).view(shape)

    def _take(self, size: int) -> np.ndarray:
        fitting = [b for b in self._idle.values() if size <= b.nbytes <= 2 * size]
        for block in sorted(fitting, key=lambda b: b.nbytes):
            if self._idle.pop(id(block), None) is not None:  # another thread may have been faster
                return block
        for block in list(self._idle.values()):
            if self._lent + size + self.idle_bytes > self._most:
                self._idle.pop(id(block), None)
        return np.empty(size, np.uint8)  # numpy asks for huge pages

    def _give_back(self, block: np.ndarray) -> None:
        self._lent -= block.nbytes
        self._idle[id(block)] = block

    @property
    def idle_bytes(self) -> int:
        """How much is kept without being used."""
        return sum(block.nbytes for block in list(self._idle.values()))

    def clear(self) -> None:
        """Give what is idle back to the system."""
        self._idle.clear()
        self._most = self._lent


pool = BufferPool()
"""Buffer pool shared by the fused kernels."""
