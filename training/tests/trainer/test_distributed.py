"""Several processes: the same training as one, however the batches divide."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from training import checkpoint
from training.support import tensor_file
from training.tests.kernels.bursts import bursts, in_two_processes, losses_in_float64, train
from training.trainer import distributed
from training.trainer.distributed import Group
from training.trainer.loop import LAST


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that two processes have filled."""
    folder = tmp_path_factory.mktemp("two")
    distributed.launch(in_two_processes, 2, "cpu", str(folder))
    return folder


def test_two_processes_train_as_one_in_float64(two, tmp_path):
    losses_in_float64(tmp_path)
    ours, theirs = (torch.load(f / "told", weights_only=True) for f in (tmp_path, two / "float64"))
    assert len(ours) == 4 * (6 + 1), "24 steps and 4 validations"
    assert abs(ours[-1][0] - ours[0][0]) > 0.01, "the loss should have moved"
    for a, b in zip(ours, theirs, strict=True):
        # Sums in another order: some units in the last place of float64, grown over 24 updates.
        assert a[0] == pytest.approx(b[0], rel=1e-10)
        assert a[1:] == b[1:], "scores are counts of samples"
    ours, theirs = (checkpoint.read(f / LAST)["weights"] for f in (tmp_path, two / "float64"))
    for name, value in ours.items():
        assert value.dtype == torch.float64
        torch.testing.assert_close(value, theirs[name], rtol=1e-9, atol=1e-12)


def test_interrupted_processes_resume_to_the_same_bits_with_dropout(two):
    ours, theirs = (checkpoint.read(two / name / LAST) for name in ("whole", "cut"))
    assert len(theirs["history"]) == 3
    assert min(theirs["history"][-1]["rates"]) > 0.05, "layers should fire"
    for name, value in ours["weights"].items():
        assert torch.equal(value, theirs["weights"][name]), name
    states = ours["random"]
    assert len(states) == ours["processes"] == 2
    assert not torch.equal(*states), "each process should have masks of its own"


def test_run_of_other_processes_goes_on_with_a_warning(tmp_path):
    run = train(bursts(), tmp_path)
    content = checkpoint.read(tmp_path / LAST)
    doubled = [*content["random"], *content["random"]]
    tensor_file.write(tmp_path / LAST, {**content, "random": doubled})
    with pytest.warns(UserWarning, match=r"began with 2 .* continues with 1: .* bit"):
        run.resume()


@pytest.mark.parametrize(("count", "size"), [(8, 2), (7, 2), (1, 2), (10, 3)])
def test_shares_are_all_of_a_batch_once(count, size):
    rows: list[int] = []
    for rank in range(size):
        group = Group()
        group.rank, group.size = rank, size
        rows += range(count)[group.share(count)]
    assert rows == list(range(count))
