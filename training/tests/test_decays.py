"""Decays per neuron: every implementation computes them, and they are learnt inside their range."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
import torch

from training import Network, checkpoint, decays
from training.functional import celif, layers
from training.modules import CELIF
from training.tests.cases import PARAMS, WIDTH, inputs
from training.tests.kernels.test_fused import SHAPES, assert_close, weighted


class Result(NamedTuple):
    """Spikes, and gradients of a weighted sum of them."""

    spikes: torch.Tensor
    current: torch.Tensor
    te: torch.Tensor
    bias: torch.Tensor
    alpha: torch.Tensor
    beta: torch.Tensor


def spread(neurons: int, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """α and β of every neuron, all different."""
    alpha = torch.linspace(0.05, 0.95, neurons, dtype=dtype)
    return alpha, torch.linspace(0.99, 0.4, neurons, dtype=dtype)


def run(backend, current, te, alpha, beta, weight_rec=None) -> Result:
    current, te, alpha, beta = (x.clone().requires_grad_() for x in (current, te, alpha, beta))
    bias = torch.linspace(-0.2, 0.3, len(te), dtype=te.dtype, requires_grad=True)
    own = {} if weight_rec is None else {"weight_rec": weight_rec}
    spikes = celif(current, te, alpha, beta, PARAMS.theta0, WIDTH, backend, bias, **own)
    weighted(spikes).backward()
    return Result(spikes.detach(), current.grad, te.grad, bias.grad, alpha.grad, beta.grad)


def assert_same(found: Result, expected: Result) -> None:
    """Spikes bit for bit, gradients to the rounding of what each of them sums."""
    batch, _, steps = expected.current.shape
    assert torch.equal(found.spikes, expected.spikes)
    assert_close(found.current, expected.current, terms=steps)
    assert_close(found.te, expected.te, terms=steps + batch)
    for name in ("bias", "alpha", "beta"):
        assert_close(getattr(found, name), getattr(expected, name), terms=steps * batch)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_fused_equals_the_plain_loop_with_decays_per_neuron(rng, shape, dtype):
    given = (*inputs(rng, *shape, dtype), *spread(shape[1], dtype))
    found, expected = run("fused", *given), run("reference", *given)
    assert_same(found, expected)
    if shape[2] > 1:
        assert found.spikes.any()
        assert found.alpha.any()
        assert found.beta.any()


def test_recurrent_layer_equals_the_plain_loop_with_decays_per_neuron(rng):
    given = (*inputs(rng, 5, 7, 20, torch.float64), *spread(7, torch.float64))
    own = torch.from_numpy(rng.normal(0, 0.4, (7, 7)))
    found, expected = run("fused", *given, own), run("reference", *given, own)
    assert_same(found, expected)
    assert found.alpha.any()
    assert not torch.equal(found.spikes, run("fused", *given).spikes)


@pytest.mark.parametrize("backend", ["fused", "reference"])
def test_equal_decays_give_the_bits_of_one_number(rng, backend):
    current, te = inputs(rng, 6, 9, 30, torch.float32)
    spikes = celif(current, te, 0.3, 0.9, backend=backend)
    each = celif(current, te, torch.full((9,), 0.3), np.full(9, 0.9), backend=backend)
    assert spikes.any()
    assert torch.equal(spikes, each)


@pytest.mark.parametrize("backend", ["fused", "reference"])
def test_single_learnable_number_gets_the_sum_of_the_neurons_gradients(rng, backend):
    current, te = inputs(rng, 4, 6, 25, torch.float64)
    one = torch.tensor(0.6, dtype=torch.float64, requires_grad=True)
    each = torch.full((6,), 0.6, dtype=torch.float64, requires_grad=True)
    for alpha in (one, each):
        weighted(celif(current, te, alpha, width=WIDTH, backend=backend)).backward()
    assert each.grad.any()
    torch.testing.assert_close(one.grad, each.grad.sum())


def test_layers_take_a_decay_for_each(rng):
    x, te = inputs(rng, 3, 8, 20, torch.float32)
    weights = [torch.from_numpy(rng.normal(0, 0.8, s)).float() for s in ((8, 8), (5, 8))]
    biases = [torch.zeros(8), torch.zeros(5)]
    alpha, beta = [0.2, spread(5, torch.float32)[0]], [spread(8, torch.float32)[1], 0.9]
    stack = layers(x, weights, biases, te, alpha, beta, backend="fused")
    for weight, a, b in zip(weights, alpha, beta, strict=True):
        x = celif(torch.matmul(weight, x), te, a, b, backend="reference")
    assert x.any()
    # The products' order of sums may move a V over its threshold: nearly all spikes agree.
    assert (stack != x).float().mean() < 0.01


BAD = {
    "shape": ({"alpha": torch.rand(4)}, r"alpha: expected a number or 3 values, .* got shape \(4,"),
    "in-time": ({"alpha": torch.rand(3, 5)}, r"alpha: .* one per neuron, got shape \(3, 5\)"),
    "high": ({"beta": torch.tensor([0.5, 1.25, 0])}, r"beta: .* in \[0, 1\], got 1.25 among them"),
    "low": ({"beta": [0.5, -0.5, 0]}, r"beta: .* in \[0, 1\], got -0.5 among them"),
    "nan": ({"alpha": torch.tensor([0.5, float("nan"), 0])}, r"alpha: .* got nan among them"),
    "dtype": ({"alpha": torch.rand(3).double()}, r"alpha: .* got torch.float64 .*alpha.to\(cur"),
    "text": ({"alpha": ["slow"] * 3}, r"alpha: expected numbers, one per neuron, got \['slow'"),
}


@pytest.mark.parametrize(("change", "message"), BAD.values(), ids=BAD.keys())
def test_bad_decay_is_named_with_expectation_and_finding(change, message):
    with pytest.raises(ValueError, match=message):
        celif(torch.zeros(2, 3, 5), torch.zeros(3, 5), **change)


def test_learnt_decay_starts_where_told_and_never_leaves_its_range():
    start = (0.001, 0.5, 0.99, 0.9997)
    decay = decays.Decay(start, 4, learnt=True)
    # The logistic function and its inverse are rounded to float32 twice.
    torch.testing.assert_close(decay().detach(), torch.tensor(start), rtol=1e-5, atol=0)
    with torch.no_grad():
        decay.logit.copy_(torch.tensor([-1e4, -20.0, 20.0, 1e4]))
    assert decay().min() >= 0
    assert decay().max() == 4095 / 4096


CONFIGS = {
    "learnt": {"learn_alpha": True, "learn_beta": True},
    "per-neuron": {"alpha": [0.25, np.linspace(0.1, 0.9, 4)], "beta": [[0.9] * 5, 0.5]},
    "learnt-from": {"alpha": [0.25, [0.1, 0.2, 0.3, 0.4]], "learn_alpha": True},
    "lif": {"neuron": "lif", "alpha": [0.25, 0.5], "learn_alpha": True},
    "alif": {"neuron": "alif", "beta": [0.25, 0.5], "learn_beta": True},
    "recurrent": {"learn_alpha": True, "recurrent": True},
    "context": {"learn_beta": True, "context": "s*te"},
}


def made(options: dict, backend: str = "auto") -> Network:
    torch.manual_seed(2)
    net = Network(2, (5, 4), 3, 20, backend=backend, **options)
    with torch.no_grad():
        for layer in net.layers:
            layer.weight.mul_(3)
    return net


@pytest.mark.parametrize("options", CONFIGS.values(), ids=CONFIGS.keys())
def test_network_with_decays_is_the_plain_loop_and_survives_a_checkpoint(options, tmp_path):
    net, plain = made(options), made(options, "reference")
    x = torch.rand(3, 2, 20)
    logits, seen = net(x), []
    assert torch.equal(logits, plain(x))
    net.watch = seen.append
    assert torch.equal(net(x), logits)
    assert all(spikes.any() for spikes in seen[0])
    learnt = {name: p for name, p in net.named_parameters() if "decays" in name}
    assert bool(learnt) == any(name.startswith("learn") for name in options)
    (logits * torch.arange(3.0)).sum().backward()
    assert all(p.grad.any() for p in learnt.values())
    with torch.no_grad():
        for p in learnt.values():
            p.add_(torch.randn_like(p))
    checkpoint.save(tmp_path / "net.safetensors", net)
    again = checkpoint.load(tmp_path / "net.safetensors")
    assert again.config == net.config
    assert torch.equal(again(x), net.eval()(x))


REFUSED = {
    "entries": ({"alpha": [0.1] * 5}, r"alpha: expected a number, or 2 entries, .* got 5; for one"),
    "neurons": ({"alpha": [0.1, [0.2] * 3]}, r"alpha\[1\]: expected a number or 4 values, .*\(3,"),
    "one": ({"beta": [0.1, 1.0]}, r"beta\[1\]: expected one number in \[0, 1\), got 1"),
    "start": ({"alpha": 0.0, "learn_alpha": True}, r"alpha: expected a learnt decay to start abo"),
    "kind": ({"neuron": "lif", "learn_beta": True}, r"learn_beta: .* lif neurons have no beta"),
    "kind-array": ({"neuron": "lif", "beta": [0.1, 0.2]}, r"beta: .* lif neurons have no beta"),
    "parameter": (
        {"alpha": [torch.rand(5, requires_grad=True), 0.2]},
        r"alpha\[0\]: .* requires gradients; .* learn_alpha=True",
    ),
}


@pytest.mark.parametrize(("options", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_network_refuses_decays_by_name(options, message):
    with pytest.raises(ValueError, match=message):
        Network(2, (5, 4), 3, 20, **options)


def test_module_learns_a_decay_for_each_channel(rng):
    current = torch.from_numpy(rng.normal(0.3, 0.5, (2, 3, 4, 2, 12))).float()
    neurons = CELIF(3, 12, alpha=[0.1, 0.5, 0.9], learn_alpha=True, beta=[0.9, 0.8, 0.7])
    spikes = neurons(current)
    weighted(spikes).backward()
    assert neurons.decays["alpha"].logit.grad.all()
    alone = CELIF(1, 12, alpha=neurons.alpha[1].item(), beta=0.8, te=neurons.te[1:2].detach())
    assert torch.equal(spikes[:, 1:2], alone(current[:, 1:2]))
    assert spikes[:, 1].any()
    assert neurons.device_params["alphaMant"].tolist() == [410, 2048, 3686]
    assert neurons.device_params["betaMant"].tolist() == [3686, 3277, 2867]
