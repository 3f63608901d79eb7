"""CE-LIF as a function of current and temporal encoding, with a choice of implementation."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import torch

from training import checks, compiled, fused, recurrent, reference
from training.dynamics import Params

ALPHA, BETA, THETA0, WIDTH = 0.5, 0.99, 0.3, 0.2
"""The paper's membrane decay α, threshold decay β, resting threshold Θ0 and surrogate width Γ."""

Backend = Callable[[torch.Tensor, torch.Tensor, Params, float, torch.Tensor | None], torch.Tensor]
BACKENDS: dict[str, Backend] = {"reference": reference.celif, "fused": fused.celif}
RECURRENT = {"reference": recurrent.reference, "fused": recurrent.fused}


def _not_fused(current: torch.Tensor) -> str | None:
    """Why the fused kernel cannot take ``current``, or None."""
    if not compiled.AVAILABLE:
        return "numba to be installed, found none"
    if current.device.type != "cpu":
        return f"a tensor on the CPU, got one on {current.device}"
    if current.dtype not in fused.DTYPES:
        return f"float32 or float64, got {current.dtype}"
    return None


def _choose(backend: str, current: torch.Tensor) -> str:
    if backend not in ("auto", *BACKENDS):
        raise ValueError(
            f"celif backend: expected one of auto, {', '.join(BACKENDS)}, got {backend!r}"
        )
    if backend == "reference":
        return backend
    reason = _not_fused(current)
    if reason is None:
        return "fused"
    if backend == "fused":
        raise ValueError(f"celif backend 'fused': expected {reason}; use backend='reference'")
    warnings.warn(
        f"celif: the fused kernel expected {reason}; using the slow reference loop", stacklevel=3
    )
    return "reference"


def celif(
    current: torch.Tensor,
    te: torch.Tensor,
    alpha: float = ALPHA,
    beta: float = BETA,
    theta0: float = THETA0,
    width: float = WIDTH,
    backend: str = "auto",
    bias: torch.Tensor | None = None,
    weight_rec: torch.Tensor | None = None,
) -> torch.Tensor:
    """Spikes of a layer of CE-LIF neurons.

    Parameters
    ----------
    current
        Input current, (batch, neuron, time).
    te
        Temporal encoding, (neuron, time); rows and steps beyond the current's are not used.
    alpha, beta, theta0, width
        Membrane decay, threshold decay, resting threshold, and half-width Γ of the surrogate.
    backend
        ``"fused"`` (CPU kernel), ``"reference"`` (plain autograd loop) or ``"auto"``. All give
        the same spikes.
    bias
        Current (neuron,) that is added at every step; cheaper here than in ``current``.
    weight_rec
        Recurrent weights (to, from): each step also receives weight_rec · spikes of the step
        before.

    Returns
    -------
    torch.Tensor
        Spikes, 0 or 1 in the current's type, (batch, neuron, time).
    """
    if te.ndim != 2:
        raise ValueError(f"te: expected (neuron, time), got shape {tuple(te.shape)}")
    checks.sequence("current", current, None, te.shape[1])
    if current.shape[1] > te.shape[0]:
        raise ValueError(
            f"te: expected at least {current.shape[1]} rows, one per neuron of the current "
            f"{tuple(current.shape)}, got {tuple(te.shape)}"
        )
    if te.dtype != current.dtype or te.device != current.device:
        raise ValueError(
            f"te: expected {current.dtype} on {current.device} like the current, "
            f"got {te.dtype} on {te.device}; use te.to(current)"
        )
    if bias is not None and (bias.shape != current.shape[1:2] or bias.dtype != current.dtype):
        raise ValueError(
            f"bias: expected {current.shape[1]} values in {current.dtype}, one per neuron, "
            f"got {tuple(bias.shape)} in {bias.dtype}"
        )
    p = Params(
        checks.scalar("alpha", alpha, 0, 1),
        checks.scalar("beta", beta, 0, 1),
        checks.scalar("theta0", theta0, float("-inf"), float("inf")),
    )
    width = checks.scalar("width", width, 0, float("inf"))
    used = te[: current.shape[1], : current.shape[2]]
    chosen = _choose(backend, current)
    if weight_rec is None:
        return BACKENDS[chosen](current, used, p, width, bias)
    _check_recurrent(weight_rec, current)
    return RECURRENT[chosen](current, used, p, width, bias, weight_rec)


def _check_recurrent(weight: torch.Tensor, current: torch.Tensor) -> None:
    square = 2 * current.shape[1:2]
    if weight.shape != square or weight.dtype != current.dtype:
        raise ValueError(
            f"weight_rec: expected shape {tuple(square)} in {current.dtype}, a weight from each "
            f"neuron to each, got {tuple(weight.shape)} in {weight.dtype}"
        )
