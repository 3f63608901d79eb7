"""Small NIR graphs, their equations step by step, and the climb of what was read from them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

nir = pytest.importorskip("nir", reason="needs the package nir")

from hw_tests.ladder import climb

DT, STEPS = 1e-3, 24


def lif(n: int, **change) -> nir.LIF:
    values = {
        "tau": np.full(n, 4e-3),
        "r": np.full(n, 2.0),
        "v_leak": np.zeros(n),
        "v_threshold": np.linspace(0.5, 1.0, n),
        "v_reset": np.zeros(n),
    }
    return nir.LIF(**{**values, **change})


def graph(*nodes, inputs=(5,), outputs=(4,), edges=None) -> nir.NIRGraph:
    named = {"input": nir.Input({"input": np.array(inputs)})}
    named |= {f"n{i}": node for i, node in enumerate(nodes)}
    named["output"] = nir.Output({"output": np.array(outputs)})
    names = list(named)
    chain = list(itertools.pairwise(names))
    return nir.NIRGraph(named, chain + (edges or []), type_check=False)


def require_climb(fixed, x: torch.Tensor) -> None:
    """Rungs up to Lava's fixed-point models are equal."""
    pytest.importorskip("lava.magma", reason="Lava is not installed")
    rungs = climb(fixed, fixed.encode(x.numpy())[:1], ("torch", "twin", "lava"))
    assert not [r for r in rungs if r.verdict == "DIFFERS"]
    assert {2, 3} <= {r.rung for r in rungs if r.verdict == "equal"}


def by_hand(weight, node, x, feedback=None, bias=0.0, dt=DT) -> np.ndarray:
    """The equations of a LIF node, step by step, in float64."""
    v = s = np.zeros((len(x), len(weight)))
    out = []
    for t in range(x.shape[2]):
        current = x[:, :, t] @ weight.T + bias
        if feedback is not None:
            current = current + s @ feedback.T
        v = v * (1 - s)
        v = v + dt / node.tau * (node.v_leak - v + node.r * current)
        s = (v >= node.v_threshold).astype(float)
        out.append(s)
    return np.stack(out, 2)
