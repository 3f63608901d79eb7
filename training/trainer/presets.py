"""Presets: the paper's experiments by name, each with task, network and recipe.

MNIST: the paper's two sizes of hidden layers; its batch of 256, and in place of its learning rate
of 5e-4 ours, ten times that along one cycle, which learns several times faster.

Adding problem and copy memory: the paper's hidden layers of 64, 256 and 256 and, for copy memory,
its β = 1 − 1/T; mostly smaller batches than its 256 and other rates than its 5e-4 and 1e-3. In copy
memory a threshold sums up T steps of V⊙TE, so a step of the optimiser moves it by T steps of TE: TE
learns at 0.6/T. The surrogate is twice as wide as the paper's, so that more neurons learn, and
gradients are clipped at a norm of 0.01, as in the authors' later code: rare large ones otherwise
undo what long sequences have learnt. Above T = 200 a neuron's TE is updated as a row
(:class:`training.trainer.recipe.Recipe`), at 2.4/T, with the paper's batch of 256 and rate of 1e-3.
In the adding problem TE learns at 0.3 of the rate, above T = 200 at 50/T of it: an entry is that of
a marked step in one of T/2 samples, and what the others add to its gradient is noise.

SHD: a network of our own choice, not the paper's and not tuned.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from training import tasks
from training.trainer.recipe import Recipe


@dataclass(frozen=True)
class Preset:
    """A task, the widths of the hidden layers, the recipe, and options of the network."""

    task: str
    hidden: tuple[int, ...]
    recipe: Recipe
    network: dict[str, Any] = field(default_factory=dict)


DIGITS = Preset("digits", (64, 88, 88), Recipe(epochs=100, batch=64), {"dropout": 0.1})

_MNIST = Recipe(epochs=30, batch=256)
_ADDING = Recipe(epochs=24, batch=128, weight_decay=0.0, te_lr=0.3)
"""1,200 steps."""
_COPY = Recipe(epochs=50, batch=64, lr=2e-3, warmup=0.02, weight_decay=0.0, clip=0.01)
"""5,000 steps, within which CE-LIF converges in the paper even at T = 500."""

_WIDE = (64, 256, 256)


def _mnist(task: str, width: int) -> Preset:
    return Preset(task, (64, width, width), _MNIST, {"dropout": 0.2})


def _adding(steps: int) -> Preset:
    long = replace(_ADDING, epochs=100, te_lr=50 / steps)  # 5,000 steps
    return Preset(f"adding-{steps}", _WIDE, long if steps > 200 else _ADDING)


def _copy(steps: int) -> Preset:
    if steps > 200:
        epochs = 120 if steps <= 400 else 200  # 3,000 steps, or 5,000
        long = replace(_COPY, epochs=epochs, batch=256, lr=1e-3, te_update="rows")
        recipe = replace(long, te_lr=2.4 / steps / long.lr)
    else:
        recipe = replace(_COPY, te_lr=0.6 / steps / _COPY.lr)
    return Preset(f"copy-{steps}", _WIDE, recipe, {"beta": 1 - 1 / steps, "width": 0.4})


PRESETS: dict[str, Preset] = {
    "digits": DIGITS,
    **{f"{task}-{n}": _mnist(task, n) for task in ("seq-mnist", "ps-mnist") for n in (88, 152)},
    **{f"adding-{steps}": _adding(steps) for steps in (100, 200, 500, 800)},
    **{f"copy-{steps}": _copy(steps) for steps in (100, 200, 400, 500)},
    "shd": Preset("shd", (128, 128), Recipe(epochs=40, batch=128), {"dropout": 0.4}),
}
NAMES = tuple(PRESETS)


def get(name: str) -> Preset:
    """Return the preset called ``name``; for a task, that of the paper's smaller network."""
    if name in PRESETS:
        return PRESETS[name]
    if f"{name}-88" in PRESETS:
        return PRESETS[f"{name}-88"]
    kind, _, steps = name.partition("-")
    if kind in ("adding", "copy") and steps.isdecimal() and int(steps) >= 2:
        return _adding(int(steps)) if kind == "adding" else _copy(int(steps))
    raise ValueError(
        f"preset: expected a task, one of {', '.join(tasks.NAMES)}, or a preset, one of "
        f"{', '.join(NAMES)}, got {name!r}"
    )
