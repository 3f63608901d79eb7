"""Files and folders are written whole or not at all, over regular files and folders only."""

from __future__ import annotations

import errno
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from training.support.atomic import atomic_file, atomic_folder, checked_target, clear_drafts


@pytest.mark.parametrize("existed", [False, True], ids=["new", "replaced"])
def test_file_appears_whole_and_only_at_the_end(tmp_path, existed):
    path = tmp_path / "out.bin"
    if existed:
        path.write_text("old")
    with atomic_file(path) as draft:
        draft.write_text("new")
        assert draft.parent == path.parent, "a rename across disks would not be atomic"
        assert path.exists() == existed
        assert not existed or path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_failure_leaves_the_old_file_and_no_debris(tmp_path, error):
    path = tmp_path / "out.bin"
    path.write_text("old")

    def fail():
        with atomic_file(path) as draft:
            draft.write_text("half")
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_file_has_the_usual_permissions(tmp_path):
    before = os.umask(0o027)
    try:
        with atomic_file(tmp_path / "out") as draft:
            draft.write_text("x")
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(before)
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o640


def test_folder_in_the_files_place_is_named_before_anything_is_written(tmp_path):
    (tmp_path / "out").mkdir()
    with (
        pytest.raises(IsADirectoryError, match=r"out: expected a file, found a folder; name a"),
        atomic_file(tmp_path / "out"),
    ):
        raise AssertionError("should not get here")
    assert [path.name for path in tmp_path.rglob("*")] == ["out"]


@pytest.mark.parametrize("dangling", [False, True], ids=["to-a-file", "to-nothing"])
def test_link_stays_a_link(tmp_path, dangling):
    (tmp_path / "store").mkdir()
    target, link = tmp_path / "store" / "real", tmp_path / "link"
    link.symlink_to(target)
    if not dangling:
        target.write_text("old")
    with atomic_file(link) as draft:
        draft.write_text("new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert not target.is_symlink()


def test_missing_folder_is_named(tmp_path):
    with (
        pytest.raises(FileNotFoundError, match=r"out: the folder .*nowhere does not exist; create"),
        atomic_file(tmp_path / "nowhere" / "out"),
    ):
        pass


def test_device_fifo_and_socket_are_refused_and_left_alone(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
    (tmp_path / "link").symlink_to("/dev/null")
    for name, kind in (("fifo", "a FIFO"), ("socket", "a socket"), ("link", "a device")):
        before = (tmp_path / name).stat()
        for writer, wanted in ((atomic_file, "a file"), (atomic_folder, "a folder")):
            message = rf"expected {wanted} or nothing, found {kind}; choose another name"
            with pytest.raises(FileExistsError, match=message), writer(tmp_path / name):
                raise AssertionError("should not get here")
        assert (tmp_path / name).stat().st_ino == before.st_ino
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="links to open files are Linux's")
def test_pipe_behind_a_link_as_dev_stdout_is_refused():
    reading, writing = os.pipe()
    try:
        with pytest.raises(FileExistsError, match=r"fd/\d+: expected a file .* found a FIFO"):
            checked_target(f"/proc/self/fd/{writing}", folder=False)
    finally:
        os.close(reading)
        os.close(writing)


def test_target_behind_a_folder_that_is_missing_is_found(tmp_path):
    (tmp_path / "out").write_text("old")
    target, found = checked_target(f"{tmp_path}/missing/../out", folder=False)
    assert target.read_text() == "old"
    assert found is not None


def test_mode_and_owner_of_a_replaced_file_survive(tmp_path):
    path = tmp_path / "out"
    path.write_text("old")
    path.chmod(0o604)
    owned = os.getuid() == 0
    if owned:
        os.chown(path, 12, 34)
    with atomic_file(path) as draft:
        draft.write_text("new")
    found = path.stat()
    assert path.read_text() == "new"
    assert stat.S_IMODE(found.st_mode) == 0o604
    assert (found.st_uid, found.st_gid) == ((12, 34) if owned else (os.getuid(), os.getgid()))


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.ENOSPC, "free some space"),
        (errno.EDQUOT, "free some space"),
        (errno.EFBIG, "free some space"),
        (errno.EACCES, "get permission"),
        (errno.EROFS, "read-only"),
    ],
)
@pytest.mark.parametrize("existed", [False, True], ids=["new", "replaced"])
def test_error_of_the_disk_names_the_file_what_is_kept_and_the_remedy(
    tmp_path, number, remedy, existed
):
    path = tmp_path / "out"
    if existed:
        path.write_text("old")

    def fail() -> None:
        with atomic_file(path) as draft:
            draft.write_text("half")
            raise OSError(number, "from below")

    with pytest.raises(OSError, match="could not be written") as caught:
        fail()
    assert caught.value.errno == number
    text = str(caught.value)
    assert str(path) in text
    assert ("is unchanged" if existed else "nothing was written") in text
    assert remedy in text
    assert [p.read_text() for p in tmp_path.iterdir()] == ["old"] * existed


