"""Files are written whole or not at all."""

from __future__ import annotations

import os

import pytest

from training.support.atomic import atomic_file


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
