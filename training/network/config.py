"""What a network can be asked to be, checked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from training.kernels import adaptive
from training.support import checks

READOUTS = ("mean", "last", "steps", "spikes")


def checked(
    in_features: int,
    hidden: Sequence[int],
    classes: int,
    steps: int,
    *,
    alpha: float,
    beta: float,
    theta0: float,
    width: float,
    te: str,
    context: str,
    recurrent: bool | Sequence[bool],
    dropout: float,
    tied_dropout: bool,
    readout: str,
    permutation: Sequence[int] | None,
) -> dict[str, Any]:
    """Options of :class:`training.Network` as plain values, for its checkpoint; raise if bad."""
    if not isinstance(hidden, Iterable):
        raise ValueError(
            f"hidden: expected a sequence of widths, got {hidden!r}; e.g. hidden=(64, 88)"
        )
    hidden = tuple(hidden)
    if not hidden:
        raise ValueError("hidden: expected at least one layer, got (); e.g. hidden=(64, 88)")
    sizes = {"in_features": in_features, "classes": classes, "steps": steps}
    sizes |= {f"hidden[{i}]": n for i, n in enumerate(hidden)}
    for name, size in sizes.items():
        if not isinstance(size, (int, np.integer)) or size < 1:
            raise ValueError(f"{name}: expected a whole number from 1 up, got {size!r}")
    if readout not in READOUTS:
        raise ValueError(f"readout: expected one of {', '.join(READOUTS)}, got {readout!r}")
    if context not in adaptive.CONTEXTS:
        names = ", ".join(adaptive.CONTEXTS)
        raise ValueError(f"context: expected one of {names}, got {context!r}")
    return {
        "in_features": int(in_features),
        "hidden": [int(n) for n in hidden],
        "classes": int(classes),
        "steps": int(steps),
        "alpha": checks.scalar("alpha", alpha, 0, 1, open_high=True),
        "beta": checks.scalar("beta", beta, 0, 1, open_high=True),
        "theta0": checks.scalar("theta0", theta0, -1e6, 1e6),
        "width": checks.scalar("width", width, 0, 1e6),
        "recurrent": _recurrent_layers(recurrent, len(hidden)),
        "dropout": checks.scalar("dropout", dropout, 0, 1, open_high=True),
        "tied_dropout": bool(tied_dropout),
        "readout": readout,
        "te": te,
        "context": context,
        "permutation": _order(permutation, steps),
    }


def _recurrent_layers(recurrent: bool | Sequence[bool], layers: int) -> list[bool]:
    """Which of the hidden layers are recurrent."""
    if isinstance(recurrent, bool):
        return [recurrent and (i < layers - 1 or layers == 1) for i in range(layers)]
    chosen = [bool(each) for each in recurrent]
    if len(chosen) != layers:
        raise ValueError(
            f"recurrent: expected True, False or {layers} of them, one per hidden layer, "
            f"got {len(chosen)}"
        )
    return chosen


def _order(permutation: Sequence[int] | None, steps: int) -> list[int] | None:
    if permutation is None:
        return None
    order = [int(step) for step in permutation]
    if sorted(order) != list(range(steps)):
        raise ValueError(
            f"permutation: expected every step 0..{steps - 1} exactly once, "
            f"got {len(order)} values; e.g. torch.randperm(steps).tolist()"
        )
    return order
