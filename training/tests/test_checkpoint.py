"""Checkpoints: whole, versioned, checked field by field, and nothing but data."""

from __future__ import annotations

import os
import pickle
import re
from pathlib import Path

import pytest
import torch

from training import Network, checkpoint
from training.checkpoint import CheckpointError
from training.support import tensor_file

VERSION_1 = ("in_features", "hidden", "classes", "steps", "alpha", "beta", "theta0", "width")
VERSION_1 += ("dropout", "permutation")
"""What a file of version 1 says of a network."""


@pytest.fixture
def net() -> Network:
    torch.manual_seed(0)
    return Network(2, (5, 4), 3, 7, alpha=0.25, dropout=0.1)


@pytest.fixture
def path(net, tmp_path) -> Path:
    """A checkpoint of the network."""
    path = tmp_path / "net.safetensors"
    checkpoint.save(path, net, note="kept", task="digits")
    return path


def test_network_comes_back_as_it_was_saved(net, path):
    again = checkpoint.load(path)
    assert not again.training
    assert again.config == net.config
    for name, weight in net.state_dict().items():
        assert torch.equal(again.state_dict()[name], weight), name
    assert checkpoint.read(path)["note"] == "kept"


def test_loading_draws_no_random_numbers_that_a_caller_could_miss(path):
    torch.manual_seed(5)
    checkpoint.read(path)
    after = torch.rand(3)
    torch.manual_seed(5)
    assert torch.equal(torch.rand(3), after)


def test_same_content_gives_the_same_bytes(net, path, tmp_path):
    checkpoint.save(tmp_path / "again.safetensors", net, note="kept", task="digits")
    assert (tmp_path / "again.safetensors").read_bytes() == path.read_bytes()


def test_every_type_of_value_comes_back(net, tmp_path):
    extra = {
        "numbers": [1, -2.5, 1e-300, True, None, "Θ ≥ 0"],
        "nested": {"a": {"b": torch.arange(3)}, "empty": {}, "list": [torch.tensor(1.5)]},
        "bytes": torch.arange(5, dtype=torch.uint8),
        "flags": torch.tensor([True, False]),
        "none": torch.zeros(0, 3),
        "strided": torch.arange(6.0).view(2, 3).t(),
    }
    checkpoint.save(tmp_path / "net.safetensors", net, **extra)
    content = checkpoint.read(tmp_path / "net.safetensors")
    assert content["numbers"] == extra["numbers"]
    assert torch.equal(content["nested"]["a"]["b"], torch.arange(3))
    assert content["nested"]["empty"] == {}
    assert content["nested"]["list"][0].shape == ()
    for name in ("bytes", "flags", "none", "strided"):
        assert torch.equal(content[name], extra[name]), name
        assert content[name].dtype == extra[name].dtype, name


@pytest.mark.parametrize(
    "value",
    [object(), {1: 2}, {"$tensor": "x"}, 1j],
    ids=["object", "number-key", "name", "complex"],
)
def test_value_that_is_not_data_is_not_saved(net, path, value):
    before = path.read_bytes()
    with pytest.raises(TypeError, match="extra: expected"):
        checkpoint.save(path, net, extra=value)
    assert path.read_bytes() == before


def test_module_without_config_keeps_its_weights_alone(tmp_path):
    path = tmp_path / "linear.safetensors"
    checkpoint.save(path, torch.nn.Linear(2, 3))
    assert set(checkpoint.read(path)["weights"]) == {"weight", "bias"}
    with pytest.raises(CheckpointError, match=r"of a Linear: .* load_state_dict\(checkpoint.read"):
        checkpoint.load(path)


def test_module_with_shared_weights_is_saved(tmp_path):
    shared = torch.nn.Linear(2, 2)
    checkpoint.save(tmp_path / "shared", torch.nn.Sequential(shared, shared))
    weights = checkpoint.read(tmp_path / "shared")["weights"]
    assert torch.equal(weights["0.weight"], weights["1.weight"])


def test_module_of_a_registered_kind_is_built_again(tmp_path, monkeypatch):
    module = torch.nn.Linear(2, 3)
    module.config = {"in_features": 2, "out_features": 3}
    monkeypatch.setitem(checkpoint.BUILDERS, "Linear", torch.nn.Linear)
    checkpoint.save(tmp_path / "linear", module)
    assert torch.equal(checkpoint.load_module(tmp_path / "linear").weight, module.weight)
    with pytest.raises(CheckpointError, match="expected a Network, found a Linear"):
        checkpoint.load(tmp_path / "linear")


def test_failed_save_leaves_the_old_file_and_no_debris(net, path, monkeypatch):
    before = path.read_bytes()

    def torn(draft, data):
        with draft.open("wb") as file:
            file.write(data[:100])
        raise OSError("disk full")

    monkeypatch.setattr(Path, "write_bytes", torn)
    with pytest.raises(OSError, match="disk full"):
        checkpoint.save(path, net)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_weights_of_another_network_are_not_taken(net, tmp_path):
    path = tmp_path / "net.safetensors"
    recurrent = Network(2, (5, 4), 3, 7, recurrent=True)
    checkpoint.save(path, recurrent)
    with pytest.raises(CheckpointError, match=r"expected no \S+, found \S+ of shape .* feedback"):
        checkpoint.load_weights(path, net)
    checkpoint.save(path, net)
    with pytest.raises(CheckpointError, match=r"expected \S+ of shape \(5, 5\), found no "):
        checkpoint.load_weights(path, recurrent)