FILLS_UP = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
from training.support.atomic import atomic_file
try:
    with atomic_file(sys.argv[1]) as draft:
        draft.write_bytes(bytes(5000))
except OSError as error:
    print(error)
"""


def test_file_that_the_system_cuts_off_leaves_the_former_one(tmp_path):
    path = tmp_path / "out"
    path.write_text("old")
    command = [sys.executable, "-c", FILLS_UP, str(path)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "out: could not be written (File too large); what was there before is unchanged" in said
    assert [p.read_text() for p in tmp_path.iterdir()] == ["old"]


DIES = """
import os, signal, sys
from training.support.atomic import atomic_file, atomic_folder
with (atomic_file if sys.argv[1] == "file" else atomic_folder)(sys.argv[2]) as draft:
    (draft if sys.argv[1] == "file" else draft / "inner").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_draft_of_a_killed_process_is_cleared_by_the_next_writer(tmp_path, kind):
    subprocess.run([sys.executable, "-c", DIES, kind, str(tmp_path / "out")], check=False)
    (litter,) = tmp_path.iterdir()
    assert litter.name.startswith(".out.")
    if kind == "file":
        with atomic_file(tmp_path / "out") as draft:
            assert not litter.exists()
            draft.write_text("new")
    else:
        with atomic_folder(tmp_path / "out") as draft:
            assert not litter.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_draft_of_a_live_process_stays(tmp_path):
    with atomic_file(tmp_path / "out") as draft:
        draft.write_text("first")
        clear_drafts(tmp_path / "out")
        with atomic_file(tmp_path / "out") as other:
            other.write_text("second")
        assert draft.exists()
    assert (tmp_path / "out").read_text() == "first"


def fill(folder: Path, text: str) -> None:
    (folder / "a").write_text(text)
    (folder / "b").mkdir()
    (folder / "b" / "c").write_text(text)


def test_folder_is_replaced_whole(tmp_path):
    target = tmp_path / "kit"
    for text in ("first", "second"):
        with atomic_folder(target) as draft:
            fill(draft, text)
            assert target.exists() == (text == "second")
        assert (target / "b" / "c").read_text() == text
        assert [path.name for path in tmp_path.iterdir()] == ["kit"]


def test_folder_that_fails_leaves_the_former_one(tmp_path):
    target = tmp_path / "kit"
    with atomic_folder(target) as draft:
        fill(draft, "first")

    def fail() -> None:
        with atomic_folder(target) as draft:
            fill(draft, "second")
            raise OSError(errno.ENOSPC, "from below")

    with pytest.raises(
        OSError, match=r"kit: could not be written .* is unchanged; free some space"
    ):
        fail()
    assert (target / "b" / "c").read_text() == "first"
    assert [path.name for path in tmp_path.iterdir()] == ["kit"]


def test_folder_is_replaced_whole_where_the_system_cannot_swap(tmp_path, monkeypatch):
    monkeypatch.setattr("ctypes.CDLL", lambda *_, **__: object())
    test_folder_is_replaced_whole(tmp_path)


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs Linux's /proc")
@pytest.mark.parametrize("writer", [atomic_file, atomic_folder])
def test_folder_that_takes_nothing_new_is_named_instead_of_the_draft(writer):
    expected = (
        r"/proc/o\.npz: could not be written, because /proc takes no new (files|folders); write"
    )
    with pytest.raises(FileNotFoundError, match=expected), writer("/proc/o.npz"):
        pass
