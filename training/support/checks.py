"""Checks of arguments, whose errors name the object, what was expected and found, and a remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch


def scalar(name: str, value: object, low: float, high: float, *, open_high: bool = False) -> float:
    """Return ``value`` as a float inside the range, or raise a ValueError that says why not."""
    bracket = ")" if open_high else "]"
    expected = f"{name}: expected one number in [{low:g}, {high:g}{bracket}"
    if np.ndim(value) > 0:  # type: ignore[arg-type]
        raise ValueError(
            f"{expected}, got {type(value).__name__} of several values; "
            "a value per neuron is not supported: use one layer per value"
        )
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise ValueError(f"{expected}, got {value!r}") from None
    if not (low <= number < high if open_high else low <= number <= high):
        raise ValueError(f"{expected}, got {number:g}")
    return number


def sequence(
    name: str, x: torch.Tensor, channels: int | None, steps: int, dtype: torch.dtype | None = None
) -> None:
    """Require ``x`` to be a floating (batch, channels, time) tensor of at most ``steps`` steps.

    With ``dtype``, that of a network's parameters, also of the same type.
    """
    import torch  # here, so that the checks of plain numbers need none

    if not isinstance(x, torch.Tensor):
        convert = "from_numpy" if isinstance(x, np.ndarray) else "as_tensor"
        raise ValueError(
            f"{name}: expected a torch tensor, got {type(x).__name__}; "
            f"use torch.{convert}(x).float()"
        )
    if x.ndim != 3:
        raise ValueError(
            f"{name}: expected (batch, {channels or 'neuron'}, time), got shape {tuple(x.shape)}; "
            "add the missing axis, e.g. x[:, None, :] for one channel"
        )
    if channels is not None and x.shape[1] != channels:
        raise ValueError(
            f"{name}: expected {channels} channel{'s' if channels > 1 else ''} on axis 1, got "
            f"{x.shape[1]} "
            f"(shape {tuple(x.shape)}); time is the last axis, transpose if it is not"
        )
    if len(x) == 0:
        raise ValueError(f"{name}: expected at least one sample, got shape {tuple(x.shape)}")
    if not 1 <= x.shape[2] <= steps:
        raise ValueError(
            f"{name}: expected 1..{steps} time steps, as the layer was built for, "
            f"got {x.shape[2]}; shorten the sample or build the network with steps={x.shape[2]}"
        )
    if not x.is_floating_point():
        raise ValueError(f"{name}: expected a floating tensor, got {x.dtype}; use x.float()")
    if dtype is not None and x.dtype != dtype:
        raise ValueError(
            f"{name}: expected {dtype} like the network's parameters, got {x.dtype}; "
            f"use x.to({dtype})"
        )


def whole_steps(name: str, value: object, count: int, longest: int) -> torch.Tensor:
    """Return steps, one for all or one for each of ``count``, as a tensor of whole numbers."""
    import torch

    steps = torch.as_tensor(value).detach().float()
    fits = steps.ndim == 0 or steps.shape == (count,)
    if not fits or (steps != steps.floor()).any() or not 0 <= steps.min() <= steps.max() <= longest:
        raise ValueError(
            f"{name}: expected True, or whole steps 0..{longest} for all or for each of {count}, "
            f"got {value}"
        )
    return steps.expand(count).clone()


def encoding(name: str, te: torch.Tensor, x: torch.Tensor, neurons: int) -> None:
    """Require ``te`` to be a temporal encoding of ``x`` with rows for all ``neurons``."""
    if te.ndim != 2:
        raise ValueError(f"te: expected (neuron, time), got shape {tuple(te.shape)}")
    sequence(name, x, None, te.shape[1])
    if neurons > te.shape[0]:
        raise ValueError(
            f"te: expected at least {neurons} rows, one per neuron of the {name} "
            f"{tuple(x.shape)}, got {tuple(te.shape)}"
        )
    if te.dtype != x.dtype or te.device != x.device:
        raise ValueError(
            f"te: expected {x.dtype} on {x.device} like the {name}, "
            f"got {te.dtype} on {te.device}; use te.to({name})"
        )


def bias(name: str, values: torch.Tensor, x: torch.Tensor, neurons: int) -> None:
    """Require ``values`` to be one per neuron, in the type of ``x``."""
    if values.shape != (neurons,) or values.dtype != x.dtype:
        raise ValueError(
            f"{name}: expected {neurons} values in {x.dtype}, one per neuron, "
            f"got {tuple(values.shape)} in {values.dtype}"
        )


def recurrent(weight: torch.Tensor, current: torch.Tensor) -> None:
    """Require ``weight`` to be recurrent weights of the neurons of ``current``."""
    square = 2 * current.shape[1:2]
    if weight.shape != square or weight.dtype != current.dtype:
        raise ValueError(
            f"weight_rec: expected shape {tuple(square)} in {current.dtype}, a weight from each "
            f"neuron to each, got {tuple(weight.shape)} in {weight.dtype}"
        )
