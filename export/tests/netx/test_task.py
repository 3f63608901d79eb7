"""A file says which task it was made for, if it was told."""

from __future__ import annotations

from dataclasses import replace

import h5py
import pytest
import torch

from export import NetxError, read_netx, to_netx, write_netx
from export.model.network import ModelError
from export.model.task_label import TaskLabel
from export.netx import integrity
from export.tests.strategies import rich_network
from training import Network, tasks

LABEL = TaskLabel("glottal stops", "100 bins of 14 ms, α to ω")


def test_task_comes_back_as_it_was_written(tmp_path):
    for label in (None, LABEL, TaskLabel("mine.npz")):
        write_netx(replace(rich_network(), task=label), tmp_path / "net.net")
        assert read_netx(tmp_path / "net.net").task == label


def test_file_without_a_task_differs_in_the_task_alone(tmp_path):
    paths = tmp_path / "without.net", tmp_path / "with.net"
    for path, label in zip(paths, (None, LABEL), strict=True):
        write_netx(replace(rich_network(), task=label), path)
    found = []
    for path in paths:
        with h5py.File(path) as f:
            names: list[str] = []
            f.visititems(
                lambda name, at, names=names: (
                    names.append(name) if isinstance(at, h5py.Dataset) else None
                )
            )
            found.append({name: f[name][()].tobytes() for name in names if "checksum" not in name})
    added = {"celif/task/name", "celif/task/encoding"}
    assert set(found[1]) - set(found[0]) == added
    assert found[0] == {name: value for name, value in found[1].items() if name not in added}


def test_changed_task_is_damage(tmp_path):
    path = tmp_path / "net.net"
    write_netx(replace(rich_network(), task=LABEL), path)
    with h5py.File(path, "r+") as f:
        f["celif/task/name"][()] = b"digits"
    with pytest.raises(NetxError, match=r"celif/checksum: expected .* the file is damaged"):
        read_netx(path)


@pytest.mark.parametrize("name", ["\x1b[31mred", "n" * 201], ids=["escape", "long"])
def test_task_that_cannot_be_shown_is_refused(tmp_path, name):
    with pytest.raises(ModelError, match=r"task name: expected 1\.\.200 printable characters"):
        TaskLabel(name)
    path = tmp_path / "net.net"
    write_netx(replace(rich_network(), task=LABEL), path)
    with h5py.File(path, "r+") as f:
        del f["celif/task/name"]
        f["celif/task/name"] = name.encode()
        integrity.sign(f)
    with pytest.raises(NetxError, match=r"/celif/task/name: expected 1\.\.200 printable"):
        read_netx(path)


def test_export_takes_a_task_or_its_name(tmp_path):
    torch.manual_seed(0)
    net, task = Network(1, (4,), 10, 64), tasks.load("digits")
    for given, label in (
        (task, TaskLabel("digits", "8 × 8, a pixel a step")),
        ("mine", TaskLabel("mine")),
        (None, None),
    ):
        to_netx(net, tmp_path / "net.net", calibration=task.train.x[:20], task=given)
        assert read_netx(tmp_path / "net.net").task == label
