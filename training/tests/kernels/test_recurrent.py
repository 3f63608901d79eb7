"""Recurrent CE-LIF: the compiled pass against autograd over the plain step."""

from __future__ import annotations

import pytest
import torch

from training.functional import celif
from training.support import compiled

needs_numba = pytest.mark.skipif(not compiled.AVAILABLE, reason="needs numba")


def layer(neurons: int, steps: int, batch: int, dtype: torch.dtype = torch.float64):
    """Current, TE, bias and weights; on a grid, so that every sum of weights is exact."""
    g = torch.Generator().manual_seed(neurons + steps)
    current = torch.randint(-8, 12, (batch, neurons, steps), generator=g) / 16
    te = torch.randn(neurons, steps, generator=g) * 0.05
    bias = torch.randint(-2, 3, (neurons,), generator=g) / 16
    weight = torch.randint(-8, 9, (neurons, neurons), generator=g) / 16
    return [x.to(dtype).requires_grad_() for x in (current, te, bias, weight)]


def run(backend: str, current, te, bias, weight, **options):
    return celif(current, te, width=0.5, backend=backend, bias=bias, weight_rec=weight, **options)


@needs_numba
@pytest.mark.parametrize(
    ("neurons", "steps", "batch"), [(1, 1, 1), (1, 9, 2), (7, 1, 3), (6, 23, 35)],
    ids=["one", "one-neuron", "one-step", "several"],
)  # fmt: skip
def test_fused_equals_reference(neurons, steps, batch):
    inputs = layer(neurons, steps, batch)
    spikes = [run(backend, *inputs) for backend in ("reference", "fused")]
    assert torch.equal(*spikes)
    seen = torch.linspace(-1, 1, spikes[0].numel(), dtype=torch.float64).reshape(spikes[0].shape)
    expected, found = (torch.autograd.grad((s * seen).sum(), inputs) for s in spikes)
    if neurons > 1 and steps > 1:
        assert 0.05 < spikes[0].mean() < 0.95
        assert expected[3].any()
    for theirs, ours in zip(expected, found, strict=True):
        # float64 sums of up to 35·23 terms in another order
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-12)


@needs_numba
def test_fused_in_float32_fires_as_the_reference():
    inputs = layer(9, 40, 4, torch.float32)
    spikes = run("fused", *inputs)
    assert 0.05 < spikes.mean() < 0.95
    assert torch.equal(spikes, run("reference", *inputs))


@pytest.mark.parametrize("backend", ["reference", pytest.param("fused", marks=needs_numba)])
def test_spikes_return_one_step_later(backend):
    # Neuron 0 fires at step 0 alone; neuron 1 only through the weight from neuron 0.
    current = torch.zeros(1, 2, 4)
    current[0, 0, 0] = 1.0
    weight = torch.tensor([[0.0, 0.0], [1.0, 0.0]])
    spikes = run(backend, current, torch.zeros(2, 4), None, weight)
    assert spikes[0].tolist() == [[1, 0, 0, 0], [0, 1, 0, 0]]


@pytest.mark.parametrize("backend", ["reference", pytest.param("fused", marks=needs_numba)])
def test_no_weights_are_no_recurrence(backend):
    current, te, bias, weight = layer(5, 12, 2)
    spikes = run(backend, current, te, bias, torch.zeros_like(weight))
    assert spikes.any()
    assert torch.equal(spikes, celif(current, te, width=0.5, backend=backend, bias=bias))


@needs_numba
def test_fused_bits_do_not_depend_on_the_number_of_threads():
    import numba

    inputs = layer(6, 17, 40, torch.float32)
    results = []
    for threads in (1, numba.config.NUMBA_NUM_THREADS):
        numba.set_num_threads(threads)
        try:
            results.append(torch.autograd.grad(run("fused", *inputs).sum(), inputs))
        finally:
            numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (torch.zeros(5, 4), r"weight_rec: expected shape \(5, 5\) .* got \(5, 4\)"),
        (torch.zeros(5, 5, dtype=torch.float32), "in torch.float64, .* in torch.float32"),
    ],
    ids=["shape", "type"],
)
def test_wrong_weights_are_refused(weight, message):
    current, te, bias, _ = layer(5, 12, 2)
    with pytest.raises(ValueError, match=message):
        celif(current, te, bias=bias, weight_rec=weight)
