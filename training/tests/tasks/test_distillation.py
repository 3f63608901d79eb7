"""Distillation: the loss by hand, what a teacher can teach, and what is refused."""

from __future__ import annotations

import math
from dataclasses import asdict, replace

import pytest
import torch

from training import tasks
from training.checkpoint import CheckpointError
from training.tasks import Split, distilled
from training.tests.kernels.bursts import RECIPE, bursts, train
from training.trainer import evaluate


def outputs_of(task: tasks.Task, sure: float = 2.0) -> torch.Tensor:
    """Outputs of a teacher that is right for all training samples."""
    return sure * torch.nn.functional.one_hot(task.train.y, task.classes).float()


def test_loss_is_that_of_the_equation():
    task = bursts()
    teacher = torch.tensor([[1.0, -1.0]]).repeat(len(task.train), 1)
    taught = distilled(task, teacher, temperature=2.0, share=0.75)
    outputs = torch.tensor([[0.4, 0.0]])

    def probabilities(a: float, b: float) -> tuple[float, float]:
        total = math.exp(a) + math.exp(b)
        return math.exp(a) / total, math.exp(b) / total

    given, found = probabilities(0.5, -0.5), probabilities(0.2, 0.0)
    kl = sum(p * math.log(p / q) for p, q in zip(given, found, strict=True))
    assert int(task.train.y[0]) == 0
    expected = 0.25 * -math.log(probabilities(0.4, 0.0)[0]) + 0.75 * 4 * kl
    assert expected > 0.1
    assert float(taught.objective.loss(outputs, taught.train.y[:1])) == pytest.approx(expected)
    # On labels alone, as those of validation samples, it is the usual loss.
    loss = taught.objective.loss(outputs, task.validation.y[:1])
    assert torch.equal(loss, task.objective.loss(outputs, task.validation.y[:1]))


def test_a_teacher_alone_teaches_the_classes_that_it_sees(tmp_path):
    task = bursts()
    swapped = outputs_of(task).flip(1)
    recipe = replace(RECIPE, epochs=15, lr=1e-2)
    nets = {
        share: train(distilled(task, swapped, share=share), tmp_path / str(share), recipe).net
        for share in (1.0, 0.01)
    }
    assert evaluate(nets[1.0], task.test) < 0.2
    assert evaluate(nets[0.01], task.test) > 0.8


def test_scores_are_of_the_labels():
    task = bursts()
    taught = distilled(task, outputs_of(task).flip(1))
    right = outputs_of(task)
    assert float(taught.objective.scores(right, taught.train.y).mean()) == 1.0
    assert evaluate(Fixed(right[: len(task.validation)]), taught.validation) == 1.0


class Fixed(torch.nn.Module):
    """Answers the same to any inputs."""

    def __init__(self, outputs: torch.Tensor) -> None:
        super().__init__()
        self.outputs = torch.nn.Parameter(outputs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.outputs[: len(x)]


def test_a_run_is_resumed_with_its_own_teacher_alone(tmp_path):
    task = bursts()
    taught = distilled(task, outputs_of(task))
    whole = train(taught, tmp_path / "whole", replace(RECIPE, epochs=4))
    train(taught, tmp_path / "run", replace(RECIPE, epochs=4, patience=None, seed=4))
    assert taught.teacher is not None
    assert whole.about()["teacher"] == asdict(taught.teacher)
    others = (task, distilled(task, outputs_of(task, 1.0)), distilled(task, outputs_of(task), 2.0))
    for other in others:
        with pytest.raises(CheckpointError, match="expected the same teacher as the run began"):
            train(other, tmp_path / "run", replace(RECIPE, epochs=4))


def test_what_cannot_be_distilled_is_refused():
    task = bursts()
    right = outputs_of(task)
    with pytest.raises(ValueError, match=r"teacher: expected outputs .* of shape \(56, 2\)"):
        distilled(task, right[1:])
    with pytest.raises(ValueError, match="teacher: expected finite outputs"):
        distilled(task, right / 0)
    with pytest.raises(ValueError, match="teacher temperature: expected a number above 0, got 0"):
        distilled(task, right, temperature=0)
    for share in (0.0, 1.5, math.nan):
        with pytest.raises(ValueError, match="teacher share: expected a number above 0"):
            distilled(task, right, share=share)
    with pytest.raises(ValueError, match="task adding-10: expected a task with a class"):
        distilled(tasks.load("adding-10"), right)
    streamed = replace(task, train=tasks.Stream(lambda rng, n: (task.train.x[:n], right), 56))
    with pytest.raises(ValueError, match="expected training samples in memory"):
        distilled(streamed, right)
    with pytest.raises(ValueError, match="expected a task with a class"):
        distilled(distilled(task, right), right)  # a taught task
    assert isinstance(distilled(task, right).validation, Split)
