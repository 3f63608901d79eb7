"""Keeping freed memory: glibc's, and the pool of blocks that tensors leave behind."""

from __future__ import annotations

import platform
import subprocess
import sys

import torch

from training.kernels import pool as memory
from training.kernels.pool import BufferPool


def test_glibc_is_asked_once_and_says_yes():
    # In a process of its own: the setting cannot be undone.
    code = "from training.kernels.pool import keep_freed_memory; print(keep_freed_memory())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(platform.libc_ver()[0] == "glibc")


def test_other_systems_are_left_alone(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert memory.keep_freed_memory() is False


def test_pool_lends_what_a_tensor_has_left():
    pool = BufferPool()
    tensor = pool.empty((3, 100), torch.float64)
    assert tensor.shape == (3, 100)
    place = tensor.data_ptr()
    assert place % 64 == 0
    part = tensor[1]
    del tensor
    other = pool.empty((300,), torch.float64)
    assert other.data_ptr() != place, "a view still lives"
    del part
    assert pool.empty((2, 101), torch.float64).data_ptr() == place, "somewhat smaller will do"


def test_pool_lends_nothing_twice():
    pool = BufferPool()
    tensors = [pool.empty((50,), torch.float32).fill_(i) for i in range(4)]
    assert [float(tensor.mean()) for tensor in tensors] == [0, 1, 2, 3]


def test_pool_never_holds_more_than_was_in_use_at_once():
    pool = BufferPool()
    for size in (1000, 5000, 20_000, 3000, 100_000):
        both = [pool.empty((size,), torch.uint8), pool.empty((size // 2,), torch.uint8)]
        held = sum(2 * tensor.nbytes + 64 for tensor in both)
        del both
        assert pool.idle_bytes <= max(held, 31_000)
    assert pool.idle_bytes > 0
    pool.clear()
    assert pool.idle_bytes == 0
