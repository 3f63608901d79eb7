"""Files made to read other files, to hang or to take memory: refused by name, before being read."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from export import read_netx, write_netx
from export.netx import integrity
from export.tests.netx.test_hostile_files import refusal
from export.tests.strategies import cosine_network, rich_network

SECRET = 77


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "net.net"
    write_netx(rich_network(), path)
    return path


def changed(path: Path, change: Callable[[h5py.File], None]) -> Path:
    with h5py.File(path, "a") as f:
        change(f)
        integrity.sign(f)
    return path


def other_file(path: Path) -> Path:
    """A file that nobody asked to be read."""
    other = path.with_name("other.h5")
    with h5py.File(other, "w") as f:
        f["secret"] = SECRET
    return other


def external_link(f: h5py.File) -> None:
    del f["celif/gap"]
    f["celif/gap"] = h5py.ExternalLink(str(other_file(Path(f.filename))), "/secret")


def soft_link(f: h5py.File) -> None:
    del f["celif/gap"]
    f["celif/gap"] = h5py.SoftLink("/celif/steps")


def external_storage(f: h5py.File) -> None:
    raw = Path(f.filename).with_name("raw")
    raw.write_bytes(bytes(8))
    del f["celif/input/permutation"]
    f["celif/input"].create_dataset(
        "permutation", (1,), np.int64, external=[(str(raw), 0, h5py.h5f.UNLIMITED)]
    )


def virtual_dataset(f: h5py.File) -> None:
    other = other_file(Path(f.filename))
    layout = h5py.VirtualLayout((1,), np.int64)
    layout[0] = h5py.VirtualSource(str(other), "secret", ())
    del f["celif/input/permutation"]
    f["celif/input"].create_virtual_dataset("permutation", layout)


def never_written(f: h5py.File) -> None:
    del f["celif/input/permutation"]
    f["celif/input"].create_dataset("permutation", (1 << 31,), np.int64)


def compressed(f: h5py.File) -> None:
    del f["celif/input/permutation"]
    zeros = np.zeros(1 << 16, np.int64)
    f["celif/input"].create_dataset("permutation", data=zeros, compression="gzip")


def circle(f: h5py.File) -> None:
    f["layer/0/neuron/inside"] = f["layer"]


def deep(f: h5py.File) -> None:
    f.create_group("a/" * (integrity.DEPTH_MAX + 2))


def many_strings(f: h5py.File) -> None:
    del f["layer/0/type"]
    f["layer/0/type"] = np.array(["dense", "dense"], h5py.string_dtype())


def compound(f: h5py.File) -> None:
    del f["celif/gap"]
    f["celif/gap"] = np.zeros(1, [("a", int), ("b", float)])


def named_type(f: h5py.File) -> None:
    f["celif/kind"] = np.dtype(np.int16)


ATTACKS = {
    external_link: ("/celif/gap", "an external link"),
    soft_link: ("/celif/gap", "a soft link"),
    external_storage: ("/celif/input/permutation", "external storage"),
    virtual_dataset: ("/celif/input/permutation", "a virtual dataset"),
    never_written: ("/celif/input/permutation", "0 in the file"),
    compressed: ("/celif/input/permutation", "chunks or filters"),
    circle: ("/layer/0/neuron/inside", "a group inside itself"),
    deep: ("/a/a/a/a/a/a/a/a/a", "more"),
    many_strings: ("/layer/0/type", "object"),
    compound: ("/celif/gap", "dtype"),
    named_type: ("/celif/kind", "Datatype"),
}


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_attack_is_refused_by_name(path, attack):
    with h5py.File(path, "a") as f:
        attack(f)
    error = refusal(path)
    place, found = ATTACKS[attack]
    assert error.dataset == place
    assert found in error.found
    assert str(SECRET) not in str(error)


@pytest.mark.parametrize("kind", ["FIFO", "folder", "device"])
def test_what_is_no_regular_file_is_not_opened(tmp_path, kind):
    path = Path("/dev/zero") if kind == "device" else tmp_path / "net.net"
    if kind == "FIFO":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    assert ("a folder" if kind == "folder" else "a device, FIFO or socket") in refusal(path).found


def test_file_that_is_too_large_is_not_opened(path):
    with path.open("r+b") as file:
        file.truncate(integrity.FILE_BYTES_MAX + 1)  # without taking space on the disk
    assert "bytes" in refusal(path).found


def test_steps_that_would_unfold_to_gigabytes_are_refused(path):
    """A cosine's table takes rows times steps of memory, and nothing of the file."""
    write_netx(cosine_network(), path)

    def longer(f: h5py.File) -> None:
        for i in range(2):
            del f[f"layer/{i}/neuron/teSteps"]
            f[f"layer/{i}/neuron/teSteps"] = 1 << 20
            rows = 40
            del f[f"layer/{i}/weight"], f[f"layer/{i}/shape"], f[f"layer/{i}/outFeatures"]
            f[f"layer/{i}/weight"] = np.zeros((rows, 2 if i == 0 else 4), np.int8)
            f[f"layer/{i}/shape"], f[f"layer/{i}/outFeatures"] = np.array([rows]), rows
            del f[f"layer/{i}/neuron/te"]
            f[f"layer/{i}/neuron/te"] = np.zeros(rows, np.int32)

    changed(path, longer)
    error = refusal(path)
    assert error.dataset == "/layer/0/neuron/teSteps"
    assert "mantissas in all layers" in error.expected


