"""Several layers at once: the fused pass against one layer after the other, and its dropout."""

from __future__ import annotations

import numba
import numpy as np
import pytest
import torch

from training.functional import BACKENDS, layers
from training.kernels import fused, spike_products
from training.kernels.pool import BufferPool
from training.kernels.tiles import GROUPS, tiles_of
from training.network.network import Network
from training.tests.cases import PARAMS, WIDTH

NEURON = {**PARAMS._asdict(), "width": WIDTH}
WIDTHS = (11, 19, 8)


def parameters(rng, inputs: int, widths=WIDTHS, steps: int = 30) -> list[torch.Tensor]:
    """Weights, biases and TE in float64, all to be differentiated."""
    sizes = list(zip(widths, (inputs, *widths), strict=False))
    arrays = [rng.normal(0.15, 1.2 / np.sqrt(m), (n, m)) for n, m in sizes]
    arrays += [rng.normal(0, 0.1, n) for n in widths]
    arrays.append(rng.normal(0.1, 0.2, (max(widths) + 2, steps + 3)))
    return [torch.from_numpy(array).requires_grad_() for array in arrays]


def run(backend: str, x: torch.Tensor, tensors: list[torch.Tensor], **options):
    """Output, and gradients of a random weighting of it, of input and parameters."""
    torch.manual_seed(5)
    depth = len(tensors) // 2
    weights, biases, te = tensors[:depth], tensors[depth:-1], tensors[-1]
    out = layers(x, weights, biases, te, **NEURON, backend=backend, **options)
    loss = (out * torch.linspace(-1, 1.5, out.numel()).reshape(out.shape)).sum()
    return out.detach(), torch.autograd.grad(loss, (x, *tensors))


OPTIONS = {
    "spikes": {},
    "counts": {"counts": True},
    "dropout": {"dropout": 0.3},
    "tied-dropout": {"dropout": 0.3, "tied_dropout": True, "counts": True},
}


@pytest.mark.parametrize("sparse", [False, True], ids=["products", "rows-added"])
@pytest.mark.parametrize("batch", [1, 3, 4, 22], ids="B{}".format)
@pytest.mark.parametrize("channels", [1, 3], ids="C{}".format)
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
def test_fused_layers_equal_one_after_the_other(rng, monkeypatch, batch, channels, options, sparse):
    monkeypatch.setattr(spike_products, "pays", lambda *given: sparse)
    x = torch.from_numpy(rng.normal(0.4, 1, (batch, channels, 30))).requires_grad_()
    tensors = parameters(rng, channels)
    found, found_grads = run("fused", x, tensors, **options)
    expected, expected_grads = run("reference", x, tensors, **options)
    assert 0.02 < expected.mean() / (30 if options.get("counts") else 1) < 0.9
    # In float64, where another order of a product's sum moves no spike over its threshold.
    assert torch.equal(found, expected)
    for ours, theirs in zip(found_grads, expected_grads, strict=True):
        assert theirs.abs().max() > 0
        # Sums of some thousand products, relative to the largest of the gradients.
        tolerance = 1e-11 * theirs.abs().max().item()
        torch.testing.assert_close(ours, theirs, rtol=0, atol=tolerance)


def test_one_layer_has_nothing_to_drop(rng):
    x = torch.from_numpy(rng.normal(0.4, 1, (6, 2, 30))).requires_grad_()
    tensors = parameters(rng, 2, (7,))
    dropped, plain = run("fused", x, tensors, dropout=0.5), run("fused", x, tensors)
    assert plain[0].any()
    assert torch.equal(dropped[0], plain[0])
    assert all(map(torch.equal, dropped[1], plain[1]))


def test_way_to_multiply_follows_the_firing_rate(rng, monkeypatch):
    taken = []
    for name in ("product", "add_outer"):
        kernel = getattr(spike_products, name)
        monkeypatch.setattr(
            spike_products, name, lambda *a, k=kernel, n=name: taken.append(n) or k(*a)
        )
    x = torch.from_numpy(rng.normal(0.4, 1, (6, 2, 30))).requires_grad_()
    tensors = parameters(rng, 2)
    for bias, expected in ((-9, {"product", "add_outer"}), (9, set())):
        with torch.no_grad():
            tensors[-1].zero_()  # thresholds stay where they are
            for each in tensors[3:6]:
                each.fill_(bias)  # all are silent, then all fire
        taken.clear()
        run("fused", x, tensors)
        assert set(taken) == expected


