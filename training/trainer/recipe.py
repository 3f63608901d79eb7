"""The recipe of a run: everything besides task, network and machine that decides the weights."""

from __future__ import annotations

import math
from dataclasses import dataclass

from training.trainer import augment as augmentation

SCHEDULES = ("cosine", "step", "constant")
TE_UPDATES = ("entries", "rows", "sums")


@dataclass(frozen=True)
class Recipe:
    """Options of training with AdamW, gradient clipping and a learning-rate schedule.

    Parameters
    ----------
    epochs, batch
        Number of epochs, and samples per step over all processes together.
    lr
        Learning rate, or its peak.
    te_lr
        Learning rate of the temporal encoding, as a multiple of ``lr``.
    te_update
        ``"entries"``: AdamW updates every entry of the temporal encoding for itself. ``"rows"``:
        the mean over time is taken out of the gradient of each neuron's row, and the row has one
        second moment, so that the steps that matter move further than the others. ``"sums"``:
        AdamW updates Σ β^(t−k)·TE[k], which a threshold adds up, in place of TE[t], without weight
        decay; for one constant β. Both are for tables, see :mod:`training.network.te_updates`.
    warmup
        Share of all steps over which the rate of a cosine schedule rises.
    weight_decay
        Weight decay of AdamW, on every parameter.
    clip
        Largest norm of a gradient; 0 for no limit.
    seed
        Seed of the order of samples, of dropout and, through :func:`training.trainer.start`, of
        the weights.
    schedule
        ``"cosine"``: up to ``lr``, then down to 0 along a cosine, in one cycle. ``"step"``: times
        ``decay`` after every ``decay_every`` epochs. ``"constant"``.
    decay, decay_every
        Factor and interval of the schedule ``"step"``.
    patience
        Stop after this many epochs whose validation was worse than the best; None never stops
        early.
    average
        Decay of a moving average of the weights, e.g. 0.999, which is then what is validated,
        saved and returned; 0 for none.
    augment
        ``"nudge"`` moves each training image by up to one pixel, ``"shift"`` by up to two, each
        time differently; ``"affine"`` turns, scales and moves it; ``"none"`` leaves it.
    augment_epochs
        Number of epochs, from the first, in which images are moved; None for all.
    adversarial
        Also train on every batch with each input moved by this much in the direction in which the
        loss grows, within the range of the training inputs, at twice the cost; 0 for not.
    """

    epochs: int = 40
    batch: int = 64
    lr: float = 5e-3
    warmup: float = 0.1
    weight_decay: float = 0.01
    clip: float = 1.0
    seed: int = 0
    schedule: str = "cosine"
    decay: float = 0.8
    decay_every: int = 10
    patience: int | None = None
    average: float = 0.0
    augment: str = "none"
    augment_epochs: int | None = None
    te_lr: float = 1.0
    te_update: str = "entries"
    adversarial: float = 0.0

    def __post_init__(self) -> None:
        choices = {
            "schedule": SCHEDULES,
            "augment": augmentation.NAMES,
            "te_update": TE_UPDATES,
        }
        for name, known in choices.items():
            chosen = getattr(self, name)
            if chosen not in known:
                raise ValueError(
                    f"recipe {name}: expected one of {', '.join(known)}, got {chosen!r}"
                )
        for name in ("epochs", "batch", "decay_every", "patience", "augment_epochs"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"recipe {name}: expected a number from 1 up, got {value}")
        for name in ("lr", "te_lr", "weight_decay", "clip", "decay", "seed", "adversarial"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"recipe {name}: expected a number from 0 up, got {value:g}")
        for name in ("warmup", "average"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(
                    f"recipe {name}: expected a number in [0, 1), got {getattr(self, name):g}"
                )

    def lr_at(self, done: float) -> float:
        """Return the learning rate when the fraction ``done`` of all steps is done."""
        if self.schedule == "constant":
            return self.lr
        if self.schedule == "step":
            # Slightly more, because the fraction of a whole epoch may be rounded down.
            return self.lr * self.decay ** int(done * self.epochs / self.decay_every + 1e-9)
        if done < self.warmup:
            return self.lr * (0.04 + 0.96 * done / self.warmup)
        return self.lr * 0.5 * (1 + math.cos(math.pi * (done - self.warmup) / (1 - self.warmup)))
