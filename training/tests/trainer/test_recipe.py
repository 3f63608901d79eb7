"""Recipes: the rate's schedules, moved images, averaged weights, presets."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from training import checkpoint, tasks
from training.network.network import Network
from training.tests.kernels.bursts import RECIPE, bursts, train
from training.trainer import augment, presets
from training.trainer.average import Average
from training.trainer.loop import BEST, LAST, evaluate
from training.trainer.recipe import Recipe


def test_learning_rate_rises_and_falls():
    rates = [RECIPE.lr_at(i / 100) for i in range(101)]
    peak = rates.index(max(rates))
    assert rates[peak] == RECIPE.lr
    assert peak == 10
    assert rates == sorted(rates[: peak + 1]) + sorted(rates[peak + 1 :], reverse=True)
    assert rates[0] == pytest.approx(0.04 * RECIPE.lr)
    assert rates[-1] == pytest.approx(0)


def test_step_schedule_falls_after_every_tenth_epoch():
    recipe = Recipe(epochs=150, schedule="step", lr=5e-3, decay=0.8, decay_every=10)
    total = 150 * 215
    rates = [recipe.lr_at(epoch * 215 / total) for epoch in range(150)]
    expected = [5e-3 * 0.8 ** (epoch // 10) for epoch in range(150)]
    assert rates == pytest.approx(expected)
    assert recipe.lr_at((10 * 215 - 1) / total) == 5e-3, "the last step of the tenth epoch"


def test_constant_schedule_is_constant():
    assert {Recipe(schedule="constant", lr=0.1).lr_at(i / 9) for i in range(10)} == {0.1}


BAD = {
    "schedule": (
        {"schedule": "linear"},
        "recipe schedule: expected one of cosine, .* got 'linear'",
    ),
    "augment": ({"augment": "mirror"}, "recipe augment: expected one of none, nudge, .* 'mirror'"),
    "epochs": ({"epochs": 0}, "recipe epochs: expected a number from 1 up, got 0"),
    "patience": ({"patience": 0}, "recipe patience: expected a number from 1 up, got 0"),
    "clip": ({"clip": -1.0}, "recipe clip: expected a number from 0 up, got -1"),
    "clip-nan": ({"clip": float("nan")}, "recipe clip: expected a number from 0 up, got nan"),
    "decay": ({"decay": -0.5}, "recipe decay: expected a number from 0 up, got -0.5"),
    "lr": ({"lr": float("inf")}, "recipe lr: expected a number from 0 up, got inf"),
    "te_lr": ({"te_lr": -1}, "recipe te_lr: expected a number from 0 up, got -1"),
    "te_update": (
        {"te_update": "columns"},
        "recipe te_update: expected one of entries, rows, sums, got 'columns'",
    ),
    "seed": ({"seed": -1}, "recipe seed: expected a number from 0 up, got -1"),
    "average": ({"average": 1.0}, r"recipe average: expected a number in \[0, 1\), got 1"),
}


@pytest.mark.parametrize(("options", "message"), BAD.values(), ids=BAD.keys())
def test_bad_recipe_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Recipe(**options)


def test_shift_moves_whole_pixels_and_fills_with_zeros():
    images = torch.arange(1.0, 13).reshape(1, 1, 3, 4).repeat(3, 1, 1, 1)
    moved = augment.shifted(images, np.array([[0, 0], [1, -2], [-1, 1]]))
    assert torch.equal(moved[0], images[0])
    assert moved[1, 0].tolist() == [[0, 0, 0, 0], [3, 4, 0, 0], [7, 8, 0, 0]]
    assert moved[2, 0].tolist() == [[0, 5, 6, 7], [0, 9, 10, 11], [0, 0, 0, 0]]


def test_turn_by_nothing_is_the_image_and_by_much_is_another():
    images = torch.rand(2, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    # Bilinear samples at the pixels themselves, up to the rounding of their coordinates.
    still = augment.turned(images, np.zeros((2, 4)))
    torch.testing.assert_close(still, images, rtol=0, atol=1e-5)
    # A move alone by a whole pixel, half of the largest, is a shift of the image.
    down = augment.turned(images, np.array([[0, 0, 0.5, 0]] * 2))
    torch.testing.assert_close(down[:, :, :-1], images[:, :, 1:], rtol=0, atol=1e-5)
    assert (augment.turned(images, np.ones((2, 4))) - images).abs().mean() > 0.05


def test_nudge_moves_by_one_pixel_at_most_and_shift_by_two():
    task = bursts()
    plain, _ = task.train.draw(0, 0, 0, 40)
    images = plain.reshape(len(plain), -1, *task.image)
    for kind, most in augment.SHIFTS.items():
        moved, _ = augment.Augmented(task.train, kind, task.image).draw(0, 0, 0, 40)
        found = set()
        for before, after in zip(images, moved.reshape(images.shape), strict=True):
            for by in np.ndindex(5, 5):
                there = augment.shifted(before[None], np.array([by]) - 2)[0]
                if before.any() and torch.equal(there, after):
                    found.add(max(abs(by[0] - 2), abs(by[1] - 2)))
                    break
        assert max(found) == most


def test_images_are_moved_afresh_but_the_same_for_every_process():
    task = bursts()
    source = augment.Augmented(task.train, "shift", task.image)
    x, y = source.draw(0, 0, 0, 16)
    plain, labels = task.train.draw(0, 0, 0, 16)
    assert torch.equal(y, labels)
    assert not torch.equal(x, plain)
    assert torch.equal(x[5:9], source.draw(0, 0, 0, 16, slice(5, 9))[0])
    assert torch.equal(source.x, task.train.x)
    assert len(source.draw(0, 0, 3, 16)[1]) == 8, "the last batch is not full"


@pytest.mark.parametrize("kind", ["nudge", "shift", "affine"])
def test_process_without_a_sample_has_none_to_move(kind):
    task = bursts()
    x, y = augment.Augmented(task.train, kind, task.image).draw(0, 0, 5, 11, slice(0, 0))
    assert x.shape == (0, *task.train.x.shape[1:])
    assert len(y) == 0


def test_images_stay_as_they_are_after_the_epochs_of_augmentation():
    task = bursts()
    source = augment.Augmented(task.train, "shift", task.image, epochs=2)
    for epoch, moved in ((0, True), (1, True), (2, False), (3, False)):
        x, y = source.draw(0, epoch, 0, 16)
        plain, labels = task.train.draw(0, epoch, 0, 16)
        assert torch.equal(y, labels)
        assert torch.equal(x, plain) != moved


def test_samples_that_are_no_images_are_not_moved(tmp_path):
    with pytest.raises(ValueError, match="augment: expected a task of images for 'shift', got one"):
        train(replace(bursts(), image=None), tmp_path, Recipe(epochs=1, augment="shift"))


def test_average_follows_the_weights_as_its_equation_says():
    net = Network(1, (3,), 2, 4)
    average = Average(net, 0.5)
    expected = net.te.detach().clone()
    for n in (1, 2, 3):
        with torch.no_grad():
            net.te.add_(n)
        average.update(net)
        decay = min(0.5, (1 + n) / (10 + n))
        expected = decay * expected + (1 - decay) * net.te.detach()
    # Two ways of writing the same sum.
    torch.testing.assert_close(average.weights["te"], expected, rtol=1e-6, atol=1e-6)
    raw = net.te.detach().clone()
    with average.applied(net):
        assert torch.equal(net.te, average.weights["te"])
    assert torch.equal(net.te, raw)


def test_averaged_run_validates_saves_and_returns_the_average(tmp_path):
    # A measure that no two networks share, unlike accuracy.
    each = partial(F.cross_entropy, reduction="none")
    surprise = tasks.Objective("surprise", F.cross_entropy, each, lower_is_better=True)
    task = replace(bursts(), objective=surprise)
    run = train(task, tmp_path, Recipe(epochs=2, batch=16, average=0.9, lr=0.02))
    assert run.average is not None
    assert run.average.updates == 8
    saved = {name: checkpoint.read(tmp_path / name) for name in (LAST, BEST)}
    for name, value in run.net.state_dict().items():
        assert torch.equal(value, run.average.weights[name])
        assert torch.equal(value, saved[LAST]["weights"][name])
    assert not torch.equal(saved[LAST]["raw"]["te"], saved[LAST]["weights"]["te"])
    for content in saved.values():
        net = checkpoint.build(content)
        found = evaluate(net, task.validation, objective=surprise)
        assert content["history"][-1]["validation"] == pytest.approx(found, rel=1e-6)


def test_gradient_is_cut_to_the_longest_that_is_allowed(tmp_path):
    lengths = {}
    for clip in (0.0, 1e-3, 1e6):
        # An epoch of one step, whose gradient is still there.
        run = train(bursts(), tmp_path / f"{clip:g}", Recipe(epochs=1, batch=56, clip=clip))
        grads = [p.grad.flatten() for p in run.net.parameters() if p.grad is not None]
        lengths[clip] = float(torch.cat(grads).norm())
    assert lengths[0.0] > 2e-3
    assert lengths[1e6] == lengths[0.0], "a long limit cuts nothing, and 0 is none"
    # clip_grad_norm_ adds 1e-6 to what it divides by.
    assert lengths[1e-3] == pytest.approx(1e-3, rel=1e-3)


def test_encoding_learns_at_a_rate_of_its_own(tmp_path):
    task = bursts()
    begun = {
        te_lr: train(task, tmp_path / f"{te_lr:g}", Recipe(epochs=1, batch=16, te_lr=te_lr)).net
        for te_lr in (0.0, 1.0, 3.0)
    }
    still, as_others, faster = (net.te.detach() for net in begun.values())
    assert not torch.equal(begun[0.0].readout.weight, begun[1.0].readout.weight)
    moved, moved_faster = (as_others - still).norm(), (faster - still).norm()
    assert 2 * moved < moved_faster < 4 * moved


def test_presets_are_the_papers():
    sizes = {"seq-mnist-88": 83_562, "ps-mnist-88": 83_562}
    sizes |= {"seq-mnist-152": 153_962, "ps-mnist-152": 153_962}
    for name, parameters in sizes.items():
        preset = presets.get(name)
        assert Network(1, preset.hidden, 10, 784).num_parameters == parameters
        assert preset.recipe.batch == 256
    copy = presets.get("copy-400")
    assert (copy.hidden, copy.network["beta"]) == ((64, 256, 256), 1 - 1 / 400)
    assert copy.recipe.lr * copy.recipe.te_lr == pytest.approx(2.4 / 400)
    adding = presets.get("adding-800")
    assert (adding.hidden, adding.network) == ((64, 256, 256), {})
    for name in presets.NAMES:
        needs_files = "mnist" in name or name == "shd"
        assert needs_files or tasks.load(presets.get(name).task).steps > 0
    for name in ("mnist", "copy-1", "adding-0"):
        with pytest.raises(ValueError, match=rf"preset: expected a task, .* got '{name}'"):
            presets.get(name)
