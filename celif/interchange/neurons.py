"""NIR's nodes with a state as modules: LIF, CELIF, and the integrators I and LI.

A LIF node becomes, with α = 1 − dt/τ (Euler) or exp(−dt/τ) (exact) ::

    V[t] = α·V[t-1]·(1 − S[t-1]) + (1 − α)·(v_leak + r·I[t])
    S[t] = 1 where V[t] ≥ v_threshold, else 0

with a hard reset to 0. Everything is divided by the threshold, so that it is 1 in the module and
may differ between neurons. Integrators end a graph, and give V after the last step::

    I    V[t] = V[t-1] + dt·r·I[t]
    LI   V[t] = α·V[t-1] + (1 − α)·(v_leak + r·I[t])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from celif.interchange.nodes import NirError
from celif.interchange.weights import Matrix
from training import CELIF

DISCRETISATIONS = ("euler", "exact")


def require_dt(dt: object) -> None:
    """Raise ValueError unless ``dt`` is the length of a time step."""
    number = isinstance(dt, (int, float, np.integer, np.floating)) and not isinstance(dt, bool)
    if not number or not 0 < float(dt) < np.inf:  # type: ignore[arg-type]
        raise ValueError(
            f"dt: expected a finite number above 0, the length of a time step, got {dt!r}; take "
            "the unit of the graph's time constants"
        )


@dataclass(frozen=True)
class Time:
    """How differential equations become steps."""

    dt: float
    steps: int
    discretisation: str

    def __post_init__(self) -> None:
        require_dt(self.dt)
        whole = isinstance(self.steps, (int, np.integer)) and not isinstance(self.steps, bool)
        if not whole or self.steps < 1:
            raise ValueError(
                "steps: expected a whole number of at least 1, the longest sequence that the "
                f"module takes, got {self.steps!r}"
            )

    def decays(self, name: str, field: str, tau: np.ndarray) -> np.ndarray:
        """What is left of a state after a step, for each time constant."""
        values = np.asarray(tau, np.float64)
        if self.discretisation == "euler":
            found, expected = 1 - self.dt / values, f"a finite {field} of at least dt = {self.dt:g}"
        else:
            found, expected = np.exp(-self.dt / values), f"a finite {field} above 0"
        wrong = ~((found >= 0) & (found < 1))
        if wrong.any():
            raise NirError(name, expected, f"{np.extract(wrong, values)[0]:g}")
        return found

    def decay(self, name: str, field: str, tau: np.ndarray) -> float:
        """The decay of a step, the same for all neurons of a node."""
        values = np.unique(np.asarray(tau, np.float64))
        if len(values) != 1:
            found = f"{len(values)} values, {values[0]:g} to {values[-1]:g}"
            raise NirError(name, f"one {field} for all neurons", found, "split the node")
        return float(self.decays(name, field, values)[0])


def require_reset(name: str, node: Any) -> None:
    """Raise NirError unless the neurons are reset to 0."""
    if node.v_reset is not None and np.any(np.asarray(node.v_reset) != 0):
        raise NirError(name, "v_reset = 0, a hard reset", np.asarray(node.v_reset).max())


def thresholds(name: str, node: Any) -> np.ndarray:
    """The thresholds of a node; NirError unless they are above 0."""
    found = np.asarray(node.v_threshold, np.float64)
    if not (found > 0).all():
        raise NirError(name, "v_threshold > 0", found.min())
    return found


class Neurons(nn.Module):
    """Neurons that receive ``gain`` times their input plus an offset, and feed back."""

    gain: torch.Tensor
    offset: torch.Tensor

    def __init__(
        self, neurons: CELIF, gain: torch.Tensor, offset: torch.Tensor, loop: Matrix | None
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


def lif(name: str, node: Any, time: Time, loop: Any, before: tuple[int, ...]) -> nn.Module:
    """The neurons of a LIF node, with the weights of its loop."""
    require_reset(name, node)
    taus = np.asarray(node.tau, np.float64)
    alpha: Any = time.decays(name, "tau", taus)
    if taus.ndim != 1:  # an image's channels have one decay each, not its pixels
        alpha = time.decay(name, "tau", taus)
    threshold = _shaped(name, "v_threshold", thresholds(name, node), before)
    share = 1 - _shaped(name, "tau", alpha, before)
    gain = share * _shaped(name, "r", node.r, before) / threshold
    offset = share * _shaped(name, "v_leak", node.v_leak, before) / threshold
    shape = np.broadcast_shapes(gain.shape, offset.shape)
    if np.prod(shape) == 1 and before:
        shape = before
    if not shape:
        raise NirError(name, "parameters of every neuron", "one number")
    if loop is not None and len(shape) > 1:
        raise NirError(name, "a vector of neurons that feed back", f"shape {shape}")
    each_gain, each_offset = (
        torch.as_tensor(np.broadcast_to(each, shape).copy(), dtype=torch.float32)
        for each in (gain, offset)
    )
    each = alpha if np.ndim(alpha) and len(alpha) == shape[0] else np.ravel(alpha)[0]
    neurons = CELIF(shape[0], time.steps, kind="lif", alpha=each, theta0=1.0, bias=False)
    return Neurons(neurons, each_gain, each_offset, None if loop is None else Matrix(loop))


def _shaped(name: str, field: str, values: Any, before: tuple[int, ...]) -> np.ndarray:
    """Parameters of neurons behind ``before``; those of an image's channels hold for its pixels."""
    found = np.asarray(values, np.float64)
    if found.ndim != 1 or len(before) < 2:
        return found
    if len(found) not in (1, before[0]):
        expected = f"{field} of {before[0]} channels, or of every pixel"
        raise NirError(name, expected, f"{len(found)} values in a row")
    return found.reshape(-1, 1, 1)


