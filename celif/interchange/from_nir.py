"""Reading a NIR graph as a PyTorch module that can be exported.

NIR describes neurons by differential equations. With a time step dt, a LIF node becomes ::

    V[t] = α·V[t-1]·(1 − S[t-1]) + (1 − α)·(v_leak + r·I[t])        α = 1 − dt/τ (Euler)
    S[t] = 1 where V[t] ≥ v_threshold, else 0                        or exp(−dt/τ) (exact)

with a hard reset to 0. Everything is divided by the threshold, so that it is 1 in the module and
may differ between neurons.
"""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from celif.interchange.nodes import NirError, nir_package
from training import CELIF

DISCRETISATIONS = ("euler", "exact")
_KNOWN = "Input, Output, Linear, Affine, Scale, Conv2d, AvgPool2d, SumPool2d, Flatten, LIF, CubaLIF"


def from_nir(source: Any, dt: float, steps: int, *, discretisation: str = "euler") -> nn.Module:
    """Read a NIR graph as a module for inputs (batch, channel, time).

    Parameters
    ----------
    source
        A NIR file, or a graph of the package ``nir``.
    dt
        Length of a time step in the unit of the graph's time constants.
    steps
        Longest sequence that the module takes.
    discretisation
        How decays follow from time constants: ``"euler"``, 1 − dt/τ, or ``"exact"``, exp(−dt/τ).

    Returns
    -------
    nn.Module
        A module that :func:`export.to_netx` exports. A chain of CubaLIF nodes becomes SLAYER's CUBA
        blocks, which need lava-dl.
    """
    nir = nir_package()
    if discretisation not in DISCRETISATIONS:
        expected = ", ".join(DISCRETISATIONS)
        raise ValueError(f"discretisation: expected one of {expected}, got {discretisation!r}")
    graph = nir.read(source, type_check=False) if _is_path(source) else source
    nodes, edges = _flattened(graph)
    if any(type(node).__name__ == "CubaLIF" for node in nodes.values()):
        return _cuba_chain(nodes, edges, dt, discretisation)
    return NirNetwork(nodes, edges, dt, steps, discretisation)


def _is_path(source: Any) -> bool:
    return isinstance(source, (str, os.PathLike))


def _flattened(graph: Any, prefix: str = "") -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Nodes and edges of a graph, with those of graphs inside it in their place."""
    nodes: dict[str, Any] = {}
    edges = [(prefix + a, prefix + b) for a, b in graph.edges]
    for name, node in graph.nodes.items():
        if type(node).__name__ != "NIRGraph":
            nodes[prefix + name] = node
            continue
        inner, between = _flattened(node, f"{prefix}{name}.")
        ends = {
            kind: [each for each, n in inner.items() if type(n).__name__ == kind]
            for kind in ("Input", "Output")
        }
        if len(ends["Input"]) != 1 or len(ends["Output"]) != 1:
            raise NirError(prefix + name, "a graph with one input and one output", "others")
        nodes |= inner
        edges = [
            (
                ends["Output"][0] if a == prefix + name else a,
                ends["Input"][0] if b == prefix + name else b,
            )
            for a, b in edges
        ] + between
    return nodes, edges


class NirNetwork(nn.Module):
    """A NIR graph; inputs of a node are added up."""

    def __init__(
        self,
        nodes: dict[str, Any],
        edges: list[tuple[str, str]],
        dt: float,
        steps: int,
        discretisation: str,
    ) -> None:
        super().__init__()
        feedback = _feedback(nodes, edges)
        loops = set(feedback.values())
        edges = [(a, b) for a, b in edges if a not in loops and b not in loops]
        self.order = _ordered([name for name in nodes if name not in loops], edges)
        self.sources = {name: [a for a, b in edges if b == name] for name in self.order}
        self.parts = nn.ModuleDict()
        shapes: dict[str, tuple[int, ...]] = {}
        for name in self.order:
            loop = nodes[feedback[name]] if name in feedback else None
            before = next((shapes[each] for each in self.sources[name]), ())
            shapes[name] = _shape(nodes[name], before)
            self.parts[_key(name)] = _module(
                name, nodes[name], dt, steps, discretisation, loop, shapes[name]
            )
        outputs = [name for name in self.order if type(nodes[name]).__name__ == "Output"]
        if len(outputs) != 1:
            raise NirError("Output", "one output", len(outputs))
        self.output = outputs[0]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Spikes, or currents, that reach the output, for ``x`` (batch, channel, …, time)."""
        values: dict[str, torch.Tensor] = {}
        for name in self.order:
            given = [values[each] for each in self.sources[name]]
            total = x if not given else given[0]
            for each in given[1:]:
                total = total + each
            values[name] = self.parts[_key(name)](total)
        return values[self.output]


def _shape(node: Any, before: tuple[int, ...]) -> tuple[int, ...]:
    """Shape to give a node's parameters that are one number for all neurons."""
    kind = type(node).__name__
    if kind in ("Linear", "Affine"):
        return (len(node.weight),)
    return (len(node.weight), 1, 1) if kind == "Conv2d" else before


