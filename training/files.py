"""Writing files whole: a reader sees the old content or the new, never a half."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    # Not mkstemp, which makes private files: these are shared like any other output.
    draft.touch(exist_ok=False)
    try:
        yield draft
        with draft.open("rb+") as written:
            os.fsync(written.fileno())
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
