"""Edges and names of a NIR graph: each one counts, or the graph is refused by name."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

nir = pytest.importorskip("nir", reason="needs the package nir")

from celif import from_nir
from celif.interchange.nodes import NirError
from celif.tests.interchange.graphs import DT, STEPS, by_hand, lif

N = 5


def weights(scale: float = 1.0) -> nir.Linear:
    return nir.Linear(weight=scale * np.eye(N))


def integrate_and_fire() -> nir.IF:
    return nir.IF(r=np.full(N, 1 / DT), v_threshold=np.full(N, 2.0), v_reset=np.zeros(N))


def linked(edges: str, **nodes) -> nir.NIRGraph:
    """A graph of the nodes and of i and o, with edges such as ``"i-w w-o"``."""
    ends = {"i": nir.Input({"input": np.array([N])}), "o": nir.Output({"output": np.array([N])})}
    pairs = [(a, b) for a, b in (edge.split("-") for edge in edges.split())]
    return nir.NIRGraph({**ends, **nodes}, pairs, type_check=False)


def spikes(graph: nir.NIRGraph, x: torch.Tensor) -> np.ndarray:
    with torch.no_grad():
        return from_nir(graph, DT, STEPS)(x).numpy()


REFUSED = {
    "loop-and-input": (
        "i-w w-l l-w l-o",
        {"w": weights(), "l": lif(N)},
        "NIR node w: expected no edges but those from and to l .* got i → w",
    ),
    "loop-and-next": (
        "i-w w-l l-r r-l r-m m-o",
        {"w": weights(), "r": weights(), "l": lif(N), "m": lif(N)},
        "NIR node r: expected no edges but .* got r → m",
    ),
    "loop-of-cuba-and-input": (
        "i-w w-l l-r r-l l-o i-r",
        {"w": weights(), "r": weights(), "l": integrate_and_fire()},
        "NIR node r: expected no edges but .* got i → r",
    ),
    "two-loops": (
        "i-w w-l l-r r-l l-q q-l l-o",
        {"w": weights(), "r": weights(), "q": weights(), "l": lif(N)},
        "NIR node l: expected one loop, got those of r and q",
    ),
    "cuba-tree": (
        "i-w w-l w-v v-m m-o",
        {"w": weights(), "v": weights(), "l": integrate_and_fire(), "m": integrate_and_fire()},
        "NIR node i: expected a chain from one input to one output",
    ),
    "two-inputs": (
        "i-w j-v w-l v-l l-o",
        {"j": nir.Input({"input": np.array([N])}), "w": weights(), "v": weights(), "l": lif(N)},
        "NIR node i and j: expected one input, got 2 inputs: i, j",
    ),
    "no-source": (
        "i-w w-l c-l l-o",
        {"w": weights(), "c": weights(), "l": lif(N)},
        "NIR node c: expected an edge into every node but the input, got none",
    ),
    "input-fed": (
        "c-i i-w w-l l-o",
        {"w": weights(), "c": weights(), "l": lif(N)},
        "NIR node i: expected an input without edges into it",
    ),
    "two-outputs": (
        "i-w w-l l-o l-p",
        {"p": nir.Output({"output": np.array([N])}), "w": weights(), "l": lif(N)},
        "NIR node o and p: expected one output, got 2 outputs: o, p",
    ),
    "inner-without-source": (
        "i-w w-l g-l l-o",
        {"g": linked("i-w w-o", w=weights()), "w": weights(), "l": lif(N)},
        r"NIR node g\.i: expected edges into and out of it",
    ),
    "one-name-twice": (
        "i-g g-g.w g.w-l l-o",
        {"g": linked("i-w w-o", w=weights()), "g.w": weights(), "l": lif(N)},
        r"NIR node g\.w: expected a name of its own",
    ),
}


@pytest.mark.parametrize(("edges", "nodes", "message"), REFUSED.values(), ids=REFUSED)
def test_edges_that_would_be_lost_are_refused(edges, nodes, message):
    with pytest.raises(NirError, match=message):
        from_nir(linked(edges, **nodes), DT, STEPS)


@pytest.mark.parametrize(("first", "second"), [("a.b", "a_b"), ("type", "keys"), ("a_b", "a.b")])
def test_names_of_nodes_do_not_collide(x, first, second):
    node = lif(N)
    made = linked(
        f"i-{first} {first}-{second} {second}-l l-o",
        **{first: weights(0.1), second: weights(8.0), "l": node},
    )
    expected = by_hand(0.8 * np.eye(N), node, x.numpy().astype(float))
    assert 0.02 < expected.mean() < 0.9
    assert (spikes(made, x) == expected).mean() > 0.99


def test_inner_graph_is_what_it_is_without_a_border(rng, x):
    own, node = rng.normal(0, 1, (N, N)), lif(N)
    recurrent = linked("i-l l-r r-l l-o", l=node, r=nir.Linear(weight=own))
    twice = linked("i-w w-g g-o", w=weights(4.0), g=recurrent)
    expected = by_hand(4 * np.eye(N), node, x.numpy().astype(float), own)
    assert 0.02 < expected.mean() < 0.9
    for made in (
        linked("i-w w-g g-o", w=weights(4.0), g=recurrent),
        linked("i-g g-o", g=twice),
    ):
        assert (spikes(made, x) == expected).mean() > 0.99


def test_inner_graph_of_a_cuba_chain_is_read(x):
    pytest.importorskip("lava.lib.dl.slayer", reason="Lava is not installed")
    plain = linked("i-w w-l l-o", w=weights(), l=integrate_and_fire())
    expected = spikes(plain, x)
    assert expected.any()
    np.testing.assert_array_equal(spikes(linked("i-g g-o", g=plain), x), expected)


def test_cuba_chain_is_read_in_a_fresh_process():
    pytest.importorskip("lava.lib.dl.slayer", reason="Lava is not installed")
    file = Path(__file__).parent / "data" / "spikingjelly-if.nir"
    code = f"from celif import from_nir; print(len(from_nir({str(file)!r}, dt=1e-4, steps=20)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0
