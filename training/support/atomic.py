"""Write files and folders whole: a reader sees the old content or the new, never a part.

The new content is written to a draft next to its target and then renamed onto it. A draft's name
tells which process writes it, so that the next writer of the same target can remove the drafts of
killed processes and leaves those of live ones alone.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

_SPACE, _PERMISSION = "free some space, or write to another disk", "write to another folder"
_REMEDIES = {
    errno.ENOSPC: _SPACE,
    errno.EDQUOT: _SPACE,
    errno.EFBIG: _SPACE,
    errno.EACCES: f"get permission to write there, or {_PERMISSION}",
    errno.EPERM: f"get permission to write there, or {_PERMISSION}",
    errno.EROFS: f"the disk is read-only: {_PERMISSION}",
    errno.EIO: "check the disk, or write to another one",
}
"""What to do about errors of the disk."""


@lru_cache(maxsize=1)
def _machine() -> str:
    """Return a name for this machine, and for the container in it, in which a process id counts."""
    parts = [os.uname().nodename if hasattr(os, "uname") else ""]
    with contextlib.suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text())
        parts.append(os.readlink("/proc/self/ns/pid"))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:8]


def _draft_of(target: Path) -> Path:
    mark = f"{_machine()}-{os.getpid()}-{secrets.token_hex(4)}"
    return target.with_name(f".{target.name}.{mark}")


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def clear_drafts(path: str | os.PathLike[str]) -> None:
    """Remove the drafts of ``path`` that killed processes of this machine left behind."""
    target = Path(os.path.realpath(path))
    name = re.compile(rf"\.{re.escape(target.name)}\.{_machine()}-(\d+)-[0-9a-f]{{8}}")
    with contextlib.suppress(OSError):
        for beside in list(os.scandir(target.parent)):
            match = name.fullmatch(beside.name)
            if match and not _is_alive(int(match[1])):
                _remove(Path(beside.path))


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def checked_target(
    path: str | os.PathLike[str], folder: bool
) -> tuple[Path, os.stat_result | None]:
    """Follow links; refuse what is neither new nor a regular file, or a folder if that is meant."""
    target = Path(os.path.realpath(path))
    expected = "a folder" if folder else "a file"
    try:
        # /dev/stdout leads to a target such as pipe:[5], a name that is in no folder.
        found = os.stat(path) if os.path.exists(path) else target.stat()
    except FileNotFoundError:
        if not target.parent.is_dir():
            raise FileNotFoundError(
                f"{target}: the folder {target.parent} does not exist; create it"
            ) from None
        return target, None
    kind = found.st_mode
    if stat.S_ISDIR(kind) and not folder:
        raise IsADirectoryError(f"{target}: expected a file, found a folder; name a file in it")
    if not (stat.S_ISDIR(kind) if folder else stat.S_ISREG(kind)):
        kinds = {stat.S_ISCHR: "a device", stat.S_ISBLK: "a device", stat.S_ISFIFO: "a FIFO",
                 stat.S_ISSOCK: "a socket", stat.S_ISREG: "a file"}  # fmt: skip
        name = next((name for test, name in kinds.items() if test(kind)), "something else")
        raise FileExistsError(f"{path}: expected {expected} or nothing, found {name}; "
                              "choose another name")  # fmt: skip
    return target, found


@contextmanager
def _explained(target: Path, existed: bool) -> Iterator[None]:
    """Give errors of the disk a text that names the file, what is kept, and what to do."""
    try:
        yield
    except OSError as error:
        if error.errno not in _REMEDIES:
            raise
        kept = "what was there before is unchanged" if existed else "nothing was written"
        raise type(error)(
            error.errno,
            f"{target}: could not be written ({os.strerror(error.errno)}); {kept}; "
            f"{_REMEDIES[error.errno]}",
        ) from error


def _begin(draft: Path, target: Path, folder: bool) -> None:
    """Create an empty draft; /proc says of a new file that it is not there, and no more."""
    try:
        draft.mkdir() if folder else draft.touch(exist_ok=False)
    except FileNotFoundError as error:
        raise FileNotFoundError(
            errno.ENOENT,
            f"{target}: could not be written, because {target.parent} takes no new "
            f"{'folders' if folder else 'files'}; {_PERMISSION}",
        ) from error


@contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield the path of a draft that replaces ``path`` on success and is removed on failure.

    The replaced file's mode and, where the system allows it, its owner are kept. If ``path`` is a
    symbolic link, the file that it leads to is replaced. Folders, devices, FIFOs and sockets are
    refused.
    """
    target, former = checked_target(path, folder=False)
    clear_drafts(target)
    draft = _draft_of(target)
    with _explained(target, former is not None):
        try:
            _begin(draft, target, folder=False)
            yield draft
            with draft.open("rb+") as written:
                if former is not None:
                    with contextlib.suppress(OSError):
                        os.fchown(written.fileno(), former.st_uid, former.st_gid)
                    os.fchmod(written.fileno(), stat.S_IMODE(former.st_mode))
                os.fsync(written.fileno())
            draft.replace(target)
            _sync(target.parent)
        finally:
            draft.unlink(missing_ok=True)


@contextmanager
def atomic_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield an empty draft folder that replaces the folder ``path`` as a whole on success."""
    target, former = checked_target(path, folder=True)
    clear_drafts(target)
    draft = _draft_of(target)
    with _explained(target, former is not None):
        try:
            _begin(draft, target, folder=True)
            yield draft
            for written in (*sorted(draft.rglob("*")), draft):
                _sync(written)
            if former is None:
                draft.rename(target)
            else:
                os.chmod(draft, stat.S_IMODE(former.st_mode))
                _exchange(draft, target)
            _sync(target.parent)
        finally:
            _remove(draft)  # the former folder, by now, or an unfinished draft


def _exchange(draft: Path, target: Path) -> None:
    """Swap two folders in one step where the system can, else in two."""
    try:
        import ctypes

        libc = ctypes.CDLL(None, use_errno=True)
        here, swap = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
        if libc.renameat2(here, os.fsencode(draft), here, os.fsencode(target), swap) == 0:
            return
    except (OSError, AttributeError):
        pass
    aside = _draft_of(target)
    target.rename(aside)
    try:
        draft.rename(target)
    except OSError:
        aside.rename(target)
        raise
    aside.rename(draft)


def _sync(path: Path) -> None:
    """Make a file's content, or the names in a folder, survive a loss of power.

    A file that cannot be synced is an error; a folder need not be, as not every disk can do that.
    """
    with contextlib.suppress(OSError) if path.is_dir() else contextlib.nullcontext():
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def remove_drafts(path: str | os.PathLike[str]) -> None:
    """Remove all drafts of ``path``, whoever wrote them; nobody may be writing it now."""
    target = Path(os.path.realpath(path))
    name = re.compile(rf"\.{re.escape(target.name)}\.([0-9a-f]{{8}}-\d+-)?[0-9a-f]{{8}}")
    for beside in target.parent.glob(".*"):
        if name.fullmatch(beside.name):
            _remove(beside)
