"""Checkpoints: whole, versioned, and nothing but data."""

from __future__ import annotations

import pickle
import tarfile

import pytest
import torch

from training import Network, checkpoint
from training.checkpoint import CheckpointError

VERSION_1 = ("in_features", "hidden", "classes", "steps", "alpha", "beta", "theta0", "width")
VERSION_1 += ("dropout", "permutation")
"""What a file of version 1 says of a network."""


@pytest.fixture
def net() -> Network:
    torch.manual_seed(0)
    return Network(2, (5, 4), 3, 7, alpha=0.25, dropout=0.1)


def test_network_comes_back_as_it_was_saved(net, tmp_path):
    checkpoint.save(tmp_path / "net.pt", net, note="kept")
    again = checkpoint.load(tmp_path / "net.pt")
    assert not again.training
    assert again.config == net.config
    for name, weight in net.state_dict().items():
        assert torch.equal(again.state_dict()[name], weight), name
    assert checkpoint.read(tmp_path / "net.pt")["note"] == "kept"


def test_file_of_version_1_is_read_as_before(net, tmp_path):
    old = {name: net.config[name] for name in VERSION_1}
    torch.save({"celif": 1, "network": old, "weights": net.state_dict()}, tmp_path / "old.pt")
    again = checkpoint.load(tmp_path / "old.pt")
    assert again.config == net.config
    assert torch.equal(again.te, net.te)


def test_module_without_config_keeps_its_weights_alone(tmp_path):
    checkpoint.save(tmp_path / "linear.pt", torch.nn.Linear(2, 3))
    assert set(checkpoint.read(tmp_path / "linear.pt")["weights"]) == {"weight", "bias"}
    with pytest.raises(CheckpointError, match=r"of a Linear: .* load_state_dict\(checkpoint.read"):
        checkpoint.load(tmp_path / "linear.pt")


def test_module_of_a_registered_kind_is_built_again(tmp_path, monkeypatch):
    module = torch.nn.Linear(2, 3)
    module.config = {"in_features": 2, "out_features": 3}
    monkeypatch.setitem(checkpoint.BUILDERS, "Linear", torch.nn.Linear)
    checkpoint.save(tmp_path / "linear.pt", module)
    assert torch.equal(checkpoint.load_module(tmp_path / "linear.pt").weight, module.weight)
    with pytest.raises(CheckpointError, match="expected a Network, found a Linear"):
        checkpoint.load(tmp_path / "linear.pt")


def test_failed_save_leaves_the_old_file_and_no_debris(net, tmp_path, monkeypatch):
    path = tmp_path / "net.pt"
    checkpoint.save(path, net)
    before = path.read_bytes()

    def torn(content, draft):
        draft.write_bytes(b"half a file")
        raise OSError("disk full")

    monkeypatch.setattr(torch, "save", torn)
    with pytest.raises(OSError, match="disk full"):
        checkpoint.save(path, net)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


class Attack:
    """Runs a function when unpickled carelessly."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return open, (self.path, "w")


def test_code_in_a_file_is_not_executed(tmp_path):
    victim = tmp_path / "victim"
    with (tmp_path / "plain.pt").open("wb") as f:
        pickle.dump({"celif": 1, "network": Attack(victim), "weights": {}}, f)
    torch.save({"celif": 1, "network": Attack(victim), "weights": {}}, tmp_path / "torch.pt")
    with tarfile.open(tmp_path / "tar.pt", "w") as tar:  # a form of torch's first years
        tar.add(tmp_path / "plain.pt", "pickle")
    for name, found in (("plain.pt", "another"), ("tar.pt", "another"), ("torch.pt", "damage")):
        with pytest.raises(CheckpointError, match=rf"{name}: expected a checkpoint, found {found}"):
            checkpoint.load(tmp_path / name)
    assert not victim.exists()


def test_form_that_save_does_not_write_never_reaches_torch(net, tmp_path, monkeypatch):
    path = tmp_path / "old.pt"
    content = {"celif": 1, "network": net.config.plain(), "weights": net.state_dict()}
    torch.save(content, path, _use_new_zipfile_serialization=False)
    monkeypatch.setattr(torch, "load", None)
    with pytest.raises(CheckpointError, match="found another or half a file"):
        checkpoint.load(path)


def test_weights_of_another_network_are_not_taken(net, tmp_path):
    recurrent = Network(2, (5, 4), 3, 7, recurrent=True)
    checkpoint.save(tmp_path / "net.pt", recurrent)
    with pytest.raises(CheckpointError, match=r"expected no \S+, found \S+ of shape .* feedback"):
        checkpoint.load_weights(tmp_path / "net.pt", net)
    checkpoint.save(tmp_path / "net.pt", net)
    with pytest.raises(CheckpointError, match=r"expected \S+ of shape \(5, 5\), found no "):
        checkpoint.load_weights(tmp_path / "net.pt", recurrent)


FOREIGN = {
    "empty": b"",
    "text": b"weights\n",
    "random": bytes(range(256)),
    "pops-nothing": b"0.",
    "pickle": pickle.dumps([1, 2, 3]),
}


@pytest.mark.parametrize("content", FOREIGN.values(), ids=FOREIGN.keys())
def test_foreign_file_is_refused_by_name(content, tmp_path):
    path = tmp_path / "foreign.pt"
    path.write_bytes(content)
    with pytest.raises(
        CheckpointError, match=r"foreign\.pt: expected a (celif )?checkpoint, found"
    ):
        checkpoint.load(path)


def test_missing_file_is_refused_by_name(tmp_path):
    with pytest.raises(CheckpointError, match=r"none\.pt: expected a checkpoint, found no such"):
        checkpoint.load(tmp_path / "none.pt")


def test_truncated_file_is_refused(net, tmp_path):
    path = tmp_path / "net.pt"
    checkpoint.save(path, net)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(
        CheckpointError, match="expected a checkpoint, found another or half a file"
    ):
        checkpoint.load(path)


CHANGES = {
    "newer": ({"celif": 3}, "expected version up to 2, found 3; update celif-lava"),
    "no-builder": ({"kind": "Other"}, r"net\.pt: checkpoint of a Other: expected one of Network"),
    "other-torch-file": ({"network": ...}, "expected a celif checkpoint, found another torch"),
    "unknown-option": ({"network": {"depth": 3}}, "expected a network, found damage"),
    "other-weights": ({"weights": {}}, "expected a network, found damage"),
}


@pytest.mark.parametrize(("change", "message"), CHANGES.values(), ids=CHANGES.keys())
def test_content_that_does_not_fit_is_refused(net, tmp_path, change, message):
    checkpoint.save(tmp_path / "net.pt", net)
    content = {**checkpoint.read(tmp_path / "net.pt"), **change}
    torch.save({k: v for k, v in content.items() if v is not ...}, tmp_path / "net.pt")
    with pytest.raises(CheckpointError, match=message):
        checkpoint.load(tmp_path / "net.pt")
