"""Class labels: what counts as such, and what an error proposes for what does not."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from training import tasks
from training.tasks.labels import class_labels
from training.trainer.evaluation import evaluate

Y = np.array([0, 2, 1, 2])
RIGHT = {
    "int64": Y,
    "uint8": Y.astype(np.uint8),
    "truth": Y > 0,
    "list": Y.tolist(),
    "tensor": torch.from_numpy(Y),
    "none": np.zeros(0, int),
}
NUMBER = r"number the classes from 0, as np\.unique\(y, return_inverse=True\)\[1\] does"
WRONG = {
    "column": (Y[:, None], r"found int64 of shape \(4, 1\); write y\.reshape\(-1\)$"),
    "float-column": (Y[:, None] * 1.0, r"float64 .*; write y\.reshape\(-1\)\.astype\(int\)$"),
    "tensor-column": (torch.from_numpy(Y)[:, None], r"\(4, 1\); write y\.reshape\(-1\)$"),
    "floats": (Y * 1.0, r"found float64 of shape \(4,\); write y\.astype\(int\)$"),
    "one-hot": (np.eye(3)[Y], r"\(4, 3\); write y\.argmax\(1\), as they are one-hot$"),
    "several": (np.stack([Y, Y], 1), r"pass a single class for each sample$"),
    "bfloat16": (
        torch.from_numpy(Y).bfloat16(),
        r"found torch\.bfloat16 of shape \(4,\); write y\.astype\(int\)$",
    ),
    "halves": (Y + 0.5, r"to learn such numbers, pass objective=tasks\.VALUE$"),
    "nan": (Y * np.nan, r"found float64 of shape \(4,\); leave them out"),
    "texts": (Y.astype(str), rf"found texts of shape \(4,\); {NUMBER}"),
    "objects": (np.array([None] * 4), r"found object of shape \(4,\); pass an array of integers"),
    "fewer": (Y[:3], r"each of 4 samples, found int64 of shape \(3,\); pass the labels of exac"),
    "one": (np.int64(2), r"found int64 of shape \(\); pass the labels of exactly these samples"),
    "negative": (Y - 1, rf"classes from 0 up, got -1; {NUMBER}"),
    "from-one": (Y + 1, rf"classes 0\.\.2, got 1\.\.3; {NUMBER}"),
    "another-network": (Y * 2, r"classes 0\.\.2, got 0\.\.4; pass the labels that belong"),
    "huge": (np.array([0, 1, 2, 2**64 - 1], np.uint64), r"got 0\.\.18446744073709551615"),
}


@pytest.mark.parametrize("kind", RIGHT)
def test_whole_numbers_in_any_form_are_labels(kind):
    found = class_labels("y", RIGHT[kind], len(RIGHT[kind]), 3)
    assert found.dtype == np.int64
    assert found.tolist() == np.asarray(RIGHT[kind]).tolist()


@pytest.mark.parametrize("kind", WRONG)
def test_anything_else_is_refused_with_a_remedy(kind):
    labels, message = WRONG[kind]
    with pytest.raises(ValueError, match=f"^mine: expected .*{message}"):
        class_labels("mine", labels, 4, 3)


def test_label_beyond_int64_is_refused_where_the_classes_are_not_known():
    with pytest.raises(ValueError, match=r"^mine: expected classes of at most 9223372036854775807"):
        class_labels("mine", np.array([0, 2**63], np.uint64), 2)
    assert class_labels("mine", np.array([0, 2**63 - 1], np.uint64), 2)[1] == 2**63 - 1


@pytest.mark.parametrize("part", ["train", "validation", "test"])
def test_task_checks_the_labels_of_each_of_its_parts(part):
    x = torch.zeros(4, 1, 5)
    parts = {name: tasks.Split(x, torch.from_numpy(Y)) for name in ("train", "validation", "test")}
    assert tasks.Task("mine", **parts, classes=3).classes == 3
    with pytest.raises(ValueError, match=rf"task mine {part} y: .* shape \(4, 1\); write y\.resh"):
        tasks.Task(
            "mine", **parts | {part: tasks.Split(x, torch.from_numpy(Y)[:, None])}, classes=3
        )
    with pytest.raises(
        ValueError, match=rf"task mine {part} y: expected classes 0\.\.2, got 1\.\.3"
    ):
        tasks.Task("mine", **parts | {part: tasks.Split(x, torch.from_numpy(Y) + 1)}, classes=3)


class Means(torch.nn.Module):
    """Answers with the means of the channels."""

    def __init__(self) -> None:
        super().__init__()
        self.unused = torch.nn.Parameter(torch.zeros(()))

    def forward(self, x):
        return x.mean(2)


def test_evaluation_refuses_labels_that_would_be_compared_with_every_answer():
    x = torch.eye(3)[Y][:, :, None].repeat(1, 1, 2)
    assert evaluate(Means(), tasks.Split(x, torch.from_numpy(Y))) == 1
    for spoilt, message in (
        (Y[:, None], r"write y\.reshape\(-1\)"),
        (Y + 1, r"0\.\.2, got 1\.\.3"),
    ):
        with pytest.raises(ValueError, match=f"labels: expected .*{message}"):
            evaluate(Means(), tasks.Split(x, torch.from_numpy(spoilt)))


def test_evaluation_refuses_outputs_for_every_step():
    with pytest.raises(ValueError, match=r"outputs: expected \(sample, class\), got .*\(4, 3, 2\)"):
        evaluate(torch.nn.Conv1d(3, 3, 1), tasks.Split(torch.ones(4, 3, 2), torch.from_numpy(Y)))
