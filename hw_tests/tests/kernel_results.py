"""``python -m hw_tests.tests.kernel_results OUT``: run every compiled kernel once, on tiny cases.

With ``NUMBA_DISABLE_JIT=1`` the kernels run as the Python that they are written in. OUT receives
the results by name and the names of all kernels with the number of their calls.
"""

from __future__ import annotations

import functools
import sys
from collections import Counter
from dataclasses import replace

import numba

calls: Counter[str] = Counter()


def counting(njit):
    """Let ``numba.njit`` count the calls of what it makes, before any kernel is defined."""

    def decorate_with(*options, **named):
        def decorate(function):
            name = f"{function.__module__}.{function.__name__}"
            made = njit(*options, **named)(function)
            calls[name] = 0

            @functools.wraps(function)
            def counted(*values):
                calls[name] += 1
                return made(*values)

            return counted

        return decorate

    return decorate_with


numba.njit = counting(numba.njit)

import numpy as np
import torch

from export import Trace, simulate
from export.loihi2 import STATE_MAX
from export.model.celif import CelifLayer
from export.proof.certificate import certify
from export.proof.search import search_layer
from export.steps.celif import IntParams, State
from export.twin.one_step import CelifStep
from export.twin.scans import run_layer
from hw_tests.networks.random_nets import random_network
from hw_tests.networks.random_stacks import LayerSpec, random_stack
from training import functional
from training.baselines.adaptive_neurons import ALIF
from training.baselines.gated_neurons import GLIF, SoftALIF
from training.kernels import adaptive

BATCH, NEURONS, STEPS = 2, 3, 4


def with_gradients(function, *tensors: torch.Tensor) -> list[np.ndarray]:
    """Spikes of ``function`` and the gradients of its arguments."""
    given = [tensor.clone().requires_grad_() for tensor in tensors]
    out = function(*given)
    out.backward(torch.linspace(-1, 1, out.numel(), dtype=out.dtype).view_as(out))
    return [tensor.detach().numpy() for tensor in (out, *(each.grad for each in given))]


def training_results() -> dict[str, list[np.ndarray]]:
    torch.manual_seed(3)
    current = torch.rand(BATCH, NEURONS, STEPS)
    te, weight = torch.randn(NEURONS, STEPS), torch.randn(NEURONS, NEURONS)
    bias = torch.rand(NEURONS)

    def layers(x, first, second, te, **options):
        torch.manual_seed(1)
        return functional.layers(
            x, [first, second], [bias, bias], te, backend="fused", theta0=0.6, **options
        )

    def contextual(x, te, weight, context):
        neuron, coefficients = adaptive.neurons_in(context, te, 0.5, 0.9, 0.3)
        return adaptive.fused(x, te, neuron, coefficients, 0.2, weight)

    stack = current, weight, weight.t().contiguous(), te
    quiet = current, -weight.abs(), weight, te  # silent neurons: sums over spikes, not products
    return {
        "feedforward": with_gradients(functional.celif, current, te),
        "layers": with_gradients(layers, *stack),
        "quiet layers": with_gradients(layers, *quiet),
        "dropout": with_gradients(functools.partial(layers, dropout=0.5), *stack),
        "tied dropout": with_gradients(
            functools.partial(layers, dropout=0.5, tied_dropout=True), *stack
        ),
        "recurrent": with_gradients(
            lambda x, te, w: functional.celif(x, te, weight_rec=w), current, te, weight
        ),
        **{
            f"context {name}": with_gradients(
                functools.partial(contextual, context=name), current, te, weight
            )
            for name in adaptive.CONTEXTS
        },
        **{
            kind.__name__: with_gradients(kind(NEURONS, STEPS), current, weight)
            for kind in (ALIF, GLIF, SoftALIF)
        },
    }


def step_by_step(layer: CelifLayer, trace: Trace) -> list[np.ndarray]:
    """The step that a Lava model in one process calls, driven by the first sample's spikes."""
    step = CelifStep(layer.neurons, IntParams(*map(np.asarray, layer.params)))
    zero = np.zeros(layer.neurons, np.int64)
    state = State(zero + layer.theta0_int, zero.copy(), zero.copy())
    for t in range(STEPS):
        state = step(
            layer.weight @ trace.spikes[0][0, :, t].astype(np.int64), layer.te[:, t], state
        )
    return [state.theta.copy(), state.v.copy()]


def integer_results() -> dict[str, list[np.ndarray]]:
    results = {}
    for kind in ("CELIF", "CUBA", "SDNN"):
        rng = np.random.default_rng(5)
        parts = [LayerSpec(NEURONS, kind), LayerSpec(NEURONS, kind, recurrent=kind != "SDNN")]
        net = random_stack(rng, parts, STEPS, shape=(NEURONS, 1, 1), classes=3 * (kind != "SDNN"))
        x = rng.integers(0, 16, (BATCH, NEURONS, STEPS))
        trace = simulate(net, x, trace=True)
        results[kind] = [trace.logits, *trace.spikes, *trace.v]
        bounds = [r.largest for layer in certify(net).layers for r in layer.registers]
        results[f"{kind} certificate"] = [np.array(bounds)]
        if kind == "CELIF":
            found = search_layer(net.layers[0], *net.encoding.range, STEPS, rng)
            results[f"{kind} search"] = [np.array(list(found.largest.values()))]
            results[f"{kind} step by step"] = step_by_step(net.layers[0], trace)
    return {**results, "saturations": [saturations()]}


def saturations() -> np.ndarray:
    """How often registers stand at their ends, V and Θ of a neuron at once included."""
    rng = np.random.default_rng(0)
    layer = random_network(rng, (NEURONS,), STEPS, fraction_bits=16).layers[0]
    layer = replace(layer, theta0_int=STATE_MAX, te=np.zeros_like(layer.te))
    acc = rng.integers(-(1 << 24), 1 << 24, (BATCH, STEPS, NEURONS)).astype(np.float64)
    run = run_layer(layer, acc, keep=True)
    v, theta = np.abs(run.v) == STATE_MAX, np.abs(run.theta) == STATE_MAX
    assert (v & theta).any()
    assert run.saturated == v.sum() + theta.sum()
    return np.array(run.saturated)


if __name__ == "__main__":
    results = {**training_results(), **integer_results()}
    arrays = {f"{name} {i}": a for name, each in results.items() for i, a in enumerate(each)}
    np.savez(sys.argv[1], **arrays, calls=np.array([f"{n} {k}" for n, k in calls.items()]))
