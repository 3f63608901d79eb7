"""The fused kernel against the plain loop: spikes bit for bit, gradients to rounding."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from training.kernels import fused, reference
from training.kernels.pool import BufferPool
from training.tests.cases import PARAMS, WIDTH, hypothesis_settings, inputs


class Result(NamedTuple):
    """Spikes, and gradients of a random weighting of them."""

    spikes: torch.Tensor
    current: torch.Tensor
    te: torch.Tensor
    bias: torch.Tensor


def weighted(values: torch.Tensor) -> torch.Tensor:
    """A sum in which every value counts differently."""
    weights = torch.linspace(-1, 1.5, values.numel(), dtype=values.dtype)
    return (values * weights.reshape(values.shape)).sum()


def run(backend, current, te, width: float = WIDTH, loss=weighted) -> Result:
    current, te = current.clone().requires_grad_(), te.clone().requires_grad_()
    bias = torch.linspace(-0.2, 0.3, len(te), dtype=te.dtype, requires_grad=True)
    spikes = backend.celif(current, te, PARAMS, width, bias)
    loss(spikes).backward()
    return Result(spikes.detach(), current.grad, te.grad, bias.grad)


def assert_close(found: torch.Tensor, expected: torch.Tensor, terms: int) -> None:
    """Equal but for rounding: each of the ``terms`` summed may be off by half an eps, 8 times.

    Eight is the number of roundings in a step of the backward pass; the errors are relative to
    the largest gradient, of which the smaller ones are differences.
    """
    assert found.dtype == expected.dtype
    largest = expected.abs().max().item()
    tolerance = 8 * terms * torch.finfo(expected.dtype).eps / 2 * largest
    torch.testing.assert_close(found, expected, rtol=0, atol=tolerance)


def assert_same(found: Result, expected: Result) -> None:
    """Spikes bit for bit, gradients to the rounding of what each of them sums."""
    batch, _, steps = expected.current.shape
    assert torch.equal(found.spikes, expected.spikes)
    assert_close(found.current, expected.current, terms=steps)
    assert_close(found.te, expected.te, terms=steps + batch)
    assert_close(found.bias, expected.bias, terms=steps * batch)


SHAPES = {
    "one-step": (4, 9, 1),
    "one-neuron": (4, 1, 20),
    "one-of-all": (1, 1, 1),
    "one-sample": (1, 16, 20),
    "odd-width": (5, 13, 20),
    "odd-group": (19, 8, 20),
    "more-than-a-block": (37, 8, 20),
    "wide": (8, 70, 5),
    "many": (16, 64, 60),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_fused_equals_reference(rng, shape, dtype):
    current, te = inputs(rng, *shape, dtype)
    found, expected = run(fused, current, te), run(reference, current, te)
    assert_same(found, expected)
    assert found.spikes.any() or shape == (1, 1, 1)
    assert found.current.any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
def test_fused_equals_reference_where_v_is_theta(dtype):
    # Without TE, Θ stays Θ0; a neuron that fires at every step has V = I, which is Θ0 here.
    bias = torch.linspace(-0.2, 0.3, 5, dtype=dtype)  # as in ``run``
    current = (torch.tensor(PARAMS.theta0, dtype=dtype) - bias).repeat(3, 6, 1).transpose(1, 2)
    te = torch.zeros(5, 6, dtype=dtype)
    states = reference.scan(current + bias[:, None], te, PARAMS, WIDTH)
    tied = states.v == states.theta
    assert tied.any((0, 2)).sum() >= 3
    found = run(fused, current, te)
    assert_same(found, run(reference, current, te))
    assert found.spikes[tied].all()


@hypothesis_settings
@given(
    shape=st.tuples(st.integers(1, 20), st.integers(1, 20), st.integers(1, 12)),
    seed=st.integers(0, 1 << 16),
    width=st.floats(0, 2),
)
def test_fused_equals_reference_for_any_shape(shape, seed, width):
    current, te = inputs(np.random.default_rng(seed), *shape, torch.float64)
    assert_same(run(fused, current, te, width), run(reference, current, te, width))


# Losses whose gradients reach the kernel as expanded tensors, with strides of 0.
LOSSES = {
    "rates": lambda spikes: weighted(spikes.sum(-1)),
    "population": lambda spikes: weighted(spikes.sum(1)),
    "batch": lambda spikes: weighted(spikes.sum(0)),
    "all": lambda spikes: spikes.sum() * 0.7,
    "last-step": lambda spikes: weighted(spikes[..., -1]),
}


@pytest.mark.parametrize("steps", [1, 2, 20], ids="T{}".format)
@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES.keys())
def test_fused_takes_gradients_of_any_stride(rng, loss, steps):
    current, te = inputs(rng, 19, 9, steps, torch.float64)
    found = run(fused, current, te, loss=loss)
    assert_same(found, run(reference, current, te, loss=loss))
    assert found.current.any()


def test_fused_gradients_reach_weights_and_biases(rng):
    x, te = inputs(rng, 6, 10, 30, torch.float32)
    grads = []
    for backend in (fused, reference):
        torch.manual_seed(1)
        layer = torch.nn.Linear(10, 7)
        current = layer(x.transpose(1, 2)).transpose(1, 2)
        spikes = backend.celif(current, te[:7], PARAMS, WIDTH)
        weighted(spikes).backward()
        grads.append((layer.weight.grad, layer.bias.grad))
        assert 0.02 < spikes.mean() < 0.98
    for found, expected in zip(*grads, strict=True):
        assert expected.abs().min() > 0
        assert_close(found, expected, terms=30 * 6)  # a sum over steps and samples


def test_fused_backward_is_the_adjoint_of_the_linearised_recurrence(rng):
    """⟨r, J·u⟩ = ⟨Jᵀ·r, u⟩ with J·u worked forwards in time from PAPER's equations.

    Finite differences cannot check the surrogate: the spikes are constant almost everywhere, so
    their difference quotients are 0 or ∞, never the boxcar.
    """
    current, te = inputs(rng, 3, 11, 25, torch.float64)
    found = run(fused, current, te)
    bias = torch.linspace(-0.2, 0.3, 11, dtype=torch.float64)  # as in ``run``
    states = reference.scan(current + bias[:, None], te, PARAMS, WIDTH)
    u_current, u_te = (torch.from_numpy(rng.normal(size=t.shape)) for t in (current, te))
    zero = torch.zeros(3, 11, dtype=torch.float64)
    d_theta = d_v = d_s = v = s = zero
    forwards = torch.zeros((), dtype=torch.float64)
    r = torch.linspace(-1, 1.5, states.s.numel(), dtype=torch.float64).reshape(states.s.shape)
    for t in range(25):
        d_theta = PARAMS.beta * d_theta + u_te[:, t] * v + te[:, t] * d_v
        d_v = PARAMS.alpha * (d_v * (1 - s) - v * d_s) + u_current[..., t]
        v, s = states.v[..., t], states.s[..., t]
        d_s = (d_v - d_theta) * ((v - states.theta[..., t]).abs() < WIDTH)
        forwards = forwards + (r[..., t] * d_s).sum()
    backwards = (found.current * u_current).sum() + (found.te * u_te).sum()
    assert abs(forwards) > 1
    # Some thousand float64 products, each with its rounding.
    torch.testing.assert_close(backwards, forwards, rtol=1e-11, atol=0)


@pytest.mark.parametrize("backend", [fused, reference], ids=["fused", "reference"])
def test_boxcar_is_open_at_both_ends(backend):
    # Θ = Θ0 = 0.25 at the only step, Γ = 0.25: |V − Θ| is Γ, just below, 0, just below, Γ.
    below = 0.25 - 2**-20
    current = torch.tensor([[[0.0], [0.25 - below], [0.25], [0.25 + below], [0.5]]])
    current.requires_grad_()
    p = PARAMS._replace(theta0=0.25)
    backend.celif(current, torch.zeros(5, 1), p, 0.25).sum().backward()
    assert current.grad.flatten().tolist() == [0, 1, 1, 1, 0]


# The second leaves a thread without a group, so that the neurons are shared.
@pytest.mark.parametrize("shape", [(37, 21, 30), (1, 70, 30)], ids=["groups", "neurons"])
def test_fused_bits_do_not_depend_on_the_number_of_threads(rng, shape):
    if numba.config.NUMBA_NUM_THREADS < 2:
        pytest.skip("needs two threads; this machine has one")
    current, te = inputs(rng, *shape, torch.float32)
    before, results = numba.get_num_threads(), []
    try:
        for threads in (1, 2):
            numba.set_num_threads(threads)
            results.append(run(fused, current, te))
    finally:
        numba.set_num_threads(before)
    assert results[0].spikes.any()
    for one, two in zip(*results, strict=True):
        assert torch.equal(one, two)


def test_fused_reads_no_uninitialised_memory(rng, monkeypatch):
    current, te = inputs(rng, 18, 9, 15, torch.float32)
    expected = run(fused, current, te)

    def poisoned(make):
        def fill(*args, **kwargs):
            tensor = make(*args, **kwargs)
            return tensor.fill_(float("nan") if tensor.is_floating_point() else 255)

        return fill

    monkeypatch.setattr(BufferPool, "empty", poisoned(BufferPool.empty))
    monkeypatch.setattr(torch.Tensor, "new_empty", poisoned(torch.Tensor.new_empty))
    for found, want in zip(run(fused, current, te), expected, strict=True):
        assert torch.equal(found, want)


def test_fused_takes_any_memory_layout_and_leaves_it_alone(rng):
    current, te = inputs(rng, 4, 6, 10, torch.float32)
    wide = torch.stack([current, -current], 1)[:, 0]
    time_first = current.permute(2, 0, 1).contiguous().permute(1, 2, 0)
    expected = fused.celif(current, te, PARAMS, WIDTH)
    assert expected.any()
    for same in (wide, time_first):
        found = fused.celif(same, te.t().contiguous().t(), PARAMS, WIDTH)
        assert torch.equal(found, expected)
        assert torch.equal(same, current)


def test_fused_refuses_second_derivatives(rng):
    current, te = inputs(rng, 2, 3, 4, torch.float32)
    current.requires_grad_()
    spikes = fused.celif(current, te, PARAMS, WIDTH)
    (grad,) = torch.autograd.grad((spikes * current).sum(), current, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        grad.sum().backward()
