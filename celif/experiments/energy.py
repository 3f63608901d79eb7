"""The paper's energy per time step, and operations counted in a trained network.

A layer of m inputs and n neurons, rates as spikes of a neuron and step, E_AC and E_MAC of
:mod:`export.fit.energy`::

    LSTM      (4(mn + nn) + 17n)·E_MAC
    LIF       (mn·Fr_in + (nn + n)·Fr_out)·E_AC + n·E_MAC         recurrent
    ALIF      (mn·Fr_in + (nn + 2n)·Fr_out)·E_AC + 4n·E_MAC       recurrent
    CE-LIF    (mn·Fr_in + n·Fr_out)·E_AC + 3n·E_MAC               feedforward

The paper calls the result the energy of "one inference"; its numbers are those of one time step.
Counted here are the first layer's products as mn multiplications, because a pixel is no spike; nn
in all spiking layers but the last, as in the paper's recurrent networks; and the classifier's
additions, one per synapse and spike. The LSTM has three layers and about as many parameters as the
spiking networks, as the paper says of its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from celif.experiments.machinery.drawing import SMALL, WIDTH, legend, plain
from celif.experiments.machinery.experiment import Claim, Experiment, Outcome, Row, Settings, model
from celif.experiments.machinery.runs import train
from celif.verification.float_run import run_float
from celif.views.pictures import FIXED, FLOAT, GREY
from export import read_netx, simulate, to_netx
from export.fit.energy import ADD_PJ, MULTIPLY_PJ, count
from training import Network, checkpoint, tasks
from training.trainer.loop import start
from training.trainer.recipe import Recipe

PAPER = {"LSTM": 774.9, "LIF": 24.1, "ALIF": 22.9, "CE-LIF": 13.5}
"""Energy in nJ per time step."""
CE_LIF_RATES, LIF_RATES = (0.22, 0.23, 0.44), (0.22, 0.145, 0.004)
WIDE, LARGE = (64, 256, 256), (64, 152, 152)
LSTM_WIDTHS = (88, 88, 88)
"""Three layers, 157 thousand parameters; the paper gives depth and parameters, not the widths."""
SMALL_LSTM = 128
"""Cells of one layer of 68 thousand parameters; the paper's first table cites an LSTM of 66.5."""
CLASSES = 10


@dataclass(frozen=True)
class Cost:
    """Operations of a neuron itself: additions per spike, multiplications per step."""

    additions: int
    multiplications: int
    recurrent: bool


COSTS = {"LIF": Cost(1, 1, True), "ALIF": Cost(2, 4, True), "CE-LIF": Cost(1, 3, False)}


def spiking_nj(kind: str, widths: Sequence[int], rates: Sequence[float], inputs: int = 1) -> float:
    """Energy of a step of spiking layers and a classifier of ten."""
    cost, added, multiplied, below = COSTS[kind], 0.0, float(inputs * widths[0]), 0.0
    for i, (n, rate) in enumerate(zip(widths, rates, strict=True)):
        m = 0 if i == 0 else widths[i - 1]
        own = n * n if cost.recurrent and i < len(widths) - 1 else 0
        added += m * n * below + (own + cost.additions * n) * rate
        multiplied += cost.multiplications * n
        below = rate
    added += widths[-1] * CLASSES * below
    return (added * ADD_PJ + multiplied * MULTIPLY_PJ) / 1e3


def lstm_nj(widths: Sequence[int], inputs: int = 1) -> float:
    """Energy of a step of LSTM layers and a classifier of ten."""
    multiplied = widths[-1] * CLASSES
    for below, n in itertools.pairwise((inputs, *widths)):
        multiplied += 4 * (below * n + n * n) + 17 * n
    return multiplied * MULTIPLY_PJ / 1e3


def rate_for(kind: str, widths: Sequence[int], nj: float) -> float:
    """Return the firing rate, the same in all layers, at which the formula gives ``nj``."""
    silent, busy = (spiking_nj(kind, widths, [rate] * len(widths)) for rate in (0.0, 1.0))
    return (nj - silent) / (busy - silent)