def celif(name: str, node: Any, time: Time, loop: Any) -> nn.Module:
    """The neurons of our own node CELIF, with the weights of their loop."""
    constants: dict[str, Any] = {}
    for field in ("alpha", "beta", "theta0"):
        values = np.unique(getattr(node, field))
        if len(values) == 1:
            constants[field] = float(values[0])
        elif field == "theta0":
            raise NirError(name, f"one {field} for all neurons", f"{len(values)} values")
        else:
            constants[field] = np.asarray(getattr(node, field), np.float64)
    rows, length = np.shape(node.te)
    if time.steps > length:
        raise NirError(name, f"an encoding of {time.steps} steps", length, "pass fewer steps")
    te = nn.Parameter(torch.as_tensor(np.array(node.te)[:, : time.steps], dtype=torch.float32))
    made = CELIF(rows, time.steps, te=te, **constants)
    with torch.no_grad():
        assert made.bias is not None
        made.bias.copy_(torch.as_tensor(np.array(node.bias)))
    if loop is None:
        return made
    return Neurons(made, torch.ones(rows), torch.zeros(rows), Matrix(loop))


class Integrator(nn.Module):
    """An I node: the potential after the last step, which is a sum over time.

    The weights before it hold dt·r·steps (:func:`absorb`), so that it is the mean of what arrives
    in a sample of ``steps`` steps: exactly what a file's readout computes.
    """

    def __init__(self, time: Time) -> None:
        super().__init__()
        self.steps = time.steps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mean = x.mean(-1)
        return mean if x.shape[-1] == self.steps else mean * (x.shape[-1] / self.steps)


def absorb(node: Any, time: Time, weights: Matrix) -> None:
    """Multiply the weights before an I node by what the node multiplies their sum by."""
    gain = np.asarray(node.r, np.float64) * time.dt * time.steps
    with torch.no_grad():
        for values in (weights.weight.T, weights.bias):
            if values is not None:
                values.copy_(values.double() * torch.as_tensor(gain))


class LeakyIntegrator(nn.Module):
    """A LI node: the potential after the last step.

    It runs in PyTorch alone: a file's readout adds up all steps alike, so an export is refused.
    """

    decays: torch.Tensor
    gain: torch.Tensor
    offset: torch.Tensor

    def __init__(self, name: str, node: Any, time: Time) -> None:
        super().__init__()
        decays = np.atleast_1d(time.decays(name, "tau", node.tau))
        gain = (1 - decays) * np.asarray(node.r, np.float64)
        offset = (1 - decays) * np.asarray(node.v_leak, np.float64)
        for field, values in (("decays", decays), ("gain", gain), ("offset", offset)):
            self.register_buffer(field, torch.as_tensor(values, dtype=torch.float32))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        age = torch.arange(x.shape[-1] - 1, -1, -1, device=x.device)
        left = self.decays[:, None] ** age
        return ((x * self.gain[:, None] + self.offset[:, None]) * left).sum(-1)


def integrator(name: str, node: Any, time: Time, sources: list[nn.Module], last: bool) -> nn.Module:
    """The module of an I or a LI node, which must be the last one before the output."""
    if not last:
        found = "one before other nodes"
        raise NirError(name, "an integrator at the end of the graph", found, "use spiking neurons")
    if hasattr(node, "tau"):
        return LeakyIntegrator(name, node, time)
    for source in sources:
        if not isinstance(source, Matrix):
            expected = "Linear or Affine before the integrator"
            raise NirError(name, expected, type(source).__name__, "add an identity matrix")
        absorb(node, time, source)
    return Integrator(time)
