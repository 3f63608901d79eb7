"""Writing files whole: a reader sees the old content or the new, never a half."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a name beside ``path`` that replaces it on success and vanishes on failure."""
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{target}: the folder {target.parent} does not exist; create it")
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    os.close(handle)
    draft = Path(name)
    try:
        yield draft
        # mkstemp makes private files; these are shared like any other output.
        umask = os.umask(0)
        os.umask(umask)
        draft.chmod(0o666 & ~umask)
        with draft.open("rb+") as written:
            os.fsync(written.fileno())
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
