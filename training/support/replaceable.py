"""What may be replaced: a file of the kind that is about to be written, and no other.

A kind is told from the content of a file. Its name would not do: whoever mixes up two arguments
writes to a file with a name of another kind.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from training.support.atomic import checked_target


@dataclass(frozen=True)
class FileKind:
    """A kind of file."""

    name: str
    """With its article, such as ``a netx file``."""
    holds: Callable[[Path], bool]
    """Whether an existing file, which is not empty, is of this kind."""
    damaged: Callable[[Path], bool] = lambda path: False
    """Whether a file that is not of this kind may once have been."""


def beginning(name: str, *starts: bytes) -> FileKind:
    """The kind of file that begins with one of ``starts``, in small or capital letters."""
    longest = max(map(len, starts))

    def holds(path: Path) -> bool:
        with path.open("rb") as file:
            return file.read(longest).lower().startswith(tuple(s.lower() for s in starts))

    return FileKind(name, holds)


def require_replaceable(path: str | os.PathLike[str], kind: FileKind, option: str = "") -> None:
    """Raise unless ``path`` is new, empty, or a file of the kind that will replace it.

    Raises
    ------
    FileExistsError
        For another file. Links are followed, as writing follows them.
    """
    target, found = checked_target(path, folder=False)
    if found is None or found.st_size == 0 or kind.holds(target):
        return
    named = f"{option} {path}" if option else str(path)
    other = "a damaged file" if kind.damaged(target) else "a file of another kind"
    raise FileExistsError(
        f"{named}: expected a new file, or {kind.name} to replace, found {other}; "
        "choose another name, or remove that file first"
    )
