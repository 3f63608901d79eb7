"""Whether a module's own forward pass is the chain of layers that was read from it.

A module may do anything in its ``forward``: add a layer's output to another's, use a block twice,
call its blocks in another order than it registered them in. An export that reads its children in
order would be a different network. So the module runs on a few samples, and its output must be
that of the chain: bit for bit in float32 or, where the same sums are added up in another order, to
float64's precision in float64. A module that only runs in float32 may differ by float32's rounding
and by less than half of what one spike changes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from export.checks import ModelError
from export.convert.float_network import FloatLayer, FloatNetwork, float_spikes
from export.model.geometry import delayed
from training.network.network import Network

SAMPLES = 8
"""The number of calibration samples that the two passes are compared on."""

TOLERANCE = 1e-9
"""The largest relative difference of two float64 passes that counts as rounding."""

FOLDED = 8
"""Roundings that a weight may have seen on its way into the file, e.g. in a normalisation."""

UNSEEN = 0.49
"""The part of what one spike changes that float32's rounding may change: less than half."""

Forward = Callable[[torch.Tensor], torch.Tensor]

_REMEDY = (
    "export what the forward pass is made of as a chain of blocks, e.g. an nn.Sequential, or a "
    "plain training.Network"
)


def require_chain(net: Any, modules: list[Any], x: np.ndarray, followed: bool) -> None:
    """Raise ModelError unless ``net`` passes ``x`` through ``modules``, one after the other.

    Both are copies in evaluation mode: SLAYER's blocks learn their shapes from what they see. A
    chain of spikes may be followed by their mean or sum over time, which is what a file's logits
    are. With ``followed``, calibration data would have the forward pass followed instead.
    """

    def chain(h: torch.Tensor) -> torch.Tensor:
        for module in modules:
            if isinstance(module, nn.Linear) and h.ndim > 2:
                h = (h.sum(-1) / h.shape[-1]).flatten(1)
                h = nn.functional.linear(h, module.weight, module.bias)
            else:
                h = module(h)
        return h

    remedy = f"pass calibration=x, on which it is followed, or {_REMEDY}" if followed else _REMEDY
    _require_equal(net, chain, [net, *modules], x, type(net).__name__, remedy=remedy)


def require_floats(clone: nn.Module, floats: FloatNetwork, x: np.ndarray, name: str) -> None:
    """Raise ModelError unless ``clone``, a copy in evaluation mode, computes what was read."""

    def chain(h: torch.Tensor) -> torch.Tensor:
        inputs = h.flatten(1, -2).transpose(1, 2).contiguous().numpy()
        for layer in floats.layers:
            assert isinstance(layer, FloatLayer)
            inputs = delayed(float_spikes(layer, inputs, h.dtype), layer.output_delay)
        spikes = torch.from_numpy(inputs).to(h.dtype).transpose(1, 2)
        if floats.readout is None:
            return spikes
        weight, bias = (torch.from_numpy(values).to(h.dtype) for values in floats.readout)
        return spikes.sum(-1) / spikes.shape[-1] @ weight.t() + bias

    def own(h: torch.Tensor) -> Any:
        found = clone(h)
        return found.flatten(1, -2) if getattr(found, "ndim", 0) > 3 else found

    rounding = None if floats.readout is None else _rounding(*floats.readout, x.shape[-1])
    _require_equal(own, chain, [clone], x, name, rounding)


class _Rounding(NamedTuple):
    """By how much two float32 passes may differ, logit by logit."""

    most: torch.Tensor
    """The most that rounding explains."""
    allowed: torch.Tensor
    """The same, or so much less that no spike is lost in it."""


def _rounding(weight: np.ndarray, bias: np.ndarray, steps: int) -> _Rounding:
    """The rounding of a readout's float32 passes, for rates up to 1.

    A sum of n products in any order is off by at most n·2⁻²⁴ of the sum of their sizes. Here n is
    the number of neurons plus, where the sum over time comes last, that of the steps. Errors partly
    cancel, so one bound is enough for both passes. Where that bound is large, it is made smaller:
    one spike more or less, of any neuron that is read, changes some logit by over twice as much.
    """
    sizes = np.abs(weight).sum(1) + np.abs(bias)
    most = (weight.shape[1] + steps + FOLDED) * 2.0**-24 * sizes
    weight, bounds = np.abs(weight[most > 0]), most[most > 0]
    shown = (weight / steps / bounds[:, None]).max(0, initial=0.0)  # by the logit that shows most
    part = min(1.0, UNSEEN * shown[shown > 0].min(initial=np.inf))
    return _Rounding(torch.from_numpy(most), torch.from_numpy(part * most))


