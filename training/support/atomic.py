"""Writing files whole: a reader sees the old content or the new, never a half."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_DIGITS = 8
"""Hexadecimal digits at the end of a draft's name."""


@contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a name beside ``path`` that replaces it on success and vanishes on failure.

    Of a symbolic link, the file that it leads to is replaced.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"{target}: expected a file, found a folder; name a file in it")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{target}: the folder {target.parent} does not exist; create it")
    draft = target.with_name(f".{target.name}.{secrets.token_hex(_DIGITS // 2)}")
    # Not mkstemp, which makes private files: these are shared like any other output.
    draft.touch(exist_ok=False)
    try:
        yield draft
        with draft.open("rb+") as written:
            os.fsync(written.fileno())
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def remove_drafts(path: str | os.PathLike[str]) -> None:
    """Remove the drafts of ``path`` that killed writers left; nobody may be writing it now."""
    target = Path(os.path.realpath(path))
    name = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{{_DIGITS}}}")
    for beside in target.parent.glob(".*"):
        if name.fullmatch(beside.name):
            beside.unlink(missing_ok=True)
