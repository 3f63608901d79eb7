"""``functional.celif``: which implementation runs, and what bad arguments are told."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import warnings

import numpy as np
import pytest
import torch

from training.functional import ALPHA, BACKENDS, BETA, THETA0, WIDTH, celif
from training.support import compiled
from training.tests.cases import inputs


def test_defaults_are_the_papers():
    assert (ALPHA, BETA, THETA0, WIDTH) == (0.5, 0.99, 0.3, 0.2)


def test_backends_give_the_same_spikes(rng):
    current, te = inputs(rng, 3, 8, 25, torch.float32)
    spikes = [celif(current, te, backend=name) for name in ("auto", "fused", "reference")]
    assert spikes[0].any()
    assert torch.equal(spikes[0], spikes[1])
    assert torch.equal(spikes[0], spikes[2])


@pytest.mark.parametrize("backend", ["fused", "reference"])
def test_te_beyond_the_current_is_neither_read_nor_changed(rng, backend):
    current, _ = inputs(rng, 3, 5, 8, torch.float32)
    _, table = inputs(rng, 1, 9, 12, torch.float32)
    table.requires_grad_()
    spikes = celif(current.requires_grad_(), table, width=1.0, backend=backend)
    assert torch.equal(spikes, celif(current, table[:5, :8].clone(), width=1.0, backend=backend))
    spikes.sum().backward()
    used = torch.zeros_like(table, dtype=torch.bool)
    used[:5, 1:8] = True  # TE[1] meets V[0] = 0
    assert table.grad[used].any()
    assert not table.grad[~used].any()


@pytest.mark.parametrize(
    ("asked", "runs"), [("fused", "fused"), ("reference", "reference"), ("auto", "fused")]
)
def test_backend_asked_for_is_the_one_that_runs(rng, monkeypatch, asked, runs):
    for name in BACKENDS:
        monkeypatch.setitem(BACKENDS, name, lambda *_, name=name: name)
    assert celif(*inputs(rng, 2, 3, 4, torch.float32), backend=asked) == runs


def test_auto_without_numba_falls_back_and_says_so(rng, monkeypatch):
    current, te = inputs(rng, 3, 8, 25, torch.float32)
    expected = celif(current, te)
    monkeypatch.setattr(compiled, "AVAILABLE", False)
    monkeypatch.setitem(BACKENDS, "fused", None)
    with pytest.warns(UserWarning, match=r"numba .* found none; using the slow reference loop"):
        found = celif(current, te)
    assert torch.equal(found, expected)


def test_fallback_warning_points_at_the_caller(rng, monkeypatch):
    monkeypatch.setattr(compiled, "AVAILABLE", False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        celif(*inputs(rng, 1, 2, 3, torch.float32))
    assert caught[0].filename == __file__


def test_auto_takes_half_precision_through_the_reference(rng):
    current, te = inputs(rng, 2, 3, 9, torch.bfloat16)
    with pytest.warns(UserWarning, match="expected float32 or float64, got torch.bfloat16"):
        assert celif(current, te).any()


def test_fused_without_numba_is_refused(rng, monkeypatch):
    monkeypatch.setattr(compiled, "AVAILABLE", False)
    with pytest.raises(ValueError, match=r"'fused': expected numba .* use backend='reference'"):
        celif(*inputs(rng, 1, 2, 3, torch.float32), backend="fused")


def test_fused_refuses_tensors_elsewhere():
    current, te = torch.zeros(1, 2, 3, device="meta"), torch.zeros(2, 3, device="meta")
    with pytest.raises(ValueError, match=r"'fused': .* on the CPU, got one on meta; use"):
        celif(current, te, backend="fused")


def test_triton_refuses_tensors_on_the_cpu(rng, monkeypatch):
    # CPU builds of torch come without Triton.
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    with pytest.raises(ValueError, match=r"'triton': .* on a CUDA device, got one on cpu; use"):
        celif(*inputs(rng, 1, 2, 3, torch.float32), backend="triton")


def test_triton_that_is_not_installed_is_named(rng, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"'triton': expected triton to be installed.* found none"):
        celif(*inputs(rng, 1, 2, 3, torch.float32), backend="triton")


def test_triton_is_not_imported_before_it_is_used():
    code = "import sys, training.functional; sys.exit('triton' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


BAD = {
    "current-2d": (
        {"current": torch.zeros(2, 3)},
        r"current: expected \(batch, neuron, time\), got shape \(2, 3\); add",
    ),
    "te-1d": ({"te": torch.zeros(3)}, r"te: expected \(neuron, time\), got shape \(3,\)"),
    "te-rows": ({"te": torch.zeros(2, 9)}, r"te: expected at least 3 rows.* got \(2, 9\)"),
    "too-long": ({"te": torch.zeros(3, 4)}, r"current: expected 1..4 time steps.* got 5; shorten"),
    "no-steps": ({"current": torch.zeros(2, 3, 0)}, r"current: expected 1..5 time steps.* got 0"),
    "integers": (
        {"current": torch.zeros(2, 3, 5, dtype=torch.int)},
        r"current: expected a floating tensor, got torch.int32; use x.float\(\)",
    ),
    "te-dtype": (
        {"te": torch.zeros(3, 5).double()},
        r"te: expected torch.float32 .* got torch.float64 .* te.to\(current\)",
    ),
    "bias": ({"bias": torch.zeros(4)}, r"bias: expected 3 values .* got \(4,\) in torch.float32"),
    "bias-dtype": ({"bias": torch.zeros(3).double()}, r"bias: expected .* got \(3,\) in torch.f"),
    "backend": (
        {"backend": "cuda"},
        r"backend: expected one of auto, reference, fused, triton, got 'cuda'",
    ),
    "alpha-high": ({"alpha": 1.5}, r"alpha: expected one number in \[0, 1\], got 1.5"),
    "alpha-nan": ({"alpha": float("nan")}, r"alpha: expected .* got nan"),
    "beta-low": ({"beta": -0.1}, r"beta: expected one number in \[0, 1\], got -0.1"),
    "theta0-tensor": (
        {"theta0": torch.full((3,), 0.5)},
        r"theta0: .* got Tensor of several values; .*one layer per value",
    ),
    "width-array": ({"width": np.full(3, 0.5)}, r"width: .* got ndarray of several values; "),
    "theta0-text": ({"theta0": "high"}, r"theta0: expected one number .* got 'high'"),
    "theta0-nan": ({"theta0": float("nan")}, r"theta0: expected .* got nan"),
    "width-low": ({"width": -1}, r"width: expected one number in \[0, inf\], got -1"),
}


@pytest.mark.parametrize(("change", "message"), BAD.values(), ids=BAD.keys())
def test_bad_argument_is_named_with_expectation_and_finding(change, message):
    arguments = {"current": torch.zeros(2, 3, 5), "te": torch.zeros(3, 5)} | change
    with pytest.raises(ValueError, match=message):
        celif(**arguments)
