"""Why networks start without biases: gradients of fresh networks against β and biases.

A neuron whose current is constant and too low to fire rests at V = I/(1 − α), and its threshold at
Θ = Θ0 + V·TE/(1 − β). With the paper's β = 0.99 and TE near 0.01, TE/(1 − β) is about 1: Θ follows
V one to one, and V − Θ stays near −Θ0 however low V is, so that a TE a little above 0.01 keeps the
neuron inside the surrogate's box |V − Θ| < Γ. There every step multiplies the gradient of V::

    GV[t] = GS[t] + α·GV[t+1] + …,  GS[t] = … − α·V[t]·GV[t+1]   gives   GV[t] ≈ α·(1 − V)·GV[t+1]

With α = 0.5 that is growth for every V below −1, over hundreds of steps. torch draws the biases of
a first layer with one input from −1 to 1, which makes V as low as −2 where the input is 0. With
β = 0.98, the value in the authors' later code, Θ moves by half of V, and a low V is far outside of
the box; without biases V does not get that low. Norms are those of the gradient of all parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from torch import nn
from torch.nn import functional as F

from celif.experiments.machinery.drawing import WIDTH, plain
from celif.experiments.machinery.experiment import Claim, Experiment, Outcome, Row, Settings
from celif.views.pictures import FIXED, FLOAT
from training import Network, functional, tasks
from training.dynamics import Params
from training.kernels import reference

BETAS = (0.99, 0.985, 0.98)
ABOUT = """\
CE-LIF networks start with hidden biases at zero here, which the paper does not say of its own. This
is why. A neuron whose constant current is too low to fire rests at V = I/(1 − α), and its threshold
at Θ = Θ0 + V·TE/(1 − β). The paper's β = 0.99 and TE ≈ 0.01 = 1 − β make Θ follow V one to one:
V − Θ stays near −Θ0 = −0.3 however low V is, and a TE a little above 0.01 keeps it inside the
surrogate's box of ±0.2. There a step back in time multiplies the gradient of V by about α·(1 − V),
which is growth for every V below −1, over hundreds of steps. Such a V needs a negative bias: torch
draws those of a first layer with one input from −1 to 1. With β = 0.98, the value in the authors'
later code, Θ follows V by half, and a low V is far outside of the box; β = 0.985 is enough. There
are thus two remedies, biases at zero or a smaller β. Gradients of this size may be why the paper
trains at a rate as small as 5e-4; no network with such biases was trained to the end here, so that
it is open whether the paper's start works at its rate."""
SIDE = 28
STEPS = SIDE * SIDE


@dataclass(frozen=True)
class Start:
    """A way to start a network: its threshold decay, and whether torch draws its biases."""

    beta: float
    biased: bool

    @property
    def label(self) -> str:
        """Name of a row."""
        return f"β = {self.beta:g}, {'torch’s biases' if self.biased else 'biases at zero'}"


STARTS = tuple(Start(beta, biased) for biased in (True, False) for beta in BETAS)


