"""Keeping freed memory: done where glibc is, and harmless elsewhere."""

from __future__ import annotations

import platform
import subprocess
import sys

from training import memory


def test_glibc_is_asked_once_and_says_yes():
    # In a process of its own: the setting cannot be undone.
    code = "from training.memory import keep_freed_memory; print(keep_freed_memory())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(platform.libc_ver()[0] == "glibc")


def test_other_systems_are_left_alone(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert memory.keep_freed_memory() is False
