"""CE-LIF as a function of current and temporal encoding, in several implementations."""

from __future__ import annotations

import importlib
import importlib.util
import os
import warnings
from collections.abc import Callable, Iterable, Sequence

import torch
from torch import nn
from torch.nn import functional as F
from torch.overrides import handle_torch_function, has_torch_function

from training import decays
from training.dynamics import Params
from training.kernels import adaptive, fused, recurrent, reference, trial
from training.kernels.dropout import Dropout
from training.kernels.layer_scans import AdaptiveScan
from training.support import checks, compiled
from training.support.uncompiled import level_above, uncompiled

ALPHA, BETA, THETA0, WIDTH = 0.5, 0.99, 0.3, 0.2
"""The paper's membrane decay α, threshold decay β, resting threshold Θ0 and surrogate width Γ."""

GAMMA = 0.1
"""Rise γ of ALIF's threshold after a spike, a third of Θ0; the paper does not give its value."""

Backend = Callable[[torch.Tensor, torch.Tensor, Params, float, torch.Tensor | None], torch.Tensor]


def _triton(
    current: torch.Tensor, te: torch.Tensor, p: Params, width: float, bias: torch.Tensor | None
) -> torch.Tensor:
    """Run the GPU kernel, which is imported on first use so that only its users need Triton."""
    return importlib.import_module("training.kernels.gpu").celif(current, te, p, width, bias)


BACKENDS: dict[str, Backend] = {
    "reference": reference.celif,
    "fused": fused.celif,
    "triton": _triton,
}
RECURRENT = {"reference": recurrent.reference, "fused": recurrent.fused}


def _not_fused(x: torch.Tensor) -> str | None:
    """Say what the fused kernel expected instead of ``x``; None if it can take it."""
    if not compiled.AVAILABLE:
        return "numba to be installed, found none"
    if x.device.type != "cpu":
        return f"a tensor on the CPU, got one on {x.device}"
    return _not_a_type_of_ours(x)


def _not_triton(x: torch.Tensor) -> str | None:
    """Say what the GPU kernel expected instead of ``x``; None if it can take it."""
    if importlib.util.find_spec("triton") is None:
        return "triton to be installed, as torch for CUDA on Linux does, found none"
    interpreted = os.environ.get("TRITON_INTERPRET") == "1"  # as Triton itself asks
    if x.device.type != "cuda" and not interpreted:
        return f"a tensor on a CUDA device, got one on {x.device}"
    return _not_a_type_of_ours(x)


def _not_a_type_of_ours(x: torch.Tensor) -> str | None:
    return None if x.dtype in fused.DTYPES else f"float32 or float64, got {x.dtype}"


_REFUSALS = {"fused": _not_fused, "triton": _not_triton}


def fuses(backend: str, x: torch.Tensor) -> bool:
    """Whether ``backend`` means the fused kernel for ``x``."""
    return backend in ("auto", "fused") and _not_fused(x) is None


def hooked(layer: nn.Module) -> bool:
    """Whether ``layer`` has hooks, which see or change what passes through it; no kernel does."""
    hooks = (
        layer._forward_hooks, layer._forward_pre_hooks,
        layer._backward_hooks, layer._backward_pre_hooks,
    )  # fmt: skip
    return any(hooks)


def _choose(backend: str, x: torch.Tensor, offered: Iterable[str] = BACKENDS) -> str:
    """Choose one of the ``offered`` implementations; warn if only the slow one can run."""
    if backend not in ("auto", *offered):
        raise ValueError(
            f"celif backend: expected one of auto, {', '.join(offered)}, got {backend!r}"
        )
    if backend == "reference":
        return backend
    kernel = ("triton" if x.is_cuda else "fused") if backend == "auto" else backend
    reason = _REFUSALS[kernel](x) if kernel in offered else "no recurrent weights, got some"
    if reason is None and kernel == "triton" and backend == "auto":
        reason = trial.why_not(BACKENDS[kernel], x.device, x.dtype)
    if reason is None:
        return kernel
    if backend != "auto":
        raise ValueError(f"celif backend {kernel!r}: expected {reason}; use backend='reference'")
    warnings.warn(
        f"celif: the {kernel} kernel expected {reason}; using the slow reference loop",
        stacklevel=level_above(__name__),
    )
    return "reference"


