"""Neurons with an adaptive threshold: CE-LIF in each context of the paper's ablation, ALIF, LIF.

All are :func:`training.dynamics.advance` with another contextual embedding CE[t], which is bilinear
in the temporal encoding and the state (:mod:`training.kernels.scans.adaptive`), and with α, β, Θ0
and γ per neuron, any of which may be learnt. :func:`reference` loops over the step under autograd;
:func:`fused` runs the compiled scans, in recurrent layers one step at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch

from training.decays import per_neuron
from training.dynamics import Params, State, advance
from training.kernels.fused import DTYPES, StackLayer, stack
from training.kernels.layer_scans import AdaptiveScan
from training.kernels.reference import Boxcar
from training.kernels.scans.adaptive import Context, embedding
from training.support import compiled

PLAIN = Context()
"""The context of neurons without a temporal encoding, whose threshold knows their spikes alone."""
CONTEXTS: dict[str, tuple[float, Context]] = {
    "s": (1.0, PLAIN),
    "v": (0.0, Context(v=1.0)),
    "te": (0.0, Context(te=1.0)),
    "v+te": (0.0, Context(v=1.0, te=1.0)),
    "s*te": (0.0, Context(s_te=1.0)),
    "v*te": (0.0, Context(v_te=1.0)),
}
"""γ and coefficients of the paper's six embeddings; ``"v*te"`` is CE-LIF itself."""


class AdaptiveParams(NamedTuple):
    """α, β, Θ0 and γ of a layer, each a tensor (neuron,)."""

    alpha: torch.Tensor
    beta: torch.Tensor
    theta0: torch.Tensor
    gamma: torch.Tensor


def fused(
    current: torch.Tensor,
    te: torch.Tensor | None,
    neuron: AdaptiveParams,
    context: Context,
    width: float,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
) -> torch.Tensor:
    """Spikes (batch, neuron, time); ``weight`` (to, from) is what feeds them back."""
    if bias is None:
        bias = current.new_zeros(current.shape[1])
    layer = StackLayer(None, bias, weight, tuple(neuron))
    return stack(current, [layer], te, AdaptiveScan(context, width))


def states(
    current: torch.Tensor,
    te: torch.Tensor | None,
    neuron: AdaptiveParams,
    context: Context,
    width: float,
    weight: torch.Tensor | None = None,
) -> Iterator[State]:
    """Yield the state after every step under autograd, each in the graph of the later ones."""

    def spike_of(v: torch.Tensor, theta: torch.Tensor) -> torch.Tensor:
        return Boxcar.apply(v, theta, width)

    rest = torch.zeros_like(current[..., 0])
    p = Params(neuron.alpha, neuron.beta, neuron.theta0)
    state = State(rest + neuron.theta0, rest, rest)
    if te is None:
        te = torch.zeros_like(current[0])
    for x, te_t in zip(current.unbind(-1), te.unbind(-1), strict=True):
        if weight is not None:
            x = x + state.s @ weight.t()
        state = advance(x, embedding(te_t, state, neuron.gamma, context), state, p, spike_of)
        yield state


def reference(
    current: torch.Tensor,
    te: torch.Tensor | None,
    neuron: AdaptiveParams,
    context: Context,
    width: float,
    weight: torch.Tensor | None = None,
) -> torch.Tensor:
    """Spikes of the plain loop; same signature as :func:`fused`."""
    steps = states(current, te, neuron, context, width, weight)
    return torch.stack([state.s for state in steps], -1)


def compiles(x: torch.Tensor) -> bool:
    """Whether the compiled kernels can run on ``x``."""
    return compiled.AVAILABLE and x.device.type == "cpu" and x.dtype in DTYPES


def run(
    current: torch.Tensor,
    te: torch.Tensor | None,
    neuron: AdaptiveParams,
    context: Context,
    width: float,
    weight: torch.Tensor | None = None,
    backend: str = "auto",
) -> torch.Tensor:
    """Spikes of :func:`fused` where it can run, else of :func:`reference`."""
    chosen = fused if backend != "reference" and compiles(current) else reference
    return chosen(current, te, neuron, context, width, weight)


def neurons_in(
    context: str,
    like: torch.Tensor,
    alpha: float | torch.Tensor,
    beta: float | torch.Tensor,
    theta0: float,
    gamma: float = 0.0,
) -> tuple[AdaptiveParams, Context]:
    """Make a layer of neurons with one of :data:`CONTEXTS` for ``like`` (neuron, …).

    ``alpha`` and ``beta`` may be tensors (neuron,); ``gamma`` is by how much a spike raises the
    threshold in addition to the context.
    """
    rise, coefficients = CONTEXTS[context]
    return AdaptiveParams(*per_neuron(like, alpha, beta, theta0, rise + gamma)), coefficients
