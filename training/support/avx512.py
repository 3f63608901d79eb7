"""Faster float32 matrix products on AMD processors with AVX-512.

Torch multiplies matrices with MKL, which keeps to AVX2 on AMD's processors. Torch also has oneDNN,
which uses AVX-512 there and takes about half the time, but it is reached only through
``torch.set_float32_matmul_precision("medium")``. That call permits torch to round the factors to
bfloat16, which oneDNN does on some processors and not on others. The permission is therefore given
only where a product shows that it keeps the precision of float32.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

CPUINFO = Path("/proc/cpuinfo")
_PRECISE = 2e-6
"""Error of a product relative to the sum of its terms' sizes; rounding to bfloat16 makes 1e-3."""


@contextmanager
def products(device: torch.device) -> Iterator[bool]:
    """Multiply float32 matrices with AVX-512 where that is faster and as precise.

    The setting belongs to the whole process and is taken back at the end. Yields whether it was
    changed: it is left alone where the user has chosen another precision, and where the network is
    not on a CPU.
    """
    before = torch.get_float32_matmul_precision()
    if device.type != "cpu" or before != "highest" or not _helps():
        yield False
        return
    torch.set_float32_matmul_precision("medium")
    try:
        yield True
    finally:
        torch.set_float32_matmul_precision(before)


@functools.lru_cache(maxsize=1)
def _helps() -> bool:
    return _is_amd_with_avx512(CPUINFO) and _keeps_precision()


def _is_amd_with_avx512(cpuinfo: Path) -> bool:
    if not cpuinfo.is_file() or not torch.backends.mkldnn.is_available():
        return False
    text = cpuinfo.read_text(encoding="utf-8")
    return "AuthenticAMD" in text and "avx512f" in text


def _keeps_precision() -> bool:
    """Whether products at "medium" are as precise as float32."""
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(256, 256, generator=generator) for _ in range(2))
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        product = a @ b
    finally:
        torch.set_float32_matmul_precision(before)
    sizes = a.double().abs() @ b.double().abs()
    return bool(((product - a.double() @ b.double()).abs() / sizes).max() < _PRECISE)