def counted_synops(net: Network, x: np.ndarray) -> tuple[list[float], list[float]]:
    """Rates and synaptic operations a step of the float network, layer by layer, readout last."""
    spikes = [layer.spikes for layer in run_float(net, x).layers]
    sizes = [*net.config.hidden, net.config.classes]
    events = [np.count_nonzero(x), *(np.count_nonzero(each) for each in spikes)]
    steps = x.shape[0] * x.shape[2]
    rates = [float(each.mean()) for each in spikes]
    return rates, [float(e) * n / steps for e, n in zip(events, sizes, strict=True)]


def run(settings: Settings) -> Outcome:
    """The paper's four rows, then our network in float and in integers."""
    computed = {
        "LSTM": lstm_nj(LSTM_WIDTHS),
        "LIF": spiking_nj("LIF", WIDE, LIF_RATES),
        "ALIF": spiking_nj("ALIF", WIDE, LIF_RATES),
        "CE-LIF": spiking_nj("CE-LIF", LARGE, CE_LIF_RATES),
    }
    net, file, x, budget = _network(settings)
    rates, synops = counted_synops(net, x)
    fixed = read_netx(file)
    activity = count(fixed, x, simulate(fixed, fixed.encode(x), trace=True))
    integers = [layer.synops for layer in activity]
    widths = net.config.hidden
    ours = {
        "float": spiking_nj("CE-LIF", widths, rates),
        "8-bit": spiking_nj("CE-LIF", widths, [layer.rate for layer in activity[: len(widths)]]),
    }
    assumed = {"LSTM": f"layers of {list(LSTM_WIDTHS)}", "ALIF": "LIF's rates"}
    rows = [
        Row(f"{name}, {assumed.get(name, 'the paper’s rates')}", computed[name], PAPER[name], "nJ")
        for name in PAPER
    ]
    rows.append(
        Row(f"LSTM, one layer of {SMALL_LSTM}, not in the paper", lstm_nj([SMALL_LSTM]), unit="nJ")
    )
    paper = PAPER["CE-LIF"] if tuple(widths) == LARGE else None
    rows += [
        Row(f"CE-LIF {widths}, our rates, {name}", nj, paper, "nJ") for name, nj in ours.items()
    ]
    rows += [
        Row(
            "LSTM's energy divided by CE-LIF's, the paper's rates",
            computed["LSTM"] / computed["CE-LIF"],
            PAPER["LSTM"] / PAPER["CE-LIF"],
            "times",
        ),
        Row(
            "LSTM's energy divided by CE-LIF's, our rates in float",
            computed["LSTM"] / ours["float"],
            None,  # the paper's is by its own rates
            "times",
        ),
        Row(
            "firing rate of all layers at which ALIF's formula gives the paper's energy",
            rate_for("ALIF", WIDE, PAPER["ALIF"]),
        ),
        Row("synaptic operations a step, float", sum(synops)),
        Row("synaptic operations a step, 8-bit file", sum(integers)),
        *(
            Row(f"firing rate, layer {i}", rate, CE_LIF_RATES[i])
            for i, rate in enumerate(rates[:3])
        ),
    ]
    # Not ALIF, whose rates are not known.
    near = {name: abs(computed[name] / PAPER[name] - 1) for name in PAPER if name != "ALIF"}
    claims = [
        Claim(
            f"{name}: {assumed.get(name, 'the paper’s rates')} give the paper's energy within 10 %",
            error < 0.1,
        )
        for name, error in near.items()
    ]
    if not settings.quick:
        claims.append(
            Claim(
                "an LSTM of these widths costs more than 50 times as much as CE-LIF at the rates "
                "of this network",
                computed["LSTM"] > 50 * ours["float"],
            )
        )
    claims.append(
        Claim(
            "float and 8-bit file do the same work, within 5 %",
            abs(sum(integers) / sum(synops) - 1) < 0.05,
        )
    )
    numbers = {"rates": rates, "synops_float": synops, "synops_8bit": integers, "nj": computed}
    notes = [
        "Counted: the first layer's products as multiplications (a pixel is no spike), recurrent "
        "weights in all layers but the last, the classifier's additions; [64, 256, 256] for LIF "
        "and ALIF, [64, 152, 152] for CE-LIF.",
        "ALIF's rates are not published: with LIF's, which the paper gives, its formula comes to "
        "more than the paper's number; a uniform rate, in a row of its own, would give it. The "
        f"LSTM's widths are not published either: {list(LSTM_WIDTHS)} is the paper's depth and "
        f"number of parameters. One layer of {SMALL_LSTM} cells has about as many parameters as "
        "the LSTM that the paper's first table cites, and takes less than half of that energy.",
        "A synaptic operation is an event at a synapse: a pixel that is not 0, or a spike.",
    ]
    if not settings.quick:
        notes.append(
            "Rates depend on the training. This network had a teacher and adversarial inputs. One "
            "without a teacher, models/seq-mnist-152-adversarial, fired at 11.1, 21.4 and 43.6 %, "
            "which gave 11.48 nJ; an LSTM's energy was 64.3 times that ("
            "docs/results/energy.json in commit 88dec5f). "
            "One trained with shifted images fired at 18.7, 35.7 and 46.9 %, which gave 15.20 nJ "
            "and 48.6 times (the same file in commit cffbf63)."
        )
    figure = _figure(computed, ours, synops, integers)
    return Outcome(rows, claims, budget, figure, numbers, notes)


