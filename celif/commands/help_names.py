"""The names that the help texts list, written out so that help needs no import of PyTorch.

A test holds them to the modules that define them.
"""

from __future__ import annotations

TASKS = ("digits", "seq-mnist", "ps-mnist", "adding-T", "copy-T", "shd", "ssc", "tonic-NAME")
PRESETS = (
    *("digits", "seq-mnist-88", "seq-mnist-152", "ps-mnist-88", "ps-mnist-152"),
    *("adding-100", "adding-200", "adding-500", "adding-800"),
    *("copy-100", "copy-200", "copy-400", "copy-500", "shd"),
)
TEMPORAL_ENCODINGS = ("table", "cosine")
SCHEDULES = ("cosine", "step", "constant")
TE_UPDATES = ("entries", "rows", "sums")
AUGMENTATIONS = ("none", "nudge", "shift", "affine")
