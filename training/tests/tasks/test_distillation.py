"""Distillation: the loss by hand, what a teacher can teach, and what is refused."""

from __future__ import annotations

import math
from dataclasses import asdict, replace

import pytest
import torch

from training import baselines, checkpoint, tasks
from training.checkpoint import CheckpointError
from training.support import tensor_file
from training.tasks import distilled
from training.tests.kernels.bursts import RECIPE, bursts, train
from training.trainer import evaluate


def outputs_of(task: tasks.Task, sure: float = 2.0) -> torch.Tensor:
    """Outputs of a teacher that is right for all training samples."""
    return sure * torch.nn.functional.one_hot(task.train.y, task.classes).float()


def probabilities(outputs: list[float], temperature: float) -> list[float]:
    powers = [math.exp(value / temperature) for value in outputs]
    return [power / sum(powers) for power in powers]


def test_loss_is_that_of_the_equation():
    task, share, temperature = bursts(), 0.75, 2.0
    teacher = torch.tensor([[1.0, -1.0], [0.5, 2.0]]).repeat(len(task.train) // 2, 1)
    taught = distilled(task, teacher, temperature, share)
    outputs = [[0.4, 0.0], [0.1, 0.7]]
    expected = 0.0
    for ours, theirs, right in zip(outputs, teacher[:2].tolist(), task.train.y[:2], strict=True):
        given, found = (probabilities(each, temperature) for each in (theirs, ours))
        kl = sum(p * math.log(p / q) for p, q in zip(given, found, strict=True))
        entropy = -math.log(probabilities(ours, 1.0)[int(right)])
        expected += ((1 - share) * entropy + share * temperature**2 * kl) / 2
    assert set(task.train.y[:2].tolist()) == {0, 1}
    assert expected > 0.1
    loss = taught.objective.loss(torch.tensor(outputs), taught.train.y[:2])
    assert float(loss) == pytest.approx(expected)
    # On labels alone, as those of validation samples, it is the usual loss.
    labels = task.validation.y[:2]
    alone = taught.objective.loss(torch.tensor(outputs), labels)
    assert torch.equal(alone, task.objective.loss(torch.tensor(outputs), labels))


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
    answers = Fixed(torch.nn.functional.one_hot(task.validation.y, task.classes).float())
    assert evaluate(answers, taught.validation, objective=taught.objective) == 1.0


def test_a_users_measure_and_loss_are_kept():
    def wrong(outputs: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return (outputs.argmax(1) != y).double()

    def louder(outputs: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return 7 * torch.nn.functional.cross_entropy(outputs, y)

    own = tasks.Objective(
        "error", louder, wrong, readout="last", lower_is_better=True, of_classes=True
    )
    task = replace(bursts(), objective=own)
    right = outputs_of(task)
    taught = distilled(task, right, share=0.5)
    kept = taught.objective
    assert (kept.name, kept.readout, kept.lower_is_better) == ("error", "last", True)
    assert float(kept.scores(right.flip(1), taught.train.y).mean()) == 1.0
    # Of a network that answers as the teacher does, the part of the labels alone is left.
    alone = float(kept.loss(right, taught.train.y))
    assert alone == pytest.approx(0.5 * float(louder(right, task.train.y)))
    assert alone > 0.1


class Fixed(torch.nn.Module):
    """Answers the same to any inputs."""

    def __init__(self, outputs: torch.Tensor) -> None:
        super().__init__()
        self.outputs = torch.nn.Parameter(outputs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.outputs[: len(x)]


def test_a_run_is_resumed_with_its_own_teacher_alone(tmp_path):
    task, recipe = bursts(), replace(RECIPE, epochs=4)
    taught = distilled(task, outputs_of(task).numpy())
    whole = train(taught, tmp_path / "whole", recipe)
    assert taught.teacher is not None
    assert whole.about()["teacher"] == asdict(taught.teacher)
    train(taught, tmp_path / "run", replace(recipe, epochs=2))
    others = (task, distilled(task, outputs_of(task, 1.0)), distilled(task, outputs_of(task), 2.0))
    for other in others:
        with pytest.raises(CheckpointError, match="expected the same teacher as the run began"):
            train(other, tmp_path / "run", recipe)
    resumed = train(taught, tmp_path / "run", recipe)
    assert len(resumed.history) == 4
    # Runs of earlier versions do not say that they had no teacher.
    plain = train(task, tmp_path / "plain", replace(recipe, epochs=1))
    content = checkpoint.read(plain.folder.last)
    assert content.pop("teacher") is None
    tensor_file.write(plain.folder.last, content)
    assert len(train(task, tmp_path / "plain", recipe).history) == 4


@pytest.mark.parametrize(
    "teacher",
    [
        {},
        {"outputs": "0" * 16, "temperature": "4", "share": 0.9},
        {"outputs": "0" * 16, "temperature": math.nan, "share": 0.9},
        {"outputs": "`\n# A heading", "temperature": 4.0, "share": 0.9},
        {"outputs": "0" * 16, "temperature": 4.0, "share": 0.9, "more": 1},
        {"outputs": "0" * 16, "temperature": -1.0, "share": 0.9},
        {"outputs": "0" * 16, "temperature": 4.0, "share": 7.0},
    ],
)
def test_a_checkpoint_with_another_field_of_a_teacher_is_refused(tmp_path, teacher):
    task = bursts()
    run = train(task, tmp_path, replace(RECIPE, epochs=1))
    content = checkpoint.read(run.folder.last)
    tensor_file.write(run.folder.last, {**content, "teacher": teacher})
    with pytest.raises(CheckpointError, match="teacher: expected a digest of its outputs, a temp"):
        checkpoint.read(run.folder.last)


def test_a_taught_task_is_still_one_of_classes():
    task = bursts()
    taught = distilled(task, outputs_of(task))
    tasks.require_classes(taught.objective, "bursts")
    torch.manual_seed(0)
    plain = baselines.build("LSTM", task, width=4)
    torch.manual_seed(0)
    ours = baselines.build("LSTM", taught, width=4)
    assert torch.equal(plain(task.test.x), ours(task.test.x))


def test_what_cannot_be_distilled_is_refused():
    task = bursts()
    right = outputs_of(task)
    with pytest.raises(ValueError, match=r"teacher: expected outputs .* of shape \(56, 2\)"):
        distilled(task, right[1:])
    with pytest.raises(ValueError, match="teacher: expected outputs that are finite in float32"):
        distilled(task, right / 0)
    with pytest.raises(ValueError, match="teacher temperature: expected a number from 0"):
        distilled(task, right, temperature=0)
    for share in (0.0, 1.5, math.nan):
        with pytest.raises(ValueError, match="teacher share: expected a number above 0"):
            distilled(task, right, share=share)
    with pytest.raises(ValueError, match="task adding-10: expected a task with a class"):
        distilled(tasks.load("adding-10"), right)
    streamed = replace(task, train=tasks.Stream(lambda rng, n: (task.train.x[:n], right), 56))
    with pytest.raises(ValueError, match="expected training samples in memory"):
        distilled(streamed, right)
    with pytest.raises(ValueError, match="expected a task without a teacher, got one that has"):
        distilled(distilled(task, right), right)
    taught = distilled(task, right)
    assert taught.validation is task.validation
    assert taught.test is task.test
