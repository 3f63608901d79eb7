"""A kernel is tried on its device before backend="auto" trusts it."""

from __future__ import annotations

import pytest
import torch

from training import functional
from training.kernels import fused, reference, trial

CPU = torch.device("cpu")


def raises(*args):
    raise RuntimeError("PTX assembly failed")


def late(current, te, p, width, bias):
    return reference.celif(current, te, p._replace(theta0=0.6), width, bias)


def narrow(current, te, p, width, bias):
    return reference.celif(current, te, p, width / 2, bias)


def without_te(current, te, p, width, bias):
    return reference.celif(current, te.detach(), p, width, bias)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_kernel_that_equals_the_reference_is_trusted(dtype) -> None:
    assert trial.why_not(fused.celif, CPU, dtype) is None


@pytest.mark.parametrize(
    ("kernel", "why"),
    [
        (raises, "RuntimeError (PTX assembly failed)"),
        (late, "got other spikes"),
        (narrow, "got others for the current"),
        (without_te, "got others for the TE"),
    ],
)
def test_kernel_that_fails_or_differs_is_not_trusted(kernel, why) -> None:
    assert why in trial.why_not(kernel, CPU, torch.float32)


def test_trial_case_fires_and_rests() -> None:
    spikes, *_ = trial._run(reference.celif, CPU, torch.float32)
    assert 0.1 < spikes.mean() < 0.9


def test_trial_runs_once_a_device_and_type() -> None:
    calls = []

    def counted(*args):
        calls.append(1)
        return reference.celif(*args)

    for _ in range(3):
        assert trial.why_not(counted, CPU, torch.float32) is None
    assert len(calls) == 1


def test_auto_on_a_gpu_falls_back_with_a_word_if_the_trial_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(functional._REFUSALS, "triton", lambda x: None)
    monkeypatch.setitem(functional.BACKENDS, "triton", late)

    class OnGpu:
        is_cuda, device, dtype = True, CPU, torch.float32

    with pytest.warns(UserWarning, match="triton kernel expected the reference's spikes"):
        assert functional._choose("auto", OnGpu()) == "reference"
    monkeypatch.setitem(functional.BACKENDS, "triton", reference.celif)
    assert functional._choose("auto", OnGpu()) == "triton"