def test_fused_layers_read_no_uninitialised_memory(rng, monkeypatch):
    x = torch.from_numpy(rng.normal(0.4, 1, (6, 2, 30))).requires_grad_()
    tensors = parameters(rng, 2)
    expected = run("fused", x, tensors, dropout=0.3)
    empty = BufferPool.empty

    def poisoned(self: BufferPool, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        tensor = empty(self, shape, dtype)
        return tensor.fill_(float("nan") if tensor.is_floating_point() else 255)

    monkeypatch.setattr(BufferPool, "empty", poisoned)
    found = run("fused", x, tensors, dropout=0.3)
    assert torch.equal(found[0], expected[0])
    assert all(map(torch.equal, found[1], expected[1]))


def test_a_graph_can_be_walked_twice_and_a_changed_weight_is_noticed(rng):
    x = torch.from_numpy(rng.normal(0.4, 1, (6, 2, 30)))
    *tensors, te = parameters(rng, 2)
    out = layers(x, tensors[:3], tensors[3:], te, **NEURON, backend="fused")
    loss = out.square().sum()
    first = torch.autograd.grad(loss, tensors, retain_graph=True)
    layers(x, tensors[:3], tensors[3:], te, **NEURON, backend="fused")  # takes memory of its own
    assert all(map(torch.equal, torch.autograd.grad(loss, tensors, retain_graph=True), first))
    with torch.no_grad():
        tensors[1] += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


@pytest.mark.parametrize("batch", [1, 2, 5, 8, 15, 16, 17, 67])
def test_blocks_cover_every_sample_once(batch):
    parts = list(tiles_of(batch))
    samples = [i for block in parts for i in range(batch)[block.samples]]
    assert samples == list(range(batch))
    assert all(1 <= block.groups <= GROUPS for block in parts)
    assert all(len(range(batch)[b.samples]) == b.groups * b.size for b in parts)


@pytest.mark.parametrize("readout", ["mean", "last", "steps", "spikes"])
def test_network_gives_the_same_whether_or_not_it_is_watched(rng, readout):
    torch.manual_seed(1)
    net = Network(2, (13, 9), 3, 40, readout=readout).double()
    with torch.no_grad():
        for layer in net.spiking_layers:
            layer.weight *= 2
    x = torch.rand(6, 2, 40, dtype=torch.float64)
    results, watched = [], []
    for watch in (None, watched.append):
        net.watch = watch
        net.zero_grad()
        logits = net(x)
        logits.square().sum().backward()
        results.append((logits.detach(), [p.grad for p in net.parameters()]))
    (plain, gradients), (seen, same) = results
    assert torch.equal(plain, seen)
    assert all(spikes.any() for spikes in watched[0])
    for a, b in zip(gradients, same, strict=True):
        assert a.any()
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-12)  # sums in another order, float64


def test_network_without_gradients_keeps_a_block_only(monkeypatch):
    taken = []
    empty = BufferPool.empty
    monkeypatch.setattr(
        BufferPool,
        "empty",
        lambda self, shape, dtype: taken.append(shape[0]) or empty(self, shape, dtype),
    )
    net = Network(1, (6, 5), 2, 10)
    with torch.no_grad():
        net(torch.rand(100, 1, 10))
    assert max(taken) == 16 * 10 * 6
    taken.clear()
    net(torch.rand(100, 1, 10))
    assert max(taken) == 100 * 10 * 6


def test_hook_on_a_layer_is_called():
    net = Network(1, (6, 5), 2, 10)
    seen = []
    net.layers[1].register_forward_hook(lambda module, args, out: seen.append(out))
    net(torch.rand(3, 1, 10))
    assert len(seen) == 1


