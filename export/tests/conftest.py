"""Fixtures of this room's tests."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(autouse=True)
def no_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of tests need not survive a power cut; syncing hundreds of them takes minutes."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
