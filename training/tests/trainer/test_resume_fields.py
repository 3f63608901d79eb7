"""Fields of a checkpoint that cannot be right are refused by name when a run is resumed."""

from __future__ import annotations

import copy

import pytest
import torch

from training import checkpoint
from training.checkpoint import CheckpointError
from training.support import tensor_file
from training.tests.kernels.bursts import RECIPE, bursts, start, train
from training.trainer import LAST, Trainer

HIDDEN = (6, 5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder of a finished run."""
    path = tmp_path_factory.mktemp("run")
    train(bursts(), path)
    return path


def replaced(content, place, value):
    """A copy of ``content`` with ``value`` at a place such as "optimizer/state/0/step"."""
    changed = copy.deepcopy(content)
    *way, last = place.split("/")
    inner = changed
    for key in way:
        inner = inner[int(key) if isinstance(inner, list) else key]
    if value is ...:
        del inner[last]
    else:
        inner[int(last) if isinstance(inner, list) else last] = value
    return changed


CHANGES = {
    "history-value": ("history", 3, "history: expected a list of epochs"),
    "history-epoch": (
        "history/0",
        {"loss": 1.0},
        "history: expected a validation score",
    ),
    "history-nan": ("history/0/validation", float("nan"), "history: expected a validation score"),
    "history-missing": ("history", ..., "history: expected a list of epochs, found NoneType"),
    "tally-value": ("tally", [1], "tally: expected sums by name"),
    "tally-name": ("tally/more", 1, "tally: expected sums by name, found more = 1"),
    "tally-type": ("tally/step", "x", "tally: expected sums by name, found step = 'x'"),
    "tally-step": ("tally/step", 99, "tally: expected a step below 4, found 99"),
    "optimizer": ("optimizer", 3, "optimizer: expected the state of AdamW"),
    "optimizer-key": ("optimizer/state/x", {}, "optimizer: expected the state of AdamW"),
    "optimizer-many": ("optimizer/state/99", {"step": torch.zeros(())}, "optimizer: expected"),
    "optimizer-shape": ("optimizer/state/0/exp_avg", torch.zeros(3), "optimizer: .*exp_avg of"),
    "optimizer-nan": ("optimizer/state/0/step", torch.tensor(torch.nan), "optimizer: .*step of"),
    "optimizer-part": ("optimizer/state/0/exp_avg", ..., "optimizer: .*state of parameter 0"),
    "optimizer-lr": ("optimizer/param_groups/0/lr", "x", "optimizer: expected the state of AdamW"),
    "optimizer-params": ("optimizer/param_groups/0/params", [0], "optimizer: .*parameter groups"),
    "optimizer-groups": ("optimizer/param_groups", 1, "optimizer: expected the state of AdamW"),
    "optimizer-tensor": ("optimizer", torch.zeros(2, 2, 2), "optimizer: expected the state of"),
    "optimizer-fused": (
        "optimizer/param_groups/0/fused",
        torch.zeros(2),
        "optimizer: .*a tensor for fused",
    ),
    "random": ("random", [], "random: expected a state for each process, found none"),
    "random-type": ("random/0", torch.zeros(9), "random: expected bytes, found"),
    "random-size": ("random/0", torch.zeros(9, dtype=torch.uint8), "random: expected a state of"),
    "recipe": ("recipe/epochs", "x", "recipe: expected options of a Recipe"),
    "recipe-name": ("recipe/more", 1, "recipe: expected options of a Recipe"),
}


@pytest.mark.parametrize(("place", "value", "message"), CHANGES.values(), ids=CHANGES.keys())
def test_field_that_cannot_be_right_is_refused_by_name(folder, tmp_path, place, value, message):
    content = checkpoint.read(folder / LAST)
    tensor_file.write(tmp_path / LAST, replaced(content, place, value))
    run = Trainer(start(bursts(), HIDDEN, RECIPE, dropout=0.2), bursts(), RECIPE, tmp_path)
    with pytest.raises(CheckpointError, match=rf"last\.safetensors: {message}"):
        run.resume()


def test_state_dict_of_a_trainer_resumes_another(folder, tmp_path):
    state = checkpoint.read(folder / LAST)
    run = Trainer(start(bursts(), HIDDEN, RECIPE, dropout=0.2), bursts(), RECIPE, tmp_path)
    run.load_state_dict(state)
    assert run.finished
    again = run.state_dict()
    assert again["history"] == state["history"]
    assert torch.equal(again["random"][0], state["random"][0])
    for key, values in state["optimizer"]["state"].items():
        for name, value in values.items():
            assert torch.equal(again["optimizer"]["state"][key][name], value)