FOREIGN = {
    "empty": b"",
    "text": b"weights\n",
    "random": bytes(range(256)),
    "pickle": pickle.dumps([1, 2, 3]),
    "header-only": (2).to_bytes(8, "little") + b"{}",
    "huge-header": (1 << 60).to_bytes(8, "little") + b"{}",
    "not-json": (4).to_bytes(8, "little") + b"{,,}",
    "deep": (200_000).to_bytes(8, "little") + b'{"a":' + b"[" * 199_995,
}


@pytest.mark.parametrize("content", FOREIGN.values(), ids=FOREIGN.keys())
def test_foreign_file_is_refused_by_name(content, tmp_path):
    path = tmp_path / "foreign"
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match="foreign: expected a checkpoint, found"):
        checkpoint.load(path)


def test_missing_file_and_fifo_are_refused_by_name(tmp_path):
    with pytest.raises(CheckpointError, match="none: expected a checkpoint, found no such file"):
        checkpoint.load(tmp_path / "none")
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(CheckpointError, match=r"fifo: .* found something that is not a regular"):
        checkpoint.load(tmp_path / "fifo")


def test_every_flipped_byte_and_every_cut_is_noticed_or_harmless(net, path, rng):
    good, weights = path.read_bytes(), net.state_dict()
    noticed = 0
    for place in rng.choice(len(good), 200, replace=False):
        damaged = bytearray(good)
        damaged[place] ^= int(rng.integers(1, 256))
        path.write_bytes(damaged)
        try:
            again = checkpoint.load(path)
        except CheckpointError:
            noticed += 1
        else:
            assert again.config == net.config
            assert all(torch.equal(w, again.state_dict()[n]) for n, w in weights.items())
    assert noticed > 190
    for end in rng.choice(len(good), 50, replace=False):
        path.write_bytes(good[:end])
        with pytest.raises(CheckpointError):
            checkpoint.load(path)


NAN = torch.full((5,), torch.nan)
CHANGES = {
    "newer": ({"celif": 4}, "celif: expected version up to 3, found 4; update celif-lava"),
    "version-0": ({"celif": 0}, "celif: expected a version from 1 up, found 0"),
    "version-negative": ({"celif": -1}, "celif: expected a version from 1 up, found -1"),
    "version-text": ({"celif": "3"}, "celif: expected a version from 1 up, found '3'"),
    "no-builder": ({"kind": "Other"}, "checkpoint of a Other: expected one of Network"),
    "kind": ({"kind": 3}, "kind: expected the name of a class, found 3"),
    "network": ({"network": [1]}, "network: expected options by name, found list"),
    "tensor": ({"recipe": {"lr": NAN}}, "recipe: expected plain values, found a tensor"),
    "unknown-option": ({"network": {"depth": 3}}, "network: expected options of a Network, found"),
    "huge": ({"network": {"in_features": 2, "hidden": [1 << 40], "classes": 3, "steps": 7}},
             "weights: expected layers.0.weight of shape|network: expected options"),
    "no-weights": ({"weights": {}}, "weights: expected .* of shape .*, found no "),
    "weights-list": ({"weights": [1]}, "weights: expected tensors by name, found list"),
    "weights-number": ({"weights": {"te": 1}}, "weights te: expected a tensor, found int"),
    "nan": ({"raw": {"te": NAN}}, "raw te: expected finite numbers, found NaN or infinity"),
    "task": ({"task": 3}, "task: expected the name of a task, found 3"),
    "history": ({"history": "x"}, "history: expected a list of epochs, found 'x'"),
    "recipe": ({"recipe": [1]}, "recipe: expected options by name"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "message"), CHANGES.values(), ids=CHANGES.keys())
def test_field_that_cannot_be_right_is_refused_by_name(path, change, message):
    tensor_file.write(path, {**checkpoint.read(path), **change})
    with pytest.raises(CheckpointError, match=rf"net\.safetensors: ({message})"):
        checkpoint.load(path)


def test_network_with_nan_is_not_loaded(net, path):
    with torch.no_grad():
        net.te[0, 0] = torch.nan
    checkpoint.save(path, net)
    with pytest.raises(CheckpointError, match=r"weights te: expected finite numbers.* diverged"):
        checkpoint.load(path)


def test_arguments_in_the_wrong_order_are_named(net, path):
    for arguments in ((net, path), (path, "net"), (None, net)):
        with pytest.raises(TypeError, match=r"save: expected the path .* call save\(path, net\)"):
            checkpoint.save(*arguments)


def test_folder_is_refused_with_the_name_of_a_file_in_it(net, tmp_path):
    with pytest.raises(CheckpointError, match=r"found a folder; name a file in it$"):
        checkpoint.read(tmp_path)
    for name in ("best", "last"):
        checkpoint.save(tmp_path / f"{name}.safetensors", net)
    expected = f"found a folder; name a file in it, such as {tmp_path / 'last.safetensors'}"
    with pytest.raises(CheckpointError, match=re.escape(expected)):
        checkpoint.read(tmp_path)