@torch.no_grad()
def _require_equal(
    own: Forward,
    chain: Forward,
    modules: list[nn.Module],
    x: np.ndarray,
    name: str,
    rounding: _Rounding | None = None,
    remedy: str = _REMEDY,
) -> None:
    few = torch.as_tensor(x[np.unique(np.linspace(0, len(x) - 1, SAMPLES).astype(int))])
    with torch.random.fork_rng(devices=[]):
        found, expected = _run(own, few.float(), name), chain(few.float())
        if any(torch.equal(found, each) for each in _readings(expected)):
            _require_activity(own, chain, few.float(), name)
            return
        for module in modules:
            module.double()
        why = ""
        try:
            exact, exact_chain = own(few.double()), chain(few.double())
        except (RuntimeError, ValueError) as error:
            why = f"it raises {type(error).__name__} ({error})"
        else:
            if exact.dtype != torch.float64:
                why = f"it returns {exact.dtype}"
    if why:  # a module for float32 only
        exact, exact_chain = found, expected
        for module in modules:
            module.float()
    alike = [each for each in _readings(exact_chain) if exact.shape == each.shape]
    allowed = 0.0 if rounding is None else rounding.allowed
    if any(_close(exact, each, allowed if why else None) for each in alike):
        _require_activity(own, chain, few.float() if why else few.double(), name)
        return
    if why and rounding and any(_close(exact, each, rounding.most) for each in alike):
        raise ModelError(
            f"network forward: expected logits in which every spike of the last layer shows, got "
            f"{_difference(found, expected)}, which may be a spike or float32's rounding: {name} "
            f"was compared in float32, because in float64 {why}; keep the precision of the input, "
            "e.g. by h.to(x.dtype) instead of h.float()"
        )
    float32 = (
        f"; they were compared in float32, because in float64 {why}: if they differ by rounding "
        "alone, keep the precision of the input, e.g. by h.to(x.dtype) instead of h.float()"
    )
    raise ModelError(
        f"network forward: expected the output of the layers that were read from it, which is what "
        f"an export would write, got {_difference(found, expected)}: {name}.forward computes "
        f"another network; {remedy}{float32 if why else ''}"
    )


def _close(
    found: torch.Tensor, expected: torch.Tensor, rounding: torch.Tensor | float | None
) -> bool:
    """Whether two outputs are equal but for rounding, float64's or a given one."""
    if rounding is None:
        return torch.allclose(found, expected, TOLERANCE, TOLERANCE)
    return bool(((found - expected).abs() <= rounding).all())


def _run(own: Forward, x: torch.Tensor, name: str) -> torch.Tensor:
    try:
        found = own(x)
    except Exception as error:
        raise ModelError(
            f"network forward: expected {name} to run on an input of shape {tuple(x.shape)}, got "
            f"{type(error).__name__} ({error}); pass calibration data as its forward pass takes it"
        ) from error
    if not isinstance(found, torch.Tensor):
        raise ModelError(
            f"network forward: expected one tensor from {name}.forward, got "
            f"{type(found).__name__}; {_REMEDY}"
        )
    return found


def _readings(output: torch.Tensor) -> list[torch.Tensor]:
    """What a forward pass may return of a chain's output: logits or spikes, their mean, sum."""
    if output.ndim < 3:
        return [output]
    counts = output.sum(-1)
    return [output, counts / output.shape[-1], output.mean(-1), counts]


def _require_activity(own: Forward, chain: Forward, x: torch.Tensor, name: str) -> None:
    """Refuse to compare a network with another on data that it does not respond to."""
    if getattr(type(own), "forward", None) in (
        nn.Sequential.forward,
        Network.forward,
    ):  # one by construction
        return
    if torch.equal(chain(x), chain(torch.zeros_like(x))):
        raise ModelError(
            f"network forward: expected spikes on the calibration data, by which {name}.forward "
            "can be told from another network, got the same output as for zeros; pass data that "
            "the network responds to"
        )


def _difference(found: torch.Tensor, expected: torch.Tensor) -> str:
    for each in _readings(expected):
        if found.shape == each.shape:
            largest = float((found - each).abs().max())
            return f"an output that differs by up to {largest:.3g}"
    return f"an output of shape {tuple(found.shape)} instead of {tuple(expected.shape)}"