def _key(name: str) -> str:
    return name.replace(".", "_")


def _feedback(nodes: dict[str, Any], edges: list[tuple[str, str]]) -> dict[str, str]:
    """The weights by which each layer of neurons feeds back to itself."""
    found: dict[str, str] = {}
    for a, b in edges:
        weights = type(nodes[b]).__name__ in ("Linear", "Affine")
        if (b, a) in edges and weights and hasattr(nodes[a], "v_threshold"):
            found[a] = b
    return found


def _ordered(names: list[str], edges: list[tuple[str, str]]) -> list[str]:
    waiting, done = list(names), []
    while waiting:
        ready = [n for n in waiting if all(a in done for a, b in edges if b == n)]
        if not ready:
            raise NirError(
                waiting[0],
                "a graph without loops other than neurons → weights → the same neurons",
                "another loop",
            )
        done += ready
        waiting = [n for n in waiting if n not in ready]
    return done


class _Weights(nn.Module):
    def __init__(self, weight: np.ndarray, bias: np.ndarray | None) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.as_tensor(np.array(weight), dtype=torch.float32))
        self.bias = None
        if bias is not None:
            self.bias = nn.Parameter(torch.as_tensor(np.array(bias), dtype=torch.float32))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.linear(x.transpose(1, 2), self.weight, self.bias).transpose(1, 2)


