"""The decays α and β of a layer: one number, one per neuron, or learnt.

A learnt decay has one unbounded parameter per neuron::

    α_n = A·σ(a_n)        σ(a) = 1 / (1 + e⁻ᵃ),  A = 1 − 2⁻¹²

and β likewise. It stays between 0 and A, the largest decay that the 12 bits of a chip's mantissa
hold, so that every learnt decay can be exported.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from training.support import checks

LARGEST = 1 - 2.0**-12
"""A, which learnt decays stay below: 4095 of the 4096 units of a 12-bit mantissa."""

NAMES = ("alpha", "beta")
"""The two decays: of the membrane and of the threshold."""

Value = float | torch.Tensor
"""A decay as the kernels take it: one number, or a tensor (neuron,)."""
LayerDecay = float | tuple[float, ...]
"""A decay of one layer as plain numbers: one for all neurons, or one for each."""


def _is_one(value: object) -> bool:
    """Whether ``value`` is a constant that all neurons share."""
    return np.ndim(value) == 0 and not (isinstance(value, torch.Tensor) and value.requires_grad)  # type: ignore[arg-type]


def argument(name: str, value: Any, neurons: int, like: torch.Tensor) -> Value:
    """Return a decay that a caller gave, as a number or a tensor (neuron,) like ``like``.

    A tensor keeps its graph: a single learnable number becomes one value per neuron.
    """
    if _is_one(value):
        return checks.scalar(name, value, 0, 1)
    expected = f"{name}: expected a number or {neurons} values, one per neuron"
    if not isinstance(value, torch.Tensor):
        value = torch.as_tensor(_numbers(name, value), dtype=like.dtype, device=like.device)
    if value.ndim > 0 and value.shape != (neurons,):
        raise ValueError(f"{expected}, got shape {tuple(value.shape)}")
    if value.dtype != like.dtype or value.device != like.device:
        raise ValueError(
            f"{expected} in {like.dtype} on {like.device}, got {value.dtype} on {value.device}; "
            f"use {name}.to(current)"
        )
    inside = (value >= 0) & (value <= 1)
    if not inside.all():
        found = value.detach().expand(neurons)[~inside.expand(neurons)][0]
        raise ValueError(f"{expected}, all in [0, 1], got {found:g} among them")
    return value.expand(neurons)


def _numbers(name: str, values: Any) -> np.ndarray:
    if isinstance(values, torch.Tensor):
        values = values.detach().cpu()
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError):
        found = f"{values!r:.60}"
        raise ValueError(f"{name}: expected numbers, one per neuron, got {found}") from None


def shared(*values: Value) -> bool:
    """Whether each of the decays is one number for all neurons."""
    return not any(isinstance(value, torch.Tensor) for value in values)


def per_neuron(like: torch.Tensor, *values: Value) -> list[torch.Tensor]:
    """Return each of the values as a tensor with one for every neuron of ``like`` (neuron, …)."""
    return [
        value if isinstance(value, torch.Tensor) else like.new_full(like.shape[:1], value)
        for value in values
    ]


def _is_number(value: object) -> bool:
    return not isinstance(value, (list, tuple)) and np.ndim(value) == 0  # type: ignore[arg-type]


def per_layer(name: str, value: Any, layers: int) -> list[Any]:
    """Return what each of several layers has for a decay, from one number or a sequence."""
    if _is_number(value):
        return [value] * layers
    entries = list(value)
    if len(entries) != layers:
        raise ValueError(
            f"{name}: expected a number, or {layers} entries, one per spiking layer, each a number "
            f"or a value per neuron, got {len(entries)}; for one layer write {name}=[values]"
        )
    return entries


def of_layer(name: str, value: Any, neurons: int, learnt: bool = False) -> LayerDecay:
    """Return a layer's decay as plain numbers, each in [0, 1), or raise ValueError.

    One that is ``learnt`` starts there, so it must be inside the open range of learnt decays.
    """
    if isinstance(value, torch.Tensor) and value.requires_grad:
        raise ValueError(
            f"{name}: expected numbers, got a tensor that requires gradients; for a decay that is "
            f"learnt pass its start and learn_{name.partition('[')[0]}=True"
        )
    if np.ndim(value) == 0:
        numbers: tuple[float, ...] = (checks.scalar(name, value, 0, 1, open_high=True),)
    else:
        found = _numbers(name, value)
        if found.shape != (neurons,):
            raise ValueError(
                f"{name}: expected a number or {neurons} values, one per neuron, "
                f"got shape {found.shape}"
            )
        numbers = tuple(checks.scalar(name, each, 0, 1, open_high=True) for each in found)
    if learnt and not all(0 < each < LARGEST for each in numbers):
        worst = next(each for each in numbers if not 0 < each < LARGEST)
        raise ValueError(
            f"{name}: expected a learnt decay to start above 0 and below {LARGEST:.6f}, "
            f"got {worst:g}"
        )
    return numbers[0] if np.ndim(value) == 0 else numbers


def of_layers(
    name: str, value: Any, widths: Sequence[int], learnt: bool = False
) -> float | tuple[LayerDecay, ...]:
    """Return the decays of a network: a number, or an entry of plain numbers for every layer."""
    if _is_number(value):
        return of_layer(name, value, widths[0], learnt)
    layers = zip(per_layer(name, value, len(widths)), widths, strict=True)
    return tuple(of_layer(f"{name}[{i}]", e, n, learnt) for i, (e, n) in enumerate(layers))


class Decay(nn.Module):
    """One decay of every neuron of a layer, constant or learnt.

    Parameters
    ----------
    start
        One number for all neurons, or one for each; a learnt decay starts there.
    neurons
        Number of neurons.
    learnt
        Whether it is learnt; it then has the parameter ``logit``, a_n of the equation above.
    """

    constant: torch.Tensor

    def __init__(self, start: LayerDecay, neurons: int, learnt: bool) -> None:
        super().__init__()
        values = start if isinstance(start, tuple) else (start,) * neurons
        self.logit: nn.Parameter | None = None
        if learnt:
            shares = [value / LARGEST for value in values]
            logits = [math.log(share / (1 - share)) for share in shares]
            self.logit = nn.Parameter(torch.tensor(logits))
        # Not in checkpoints, which hold constants among the network's options.
        self.register_buffer("constant", None if learnt else torch.tensor(values), persistent=False)

    def forward(self) -> torch.Tensor:
        """The decays (neuron,), differentiable if they are learnt."""
        return self.constant if self.logit is None else LARGEST * self.logit.sigmoid()
