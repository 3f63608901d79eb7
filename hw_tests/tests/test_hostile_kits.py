"""Kits whose manifest or links lead elsewhere: refused by name, and nothing elsewhere is opened."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hw_tests.golden import check, write_kit
from hw_tests.golden.kit import MANIFEST, digest, random_input, trace_of
from hw_tests.networks.random_nets import random_network

_opened: list[str] = []
_watching = False


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if _watching and event == "open" and isinstance(arguments[0], str):
        _opened.append(os.path.realpath(arguments[0]))


@pytest.fixture(scope="module", autouse=True)
def watch() -> Iterator[None]:
    """Note which files are opened; an audit hook cannot be removed, but it can be idle."""
    global _watching
    sys.addaudithook(_note)
    _watching = True
    yield
    _watching = False


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A kit of one small network."""
    net = random_network(np.random.default_rng(0), (3,), 6, channels=2)
    folder = tmp_path_factory.mktemp("sound") / "kit"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hw_tests.golden.kit.unit_cases", list)
        write_kit(net, random_input(net, 2), folder)
    return folder


@pytest.fixture
def kit(sound: Path, tmp_path: Path) -> Path:
    """A copy of the kit, and beside it one in a folder that is none of its business."""
    shutil.copytree(sound, tmp_path / "kit")
    shutil.copytree(sound, tmp_path / "elsewhere")
    return tmp_path / "kit"


def listed(kit: Path, name: str, file: Path) -> None:
    """Put a file, with its right sum, into the manifest."""
    manifest = json.loads((kit / MANIFEST).read_text())
    manifest["sha256"][name] = digest(file)
    (kit / MANIFEST).write_text(json.dumps(manifest))


def absolute(kit: Path) -> str:
    name = str(kit.parent / "elsewhere/README.md")
    listed(kit, name, Path(name))
    return name


def above(kit: Path) -> str:
    listed(kit, "../elsewhere/README.md", kit / "../elsewhere/README.md")
    return "../elsewhere/README.md"


def above_by_a_detour(kit: Path) -> str:
    listed(kit, "cases/../../elsewhere/README.md", kit / "../elsewhere/README.md")
    return "cases/../../elsewhere/README.md"


def linked_file(kit: Path) -> str:
    (kit / "README.md").unlink()
    (kit / "README.md").symlink_to(kit.parent / "elsewhere/README.md")
    return "README.md"


def linked_folder(kit: Path) -> str:
    shutil.rmtree(kit / "cases/network")
    (kit / "cases/network").symlink_to("../../elsewhere/cases/network")
    return "cases/network/"


def linked_manifest(kit: Path) -> str:
    (kit / MANIFEST).unlink()
    (kit / MANIFEST).symlink_to("../elsewhere/" + MANIFEST)
    return MANIFEST


def case_above(kit: Path) -> str:
    """A case whose vectors are outside, and that has no sum."""
    manifest = json.loads((kit / MANIFEST).read_text())
    manifest["cases"] = [{"name": "../../elsewhere/cases/network"}]
    (kit / MANIFEST).write_text(json.dumps(manifest))
    return "cases/../../elsewhere/cases/network/trace.npz"


def case_above_with_a_sum(kit: Path) -> str:
    name = case_above(kit)
    listed(kit, name, kit / name)
    return name


def case_without_a_sum(kit: Path) -> str:
    """Vectors that are a link outside, and that have no sum."""
    manifest = json.loads((kit / MANIFEST).read_text())
    name = trace_of("network")
    del manifest["sha256"][name]
    (kit / MANIFEST).write_text(json.dumps(manifest))
    (kit / name).unlink()
    (kit / name).symlink_to(kit.parent / "elsewhere" / name)
    return name


def zero_in_a_name(kit: Path) -> str:
    listed(kit, "README\0.md", kit / "README.md")
    return "README"


def very_long_name(kit: Path) -> str:
    listed(kit, "x" * 5000, kit / "README.md")
    return "x" * 100


def link_to_itself(kit: Path) -> str:
    (kit / "README.md").unlink()
    (kit / "README.md").symlink_to("README.md")
    return "README.md"


ATTACKS: list[Callable[[Path], str]] = [
    absolute,
    above,
    above_by_a_detour,
    linked_file,
    linked_folder,
    linked_manifest,
    case_above,
    case_above_with_a_sum,
    case_without_a_sum,
    zero_in_a_name,
    very_long_name,
    link_to_itself,
]


def test_sound_kit_is_read_and_its_files_are_seen_to_be_opened(kit):
    _opened.clear()
    assert check(kit, kit / trace_of("network")).equal
    assert os.path.realpath(kit / trace_of("network")) in _opened
    assert os.path.realpath(kit / MANIFEST) in _opened


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_kit_that_leads_elsewhere_is_refused_and_opens_nothing_there(attack, kit, tmp_path):
    theirs = shutil.copy(kit / trace_of("network"), tmp_path / "theirs.npz")
    name = attack(kit)
    _opened.clear()
    with pytest.raises(ValueError, match=r"expected|since the kit was written") as caught:
        check(kit, theirs)
    said = str(caught.value)
    assert str(kit) in said
    assert name in said
    elsewhere = os.path.realpath(tmp_path / "elsewhere")
    assert [path for path in _opened if path.startswith(elsewhere)] == []


@pytest.mark.parametrize("attack", [linked_file, linked_folder], ids=lambda attack: attack.__name__)
def test_kit_that_replaces_one_with_links_leaves_alone_what_they_lead_to(attack, kit, monkeypatch):
    monkeypatch.setattr("hw_tests.golden.kit.unit_cases", list)
    elsewhere = kit.parent / "elsewhere"
    before = {path: path.read_bytes() for path in elsewhere.rglob("*") if path.is_file()}
    attack(kit)
    net = random_network(np.random.default_rng(1), (2,), 4)
    write_kit(net, random_input(net, 1), kit)
    assert check(kit, kit / trace_of("network")).equal
    assert {path: path.read_bytes() for path in elsewhere.rglob("*") if path.is_file()} == before
    assert not any(path.is_symlink() for path in kit.rglob("*"))


def test_folder_whose_manifest_is_a_fifo_is_left_alone(tmp_path):
    (tmp_path / "kit").mkdir()
    os.mkfifo(tmp_path / "kit" / MANIFEST)
    net = random_network(np.random.default_rng(1), (2,), 4)
    with pytest.raises(FileExistsError, match="something else than a kit"):
        write_kit(net, random_input(net, 1), tmp_path / "kit")
    with pytest.raises(ValueError, match="expected a kit, found none"):
        check(tmp_path / "kit", tmp_path / "theirs.npz")
    assert [path.name for path in (tmp_path / "kit").iterdir()] == [MANIFEST]