def images(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return bundled digits, enlarged to MNIST's 28×28 pixels, as sequences of 784 steps."""
    task = tasks.load("digits")
    x, y = task.train.x[:count], task.train.y[:count]
    small = x.unflatten(-1, (8, 8))
    large = F.interpolate(small, size=(SIDE, SIDE), mode="nearest")
    return large.flatten(-2), y


def network(start: Start, hidden: tuple[int, ...], seed: int) -> Network:
    """Make a fresh network; the same seed draws the same weights, TE and biases."""
    torch.manual_seed(seed)
    net = Network(1, hidden, 10, STEPS, beta=start.beta)
    if start.biased:
        layer: Any
        for layer in net.layers:
            bound = layer.in_features**-0.5  # as torch draws the biases of a linear layer
            nn.init.uniform_(layer.bias, -bound, bound)
    return net


def gradient_norm(net: Network, x: torch.Tensor, y: torch.Tensor) -> float:
    """Return the norm of the gradient of all parameters, in double precision."""
    net.zero_grad()
    F.cross_entropy(net(x), y).backward()
    grads = [p.grad for p in net.parameters() if p.grad is not None]
    squares = ((grad.double() ** 2).sum() for grad in grads)
    return float(torch.sqrt(sum(squares, torch.zeros((), dtype=torch.float64))))


@torch.no_grad()
def growing_share(net: Network, x: torch.Tensor) -> float:
    """Return the share of the first layer's steps with V < −1 inside the surrogate's box."""
    layer: Any = net.layers[0]
    neuron = net.neuron
    current = F.linear(x.transpose(1, 2), layer.weight, layer.bias).transpose(1, 2)
    te = net.te_table[: layer.out_features]
    p = Params(neuron["alpha"], neuron["beta"], neuron["theta0"])
    states = reference.scan(current, te, p, neuron["width"])
    inside = (states.v - states.theta).abs() < neuron["width"]
    return float((inside & (states.v < -1)).double().mean())


def run(settings: Settings) -> Outcome:
    """Measure fresh networks of the paper's two sizes; quick: fewer of the smaller one."""
    sizes = ((64, 88, 88),) if settings.quick else ((64, 88, 88), (64, 152, 152))
    seeds, batch = range(3 if settings.quick else 12), 32
    x, y = images(batch)
    norms: dict[Start, list[float]] = {start: [] for start in STARTS}
    shares: dict[Start, list[float]] = {start: [] for start in STARTS}
    for hidden in sizes:
        for seed in seeds:
            for start in STARTS:
                net = network(start, hidden, seed)
                norms[start].append(gradient_norm(net, x, y))
                shares[start].append(growing_share(net, x[:4]))
    budget = (
        f"{len(norms[STARTS[0]])} fresh networks per start, hidden "
        f"{' and '.join(map(str, sizes))}, T = {STEPS}, batch {batch} of enlarged 8×8 digits, "
        f"TE ~ N(0.01, 0.01), Γ = {functional.WIDTH:g}; nothing is trained"
    )
    return _outcome(norms, shares, budget)


def _outcome(
    norms: dict[Start, list[float]], shares: dict[Start, list[float]], budget: str
) -> Outcome:
    rows = []
    for start, values in norms.items():
        logs, growing = np.log10(values), 100 * float(np.mean(shares[start]))
        note = (
            f"from 10^{logs.min():.1f} to 10^{logs.max():.1f}; {growing:.2g} % of the first "
            "layer's steps enlarge gradients"
        )
        rows.append(
            Row(f"{start.label}: median gradient norm", float(np.median(values)), note=note)
        )
    paper, later = Start(0.99, True), Start(0.98, True)
    zero = Start(0.99, False)
    claims = [
        Claim("β = 0.99 with torch's biases: every norm exceeds 1,000", min(norms[paper]) > 1e3),
        Claim("β = 0.98 with torch's biases: every norm is below 10", max(norms[later]) < 10),
        Claim("β = 0.99 with biases at zero: every norm is below 10", max(norms[zero]) < 10),
    ]
    numbers: dict[str, Any] = {
        start.label: {"norms": norms[start], "growing_share": shares[start]} for start in norms
    }
    notes = [
        "Steps that enlarge gradients are those with V < −1 inside the surrogate's box, where "
        "each step back multiplies the gradient of V by about α·(1 − V) > 1.",
    ]
    return Outcome(rows, claims, budget, _figure(norms, shares), numbers, notes)


def _figure(norms: dict[Start, list[float]], shares: dict[Start, list[float]]) -> Figure:
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(WIDTH, 3), layout="constrained", sharey=True
    )
    for i, (start, values) in enumerate(norms.items()):
        colour = FIXED if start.biased else FLOAT
        left.plot(np.log10(values), np.full(len(values), i), "o", ms=4, alpha=0.6, color=colour)
        right.barh(i, 100 * np.mean(shares[start]), 0.6, color=colour)
    left.set_yticks(range(len(norms)), [start.label for start in norms])
    left.invert_yaxis()
    plain((left, right), "x")
    left.set(xlabel="log₁₀ of the gradient's norm, a point per network")
    right.set(xlabel="steps of the first layer that enlarge gradients, %")
    return figure


EXPERIMENT = Experiment(
    "stability", "Gradients of fresh networks, β and biases", run,
    item="Not in the paper", size="the paper's networks and T", about=ABOUT,
)  # fmt: skip
