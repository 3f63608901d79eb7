"""Checkpoints of earlier versions: converted value for value, and never executed."""

from __future__ import annotations

import pickle
import tarfile
import warnings
import zipfile
from pathlib import Path

import pytest
import torch

from training import Network, checkpoint, old_checkpoint
from training.checkpoint import CheckpointError
from training.tests.test_checkpoint import VERSION_1


@pytest.fixture
def net() -> Network:
    torch.manual_seed(0)
    return Network(2, (5, 4), 3, 7, alpha=0.25, dropout=0.1)


@pytest.fixture
def content(net) -> dict:
    """What version 2 wrote, with an optimiser's state."""
    optimizer = torch.optim.AdamW(net.parameters())
    net(torch.rand(2, 2, 7)).sum().backward()
    optimizer.step()
    return {
        "celif": 2,
        "kind": "Network",
        "network": net.config.plain(),
        "weights": net.state_dict(),
        "optimizer": optimizer.state_dict(),
        "random": [torch.get_rng_state()],
        "history": [{"validation": 0.5}],
    }


def test_version_2_is_converted_value_for_value(net, content, tmp_path):
    torch.save(content, tmp_path / "old.pt")
    path = old_checkpoint.convert(tmp_path / "old.pt")
    assert path == tmp_path / "old.safetensors"
    again = checkpoint.load(path)
    assert again.config == net.config
    for name, weight in net.state_dict().items():
        assert torch.equal(again.state_dict()[name], weight), name
    read = checkpoint.read(path)
    state = read["optimizer"]["state"]
    assert len(state) == len(content["optimizer"]["state"]) > 3
    for key, values in content["optimizer"]["state"].items():
        for name, value in values.items():
            assert torch.equal(state[str(key)][name], value), (key, name)
    assert torch.equal(read["random"][0], content["random"][0])
    assert read["history"] == content["history"]


def test_version_1_is_converted(net, tmp_path):
    old = {name: net.config.plain()[name] for name in VERSION_1}
    torch.save({"celif": 1, "network": old, "weights": net.state_dict()}, tmp_path / "old.pt")
    again = checkpoint.load(old_checkpoint.convert(tmp_path / "old.pt", tmp_path / "new"))
    assert again.config == net.config
    assert torch.equal(again.te, net.te)


def test_reading_an_old_file_tells_how_to_convert_it(content, tmp_path):
    torch.save(content, tmp_path / "old.pt")
    with pytest.raises(CheckpointError, match=r"convert it with: celif convert .*old\.pt"):
        checkpoint.load(tmp_path / "old.pt")


class Attack:
    """Writes a file when unpickled carelessly."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return open, (self.path, "w")


class Writes(torch.nn.Module):
    """Becomes TorchScript that writes a file of its choice when torch.load runs it."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2


def attacks(folder: Path, content: dict) -> dict[str, Path]:
    victim = folder / "victim"
    files = {name: folder / f"{name}.pt" for name in (
        "pickle", "torch", "tar", "script", "polyglot", "appended", "compressed", "extra-member",
        "legacy", "cut", "crc",
    )}  # fmt: skip
    evil = {**content, "network": Attack(victim)}
    files["pickle"].write_bytes(pickle.dumps({"celif": 1, "network": Attack(victim)}))
    torch.save(evil, files["torch"])
    with tarfile.open(files["tar"], "w") as tar:
        tar.add(files["pickle"], "pickle")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # later versions of torch warn of it
        torch.jit.script(Writes()).save(str(files["script"]))
    torch.save(content, folder / "good.pt")
    good = (folder / "good.pt").read_bytes()
    files["polyglot"].write_bytes(pickle.dumps(Attack(victim)) + good)
    files["appended"].write_bytes(good + files["pickle"].read_bytes())
    torch.save(content, files["legacy"], _use_new_zipfile_serialization=False)
    files["cut"].write_bytes(good[:-200])
    with zipfile.ZipFile(folder / "good.pt") as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    with zipfile.ZipFile(files["compressed"], "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    with zipfile.ZipFile(files["extra-member"], "w") as archive:
        for name, data in {**members, "good/constants.pkl": b"x", "good/code/a.py": b"x"}.items():
            archive.writestr(name, data)
    place = good.index(members["good/data/0"])
    files["crc"].write_bytes(good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :])
    return files


def test_attacks_are_refused_by_name_and_run_nothing(content, tmp_path, monkeypatch):
    files = attacks(tmp_path, content)
    monkeypatch.setattr(torch, "load", None)
    monkeypatch.setattr(torch.jit, "load", None)
    for name, path in files.items():
        for read in (old_checkpoint.read, checkpoint.load):
            with pytest.raises(CheckpointError, match=rf"{name}\.pt: expected a checkpoint"):
                read(path)
    assert not (tmp_path / "victim").exists()


def refers_a_billion_times() -> list:
    """A list whose pickle is short and whose values are too many to visit."""
    value: list = []
    for _ in range(40):
        value = [value, value]
    return value


CHANGES = {
    "version-3": ({"celif": 3}, "version 3; versions 1 and 2 can be converted"),
    "version-0": ({"celif": 0}, "version 0; versions 1 and 2"),
    "other-torch-file": ({"network": ...}, "another file of torch"),
    "laughs": ({"note": refers_a_billion_times()}, "more values than a checkpoint can have"),
    "nan": ({"weights": {"te": torch.tensor([torch.nan])}}, "weights te: expected finite numbers"),
    "module": ({"note": torch.nn.Linear}, "the name torch.nn.modules.linear.Linear, which no"),
    "set": ({"note": {1, 2}}, r"a value of type set|the name \w+\.set"),
}


@pytest.mark.parametrize(("change", "message"), CHANGES.values(), ids=CHANGES.keys())
def test_content_that_is_not_ours_is_refused(content, tmp_path, change, message):
    changed = {k: v for k, v in {**content, **change}.items() if v is not ...}
    torch.save(changed, tmp_path / "old.pt")
    with pytest.raises(CheckpointError, match=rf"old\.pt: expected a checkpoint .*({message})"):
        old_checkpoint.convert(tmp_path / "old.pt")
    assert not (tmp_path / "old.safetensors").exists()