BAD = {
    "none": ({"weights": [], "biases": []}, "expected one of each per layer, got 0 and 0"),
    "one-bias": ({"biases": [torch.zeros(4)]}, "one of each per layer, got 2 and 1"),
    "inputs": (
        {"weights": [torch.zeros(4, 3), torch.zeros(5, 4)]},
        r"weights\[0\]: expected \(neurons, 2\) in torch.float32, got \(4, 3\)",
    ),
    "chain": (
        {"weights": [torch.zeros(4, 2), torch.zeros(5, 3)]},
        r"weights\[1\]: expected \(neurons, 4\)",
    ),
    "bias": ({"biases": [torch.zeros(4), torch.zeros(4)]}, r"biases\[1\]: expected 5 values"),
    "te": ({"te": torch.zeros(4, 9)}, r"te: expected at least 5 rows, one per neuron of the x"),
    "dropout": ({"dropout": 1.0}, r"dropout: expected one number in \[0, 1\), got 1"),
    "backend": ({"backend": "magic"}, "backend: expected one of auto"),
}


@pytest.mark.parametrize(("change", "message"), BAD.values(), ids=BAD.keys())
def test_bad_layers_are_named(change, message):
    arguments = {
        "x": torch.zeros(1, 2, 9),
        "weights": [torch.zeros(4, 2), torch.zeros(5, 4)],
        "biases": [torch.zeros(4), torch.zeros(5)],
        "te": torch.zeros(5, 9),
    } | change
    with pytest.raises(ValueError, match=message):
        layers(**arguments)


def test_backends_are_those_of_a_layer():
    assert BACKENDS["fused"] is fused.celif


CONTEXT_CASES = {
    **{name: {"context": name} for name in ("s", "v", "te", "v+te", "s*te")},
    "gamma": {"gamma": 0.2},
    "dropout": {"context": "s*te", "dropout": 0.3},
}


@pytest.mark.parametrize("recurrent", [False, True], ids=["feedforward", "recurrent"])
@pytest.mark.parametrize("options", CONTEXT_CASES.values(), ids=CONTEXT_CASES.keys())
def test_fused_contexts_equal_one_after_the_other(rng, options, recurrent):
    x = torch.from_numpy(rng.normal(0.4, 1, (70, 2, 30))).requires_grad_()
    tensors = parameters(rng, 2)
    own = [None] * 3
    if recurrent:
        own = [torch.from_numpy(rng.normal(0, 0.2, (n, n))).requires_grad_() for n in WIDTHS[:2]]
        own.append(None)
    results = []
    for backend in ("fused", "reference"):
        torch.manual_seed(5)
        out = layers(
            x, tensors[:3], tensors[3:-1], tensors[-1], **NEURON,
            backend=backend, weights_rec=own, **options,
        )  # fmt: skip
        loss = (out * torch.linspace(-1, 1.5, out.numel()).reshape(out.shape)).sum()
        given = [x, *tensors, *(each for each in own if each is not None)]
        grads = torch.autograd.grad(loss, given, allow_unused=True)
        results.append((out.detach(), grads))
    (found, found_grads), (expected, expected_grads) = results
    assert 0.02 < expected.mean() < 0.9
    assert torch.equal(found, expected)
    for ours, plain in zip(found_grads, expected_grads, strict=True):
        if plain is not None:
            torch.testing.assert_close(ours, plain)


@pytest.mark.parametrize("recurrent", [False, True], ids=["feedforward", "recurrent"])
def test_bits_of_adaptive_layers_are_the_same_on_one_thread_and_two(rng, recurrent):
    x = torch.from_numpy(rng.normal(0.4, 1, (19, 2, 30))).float()
    tensors = [tensor.detach().float().requires_grad_() for tensor in parameters(rng, 2, (70, 66))]
    own = [torch.from_numpy(rng.normal(0, 0.1, (70, 70))).float(), None] if recurrent else None
    found, threads = [], numba.get_num_threads()
    for count in (1, min(2, numba.config.NUMBA_NUM_THREADS)):
        numba.set_num_threads(count)
        try:
            options = {"context": "v+te", "weights_rec": own}
            out = layers(x, tensors[:2], tensors[2:4], tensors[4], **NEURON, **options)
            found.append((out, *torch.autograd.grad(out.sum(), tensors)))
        finally:
            numba.set_num_threads(threads)
    assert 0.02 < found[0][0].mean() < 0.9
    assert all(torch.equal(one, two) for one, two in zip(*found, strict=True))