@pytest.mark.parametrize("name", ["layer/0/weight", "layer/2/weight"])
def test_zero_neurons_are_refused(path, name):
    def empty(f: h5py.File) -> None:
        del f[name]
        f[name] = np.zeros((0, 2), np.int8)

    assert refusal(changed(path, empty)).dataset.startswith("/layer/")


def test_terminal_escapes_never_leave_the_error(path):
    def escape(f: h5py.File) -> None:
        del f["layer/1/neuron/type"]
        f["layer/1/neuron/type"] = np.bytes_(b"\x1b]0;owned\x07\x1b[31mCUBA")

    text = str(refusal(changed(path, escape)))
    assert text.isprintable()
    assert "owned" in text


@pytest.mark.parametrize("where", ["name", "value"])
def test_terminal_escapes_in_what_is_shown_are_refused(path, where):
    name = "te\x1b[2J" if where == "name" else "weights"

    def escape(f: h5py.File) -> None:
        f[f"celif/source/{name}"] = np.bytes_(b"\x1b[2J" if where == "value" else b"00")

    error = refusal(changed(path, escape))
    assert error.dataset.startswith("/celif/source/")
    assert str(error).isprintable()


def test_sound_files_pass(path):
    assert read_netx(path).steps == rich_network().steps


FULL_DISK = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
from export import write_netx
from export.tests.strategies import rich_network
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_netx(rich_network(), sys.argv[1])
except OSError as error:
    print(error.errno, error)
"""


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="needs limits of file sizes")
def test_disk_that_fills_keeps_the_former_file_and_names_it(path):
    """A limit of 1,000 bytes stands for the full disk: one write fails, and HDF5 is not there."""
    before = path.read_bytes()
    command = [sys.executable, "-c", FULL_DISK, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(errno.EFBIG))
    assert "net.net: could not be written" in done.stdout
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["net.net"]


def many_links(count: int, size: int) -> Callable[[h5py.File], None]:
    def change(f: h5py.File) -> None:
        f["more/0"] = np.zeros(size, np.int8)
        for i in range(1, count):
            f[f"more/{i}"] = f["more/0"]

    return change


def groups_in_groups(f: h5py.File) -> None:
    """Six groups of six groups ...: few bytes, and many names."""
    f.create_group("x0")["value"] = 1
    for depth in range(1, 6):
        group = f.create_group(f"x{depth}")
        for i in range(6):
            group[str(i)] = f[f"x{depth - 1}"]


def long_string(f: h5py.File) -> None:
    f["more"] = "x" * (20 << 20)


HUGE = {
    "many names": (many_links(integrity.OBJECTS_MAX, 1), f"up to {integrity.OBJECTS_MAX} objects"),
    "many names of much": (many_links(600, 1 << 20), "bytes under all names"),
    "groups in groups": (groups_in_groups, f"up to {integrity.OBJECTS_MAX} objects"),
    "a long string": (long_string, "bytes besides its arrays"),
    "a long fixed string": (
        lambda f: f.__setitem__("more", np.bytes_(b"x" * 5000)),
        "strings of up to 4096 bytes",
    ),
    "a committed type": (lambda f: f.__setitem__("more", np.dtype("i8")), "Datatype"),
}


@pytest.mark.parametrize("name", HUGE)
def test_small_files_that_take_long_or_much_are_refused(name: str, path: Path) -> None:
    change, expected = HUGE[name]
    with h5py.File(path, "a") as f:
        change(f)
    assert expected in str(refusal(path))


def test_a_flattening_layer_at_the_end_is_refused(path: Path) -> None:
    last = len(read_netx(path).all_layers) - 1

    def change(f: h5py.File) -> None:
        group = f.create_group(f"layer/{len(f['layer'])}")
        group.create_dataset("type", (1,), "S10", [b"flatten"])
        group["shape"] = [read_netx(path.with_name("old.net")).all_layers[last].neurons, 1, 1]

    path.with_name("old.net").write_bytes(path.read_bytes())
    error = refusal(changed(path, change))
    assert (error.dataset, error.expected) == ("/layer", "a layer that fires")
