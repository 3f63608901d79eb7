"""NIR files that lead a reader elsewhere, or to far more than they hold, are refused by name."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

nir = pytest.importorskip("nir", reason="needs the package nir")

from celif import from_nir
from celif.tests.interchange.graphs import STEPS

SOUND = Path(__file__).parent / "data" / "snntorch-leaky.nir"
NODES, WEIGHT = "node/nodes", "node/nodes/0/weight"
LINK, ELSEWHERE = "expected values in the file itself, found a link", "in the file itself, found"


def external_link(file: h5py.File) -> None:
    del file[WEIGHT]
    file[WEIGHT] = h5py.ExternalLink("other.nir", "/" + WEIGHT)


def external_link_to_a_node(file: h5py.File) -> None:
    del file[f"{NODES}/0"]
    file[f"{NODES}/0"] = h5py.ExternalLink("other.nir", f"/{NODES}/0")


def soft_link(file: h5py.File) -> None:
    file[f"{NODES}/0/moved"] = file[WEIGHT]
    del file[WEIGHT]
    file[WEIGHT] = h5py.SoftLink(f"/{NODES}/0/moved")


def soft_link_to_nothing(file: h5py.File) -> None:
    file[f"{NODES}/0/more"] = h5py.SoftLink("/nowhere")


def soft_link_to_itself(file: h5py.File) -> None:
    file[f"{NODES}/0/more"] = h5py.SoftLink(f"/{NODES}/0/more")


def external_storage(file: h5py.File) -> None:
    del file[WEIGHT]
    file.create_dataset(WEIGHT, (8, 5), "f4", external=[("other.nir", 0, 160)])


def virtual_values(file: h5py.File) -> None:
    del file[WEIGHT]
    layout = h5py.VirtualLayout((8, 5), "f4")
    layout[:] = h5py.VirtualSource("other.nir", WEIGHT, (8, 5))
    file.create_virtual_dataset(WEIGHT, layout)


def group_in_itself(file: h5py.File) -> None:
    file[f"{NODES}/0/again"] = file[NODES]


def many_ways_to_one_group(file: h5py.File) -> None:
    """Forty names for each of twelve groups, one in the other: 40¹² ways to the last."""
    group = file[NODES]
    for _ in range(12):
        inner = group.create_group("0000")
        for i in range(1, 40):
            group[f"{i:04}"] = inner
        group = inner


def deep(file: h5py.File) -> None:
    file.create_group("/".join([NODES, *"x" * 40]))


def terabytes(file: h5py.File) -> None:
    del file[WEIGHT]
    file.create_dataset(WEIGHT, (1 << 20, 1 << 18), "f4", chunks=(1, 1024))


def many_names_for_one_array(file: h5py.File) -> None:
    del file[WEIGHT]
    file.create_dataset(WEIGHT, (1 << 12, 1 << 12), "f4", chunks=(1, 1024))
    for i in range(8):
        file[f"{NODES}/0/weight{i}"] = file[WEIGHT]


ATTACKS: list[tuple[Callable[[h5py.File], None], str, str]] = [
    (external_link, WEIGHT, LINK),
    (external_link_to_a_node, f"{NODES}/0", LINK),
    (soft_link, WEIGHT, LINK),
    (soft_link_to_nothing, f"{NODES}/0/more", LINK),
    (soft_link_to_itself, f"{NODES}/0/more", LINK),
    (external_storage, WEIGHT, ELSEWHERE),
    (virtual_values, WEIGHT, ELSEWHERE),
    (group_in_itself, "again", "expected up to 16 groups, found more"),
    (many_ways_to_one_group, "", "expected up to 4096 members, found more"),
    (deep, "/x/x", "expected up to 16 groups, found more"),
    (terabytes, "", r"expected up to \d+ bytes of arrays, found 1099"),
    (many_names_for_one_array, "", r"expected up to \d+ bytes of arrays, found 603"),
]


@pytest.mark.parametrize(("attack", "place", "said"), ATTACKS, ids=[a[0].__name__ for a in ATTACKS])
def test_hostile_nir_file_is_refused_by_name_before_it_is_read(
    attack, place, said, tmp_path, monkeypatch
):
    path = tmp_path / "net.nir"
    shutil.copy(SOUND, path)
    shutil.copy(SOUND, tmp_path / "other.nir")
    with h5py.File(path, "r+") as file:
        attack(file)

    def read(*_, **__):
        raise AssertionError("nir was given the file")

    monkeypatch.setattr(nir, "read", read)
    with pytest.raises(ValueError, match=said) as caught:
        from_nir(path, 1e-4, STEPS)
    assert str(path) in str(caught.value)
    assert place in str(caught.value)


def test_nir_file_of_which_one_name_is_another_is_still_read(tmp_path):
    """Hard links, which HDF5 has for every name, lead nowhere else."""
    path = tmp_path / "net.nir"
    shutil.copy(SOUND, path)
    with h5py.File(path, "r+") as file:
        bias = file[f"{NODES}/0/bias"]
        del file[f"{NODES}/0/bias"]
        file[f"{NODES}/0/bias"] = bias
    assert from_nir(path, 1e-4, STEPS) is not None


@pytest.mark.parametrize("kind", ["fifo", "folder", "nothing", "text", "device"])
def test_what_is_no_nir_file_is_named(kind, tmp_path):
    path = tmp_path / "net.nir"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "text":
        path.write_text("no HDF5")
    elif kind == "device":
        path.symlink_to("/dev/zero")
    with pytest.raises(ValueError, match=r"net\.nir: expected a NIR file, found"):
        from_nir(path, 1e-4, STEPS)


def test_damaged_nir_file_is_named_or_read(tmp_path):
    """Bytes flipped anywhere: the error names the file or a node, never only what h5py found."""
    content, rng = SOUND.read_bytes(), np.random.default_rng(0)
    path, refused, read = tmp_path / "net.nir", 0, 0
    for at in rng.integers(0, len(content), 40):
        damaged = bytearray(content)
        damaged[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        try:
            from_nir(path, 1e-4, STEPS)
            read += 1
        except ValueError as error:
            assert str(path) in str(error) or "expected" in str(error)  # noqa: PT017
            refused += 1
    assert refused > 5
    assert read > 5