class _OfImages(nn.Module):
    """A module of torch's for images, applied to every step."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, steps = len(x), x.shape[-1]
        made = self.module(x.movedim(-1, 1).flatten(0, 1))
        return made.unflatten(0, (batch, steps)).movedim(1, -1)


class _Scaled(nn.Module):
    def __init__(self, factor: np.ndarray) -> None:
        super().__init__()
        self.register_buffer("factor", torch.as_tensor(np.array(factor), dtype=torch.float32))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.factor[..., None]


class _Neurons(nn.Module):
    """Neurons that receive ``gain`` times their input plus an offset, and feed back."""

    def __init__(
        self, neurons: CELIF, gain: torch.Tensor, offset: torch.Tensor, loop: _Weights | None
    ) -> None:
        super().__init__()
        self.neurons, self.loop = neurons, loop
        self.register_buffer("gain", gain)
        self.register_buffer("offset", offset)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        current = x * self.gain[..., None] + self.offset[..., None]
        if self.loop is None:
            return self.neurons(current)
        weight = self.loop.weight * self.gain[:, None]
        if self.loop.bias is not None:
            current = current + (self.loop.bias * self.gain)[:, None]
        return self.neurons(current, weight)


def _module(
    name: str,
    node: Any,
    dt: float,
    steps: int,
    discretisation: str,
    loop: Any,
    shape: tuple[int, ...],
) -> nn.Module:
    kind = type(node).__name__
    if kind in ("Input", "Output"):
        return nn.Identity()
    if kind in ("Linear", "Affine"):
        return _Weights(node.weight, getattr(node, "bias", None))
    if kind == "Scale":
        return _Scaled(node.scale)
    if kind == "Flatten":
        return nn.Flatten(1, -2)
    if kind == "Conv2d":
        return _OfImages(_convolution(name, node))
    if kind in ("AvgPool2d", "SumPool2d"):
        size, stride, padding = (
            _pair(getattr(node, each)) for each in ("kernel_size", "stride", "padding")
        )
        pool = _OfImages(nn.AvgPool2d(size, stride, padding))
        if kind == "AvgPool2d":
            return pool
        return nn.Sequential(pool, _Scaled(np.array(float(size[0] * size[1]))))
    if kind == "LIF":
        return _lif(name, node, dt, steps, discretisation, loop, shape)
    if kind == "CELIF":
        return _celif(name, node, steps)
    remedies = {
        "IF": "a file's neurons leak by at least 1/4096 of V a step: use LIF with a long τ",
        "I": "end the graph at the spikes before it",
        "LI": "end the graph at the spikes before it",
        "CubaLI": "end the graph at the spikes before it",
    }
    raise NirError(name, f"one of {_KNOWN}", kind, remedies.get(kind, ""))


def _pair(value: Any) -> tuple[int, int]:
    first, second = np.broadcast_to(value, 2)
    return int(first), int(second)


def _convolution(name: str, node: Any) -> nn.Conv2d:
    if isinstance(node.padding, str):
        raise NirError(name, "padding in numbers", repr(node.padding))
    out, per_group = node.weight.shape[:2]
    pairs = {each: _pair(getattr(node, each)) for each in ("stride", "padding", "dilation")}
    groups = int(node.groups)
    made = nn.Conv2d(per_group * groups, out, node.weight.shape[2:], groups=groups, **pairs)  # type: ignore[arg-type]
    with torch.no_grad():
        made.weight.copy_(torch.as_tensor(np.array(node.weight)))
        assert made.bias is not None
        made.bias.copy_(torch.as_tensor(np.array(node.bias)))
    return made


def decay(name: str, field: str, tau: np.ndarray, dt: float, discretisation: str) -> float:
    """The decay of a step, the same for all neurons of a node."""
    values = np.unique(np.asarray(tau, np.float64))
    if len(values) != 1:
        found = f"{len(values)} values, {values[0]:g} to {values[-1]:g}"
        raise NirError(name, f"one {field} for all neurons", found, "split the node")
    found_decay = 1 - dt / values[0] if discretisation == "euler" else math.exp(-dt / values[0])
    if not 0 <= found_decay < 1:
        raise NirError(name, f"{field} of at least dt = {dt:g}", f"{values[0]:g}")
    return float(found_decay)


def require_reset(name: str, node: Any) -> None:
    """Raise NirError unless the neurons are reset to 0."""
    if node.v_reset is not None and np.any(np.asarray(node.v_reset) != 0):
        raise NirError(name, "v_reset = 0, a hard reset", np.asarray(node.v_reset).max())


def _lif(
    name: str,
    node: Any,
    dt: float,
    steps: int,
    discretisation: str,
    loop: Any,
    before: tuple[int, ...],
) -> nn.Module:
    require_reset(name, node)
    alpha = decay(name, "tau", node.tau, dt, discretisation)
    threshold = np.asarray(node.v_threshold, np.float64)
    if not (threshold > 0).all():
        raise NirError(name, "v_threshold > 0", threshold.min())
    gain = (1 - alpha) * np.asarray(node.r, np.float64) / threshold
    offset = (1 - alpha) * np.asarray(node.v_leak, np.float64) / threshold
    shape = np.broadcast_shapes(gain.shape, offset.shape) or before
    if not shape:
        raise NirError(name, "parameters of every neuron", "one number")
    each_gain, each_offset = (
        torch.as_tensor(np.broadcast_to(each, shape).copy(), dtype=torch.float32)
        for each in (gain, offset)
    )
    neurons = CELIF(shape[0], steps, kind="lif", alpha=alpha, theta0=1.0, bias=False)
    weights = None if loop is None else _Weights(loop.weight, getattr(loop, "bias", None))
    if weights is not None and len(shape) > 1:
        raise NirError(name, "a vector of neurons that feed back", f"shape {shape}")
    return _Neurons(neurons, each_gain, each_offset, weights)


def _celif(name: str, node: Any, steps: int) -> nn.Module:
    constants: dict[str, Any] = {}
    for field in ("alpha", "beta", "theta0"):
        values = np.unique(getattr(node, field))
        if len(values) != 1:
            raise NirError(name, f"one {field} for all neurons", f"{len(values)} values")
        constants[field] = float(values[0])
    rows, length = np.shape(node.te)
    if steps > length:
        raise NirError(name, f"an encoding of {steps} steps", length, "pass fewer steps")
    te = nn.Parameter(torch.as_tensor(np.array(node.te)[:, :steps], dtype=torch.float32))
    made = CELIF(rows, steps, te=te, **constants)
    with torch.no_grad():
        assert made.bias is not None
        made.bias.copy_(torch.as_tensor(np.array(node.bias)))
    return made


def _cuba_chain(
    nodes: dict[str, Any], edges: list[tuple[str, str]], dt: float, discretisation: str
) -> nn.Module:
    """SLAYER's CUBA blocks for a chain of weights and CubaLIF nodes."""
    from lava.lib.dl import slayer

    order = _ordered(list(nodes), edges)
    kinds = [type(nodes[name]).__name__ for name in order]
    inner = kinds[1:-1]
    pairs = ["Linear" if kind == "Affine" else kind for kind in inner]
    if (
        kinds[0] != "Input"
        or kinds[-1] != "Output"
        or pairs != ["Linear", "CubaLIF"] * (len(inner) // 2)
    ):
        raise NirError(order[0], "a chain of weights and CubaLIF nodes", " → ".join(kinds))
    blocks = []
    for weights, neurons in zip(order[1:-1:2], order[2:-1:2], strict=True):
        node, synapse = nodes[neurons], nodes[weights]
        require_reset(neurons, node)
        if np.any(np.asarray(getattr(synapse, "bias", 0.0)) != 0) or np.any(node.v_leak != 0):
            raise NirError(neurons, "no bias and v_leak = 0", "others")
        current = decay(neurons, "tau_syn", node.tau_syn, dt, discretisation)
        voltage = decay(neurons, "tau_mem", node.tau_mem, dt, discretisation)
        gain = (1 - current) * (1 - voltage) * np.asarray(node.r) * np.asarray(node.w_in)
        values = gain.reshape(-1, 1) * synapse.weight / np.reshape(node.v_threshold, (-1, 1))
        # SLAYER's weights are multiples of 1/32 below 4: the threshold follows.
        unit = 3.9 / np.abs(values).max()
        made = slayer.block.cuba.Dense(
            {"threshold": float(unit), "current_decay": 1 - current, "voltage_decay": 1 - voltage},
            values.shape[1],
            values.shape[0],
        )
        with torch.no_grad():
            shaped = torch.as_tensor(values * unit, dtype=torch.float32)
            made.synapse.weight.copy_(shaped.reshape(made.synapse.weight.shape))
        blocks.append(made)
    return nn.Sequential(*blocks)