@uncompiled
def celif(
    current: torch.Tensor,
    te: torch.Tensor,
    alpha: decays.Value = ALPHA,
    beta: decays.Value = BETA,
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
    alpha, beta
        Membrane decay and threshold decay, each one number in [0, 1] or a tensor with a value per
        neuron, through which gradients flow.
    theta0, width
        Resting threshold, and half-width Γ of the surrogate.
    backend
        ``"fused"`` (CPU), ``"triton"`` (GPU; never run on one, see :mod:`training.kernels.gpu`),
        ``"reference"`` (plain autograd loop, slow) or ``"auto"``. All give the same spikes.
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
    if has_torch_function((current,)):  # as torch's own functions: who follows calls sees this one
        arguments = (current, te, alpha, beta, theta0, width, backend, bias, weight_rec)
        return handle_torch_function(celif, (current,), *arguments)
    checks.encoding("current", te, current, current.shape[1] if current.ndim == 3 else 0)
    if bias is not None:
        checks.bias("bias", bias, current, current.shape[1])
    p, width = _parameters(alpha, beta, theta0, width, current, current.shape[1])
    used = te[: current.shape[1], : current.shape[2]]
    if weight_rec is None:
        return BACKENDS[_choose(backend, current)](current, used, p, width, bias)
    checks.recurrent(weight_rec, current)
    chosen = _choose(backend, current, RECURRENT)
    return RECURRENT[chosen](current, used, p, width, bias, weight_rec)


def _parameters(
    alpha: decays.Value,
    beta: decays.Value,
    theta0: float,
    width: float,
    like: torch.Tensor,
    neurons: int,
) -> tuple[Params, float]:
    p = Params(
        decays.argument("alpha", alpha, neurons, like),
        decays.argument("beta", beta, neurons, like),
        checks.scalar("theta0", theta0, float("-inf"), float("inf")),
    )
    return p, checks.scalar("width", width, 0, float("inf"))


def _alike(p: Sequence[Params]) -> bool:
    """Whether all neurons of all layers have the same decays."""
    every = [decay for each in p for decay in (each.alpha, each.beta)]
    return decays.shared(*every) and len(set(p)) == 1


@uncompiled
def layers(
    x: torch.Tensor,
    weights: Sequence[torch.Tensor],
    biases: Sequence[torch.Tensor],
    te: torch.Tensor,
    alpha: decays.Value | Sequence[decays.Value] = ALPHA,
    beta: decays.Value | Sequence[decays.Value] = BETA,
    theta0: float = THETA0,
    width: float = WIDTH,
    backend: str = "auto",
    dropout: float = 0.0,
    tied_dropout: bool = False,
    counts: bool = False,
    context: str = "v*te",
    gamma: float = 0.0,
    weights_rec: Sequence[torch.Tensor | None] | None = None,
) -> torch.Tensor:
    """Spikes of the last of several dense layers of CE-LIF neurons.

    This computes the same as one layer after the other. The fused kernel takes a tile of samples
    through all layers while it is in the cache, and saves far less for the backward pass.

    Parameters
    ----------
    x
        Input, (batch, channel, time).
    weights, biases
        Weights (neuron, input) and biases (neuron,) of every layer.
    te, theta0, width, backend
        As in :func:`celif`; a layer of n neurons uses the first n rows of ``te``.
    alpha, beta
        One number for all layers, or a sequence with what :func:`celif` takes for every layer.
    dropout, tied_dropout
        Probability of dropping a spike of the first layer on its way to the second, independently
        at every step or for all steps at once. The mask is picked by torch's generator.
    counts
        Return the number of spikes of every neuron, (batch, neuron), instead of the spikes.
    context, gamma
        Contextual embedding of the threshold, one of
        :data:`training.kernels.adaptive.CONTEXTS`, and the rise of the threshold after a spike in
        addition to it.
    weights_rec
        Recurrent weights (to, from) of every layer, or None for a layer without feedback.
    """
    if has_torch_function((x,)):
        return handle_torch_function(
            layers, (x,), x, weights, biases, te, alpha, beta, theta0, width, backend, dropout,
            tied_dropout, counts, context, gamma, weights_rec,
        )  # fmt: skip
    if not weights or len(weights) != len(biases):
        raise ValueError(
            f"weights, biases: expected one of each per layer, got {len(weights)} and {len(biases)}"
        )
    checks.encoding("x", te, x, max(len(weight) for weight in weights))
    inputs = x.shape[1]
    for i, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        if weight.ndim != 2 or weight.shape[1] != inputs or weight.dtype != x.dtype:
            raise ValueError(
                f"weights[{i}]: expected (neurons, {inputs}) in {x.dtype}, "
                f"got {tuple(weight.shape)} in {weight.dtype}"
            )
        checks.bias(f"biases[{i}]", bias, x, len(weight))
        inputs = len(weight)
    own = [decays.per_layer(n, v, len(weights)) for n, v in (("alpha", alpha), ("beta", beta))]
    rows = zip(*own, weights, strict=True)
    checked = [_parameters(a, b, theta0, width, x, len(weight)) for a, b, weight in rows]
    p, width = [constants for constants, _ in checked], checked[0][1]
    dropout = checks.scalar("dropout", dropout, 0, 1, open_high=True)
    drop = Dropout.draw(dropout if len(weights) > 1 else 0, tied_dropout)
    feedback = list(weights_rec or [None] * len(weights))
    plain = context == "v*te" and gamma == 0 and all(each is None for each in feedback)
    chosen = _choose(backend, x) if plain else _choose(backend, x, RECURRENT)
    used = te[: max(map(len, weights)), : x.shape[2]]
    if chosen == "fused" and plain and _alike(p):
        return fused.layers(x, weights, biases, used, p[0], width, drop, counts)
    neurons = [
        adaptive.neurons_in(context, used[: len(weight)], *constants, gamma=gamma)
        for weight, constants in zip(weights, p, strict=True)
    ]
    if chosen == "fused":
        rows = zip(weights, biases, feedback, neurons, strict=True)
        stack = [fused.StackLayer(w, b, own, tuple(values)) for w, b, own, (values, _) in rows]
        scan = AdaptiveScan(neurons[0][1], width)
        return fused.stack(x, stack, used, scan, drop, counts)
    for i, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        current = F.linear(x.transpose(1, 2), weight).transpose(1, 2)
        if plain:
            x = BACKENDS[chosen](current, used[: len(weight)], p[i], width, bias)
        else:
            given = (current + bias[:, None], used[: len(weight)], *neurons[i], width)
            x = adaptive.reference(*given, feedback[i])
        if i == 0 and drop is not None:
            x = x * drop.mask(*x.shape).to(x)
    return x.sum(-1) if counts else x