def _network(settings: Settings) -> tuple[Network, Path, np.ndarray, str]:
    """A trained network, its 8-bit file, and test samples to count on."""
    if not settings.quick:
        net = checkpoint.load(model("seq-mnist-152.safetensors"))
        x = tasks.load("seq-mnist", settings.data).test.x[:500].numpy()
        budget = (
            "models/seq-mnist-152, hidden (64, 152, 152), counted on 500 test images of Seq-MNIST"
        )
        return net, model("seq-mnist-152.net"), x, budget
    task, recipe = tasks.load("digits"), Recipe(epochs=6, batch=64)
    net = start(task, (48, 48, 48), recipe)
    train("training", net, task, recipe, settings.out)
    file = settings.out / "net.net"
    to_netx(net, file, calibration=task.train.x[:256])
    budget = "sequential digits, hidden (48, 48, 48), 6 epochs of batch 64, 200 test images"
    return net, file, task.test.x[:200].numpy(), budget


def _figure(
    computed: dict[str, float],
    ours: dict[str, float],
    synops: list[float],
    integers: list[float],
) -> Figure:
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(WIDTH, 3.4), width_ratios=(1.5, 1), layout="constrained"
    )
    # Points, because a bar on a logarithmic scale begins where one likes.
    place = np.arange(len(PAPER))
    series = (
        ("paper", place - 0.12, list(PAPER.values()), GREY, -1),
        ("the paper's formulas, recomputed", place + 0.12, [computed[n] for n in PAPER], FLOAT, 1),
        ("our rates", len(PAPER) + np.arange(len(ours)), list(ours.values()), FIXED, 1),
    )
    for label, at, values, colour, side in series:
        left.plot(at, values, "o", color=colour, label=label)
        for x, nj in zip(at, values, strict=True):
            left.annotate(f"{nj:.4g}", (x, nj), (0, 10 * side), textcoords="offset points",
                          ha="center", va="center", color=colour, fontsize=SMALL)  # fmt: skip
    names = [*PAPER, *(f"CE-LIF,\n{name}" for name in ours)]
    left.set_xticks(range(len(names)), names)
    left.set_xlim(-0.6, len(names) - 0.4)
    left.set(yscale="log", ylabel="nJ per time step, 45 nm")
    left.margins(y=0.15)
    legend(left)
    layers = np.arange(len(synops))
    right.bar(layers - 0.2, synops, 0.4, color=FLOAT, label="float")
    right.bar(layers + 0.2, integers, 0.4, color=FIXED, label="8-bit file")
    right.set_xticks(layers, [*(f"layer {i}" for i in layers[:-1]), "readout"])
    right.set_ylabel("synaptic operations a step")
    legend(right)
    plain((left, right))
    return figure


EXPERIMENT = Experiment(
    "energy",
    "Energy per time step, and synaptic operations counted",
    run,
    item="Supplement",
    about=f"An accumulate (AC) takes {ADD_PJ:g} pJ and a multiply-accumulate (MAC) "
    f"{MULTIPLY_PJ:g} pJ, in 45 nm. A step of a layer of n neurons with m inputs takes, with "
    "firing rates Fr of the inputs and of the layer: LSTM 4(mn + nn) + 17n MACs; LIF mn·Fr_in + "
    "(nn + n)·Fr_out ACs and n MACs; ALIF mn·Fr_in + (nn + 2n)·Fr_out and 4n; CE-LIF mn·Fr_in + "
    "n·Fr_out and 3n.",
)
