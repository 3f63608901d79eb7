"""What happens when a model fails in mid-run, ours or Lava's own."""

import os
import signal
import time

import numpy as np
import pytest
from lava.proc.dense.models import PyDenseModelBitAcc

from export.random_nets import random_network
from lava_procs import LavaRunError, LavaTimeoutError, run
from lava_procs.celif.models import PyCELIFModelFixed

pytestmark = pytest.mark.usefixtures("leaves_nothing")


@pytest.fixture
def net(rng):
    return random_network(rng, (5, 4), 6)


@pytest.fixture
def x(rng):
    return rng.integers(0, 16, (2, 2, 6))


def at_step_four(monkeypatch, model, act):
    """Let a model act at step 4; the processes of a run are forked, so they inherit it."""
    original = model.run_spk

    def run_spk(self):
        if self.time_step == 4:
            act()
        original(self)

    monkeypatch.setattr(model, "run_spk", run_spk)


def misbehave():
    raise ZeroDivisionError("at step four")


@pytest.mark.parametrize(
    ("model", "name"),
    [(PyCELIFModelFixed, r"layer [01] \(CELIF"), (PyDenseModelBitAcc, r"layer \d synapse \(Dense")],
    ids=["ours", "stock"],
)
def test_exception_in_a_model_surfaces_with_its_traceback(net, x, monkeypatch, model, name):
    at_step_four(monkeypatch, model, misbehave)
    start = time.monotonic()
    with pytest.raises(LavaRunError, match=f"{name}.* raised ZeroDivisionError: at step") as error:
        run(net, x)
    assert "in misbehave" in str(error.value)
    assert time.monotonic() - start < 20


def test_exception_in_a_model_that_cannot_be_built_surfaces(net, x, monkeypatch):
    monkeypatch.setattr(PyCELIFModelFixed, "__init__", lambda self, params: misbehave())
    with pytest.raises(LavaRunError, match="ZeroDivisionError: at step four") as error:
        run(net, x)
    assert "in misbehave" in str(error.value)


def test_sleeping_model_times_out(net, x, monkeypatch):
    at_step_four(monkeypatch, PyCELIFModelFixed, lambda: time.sleep(600))
    message = r"2 × 6 steps, fixed\): not finished after 4 s.*\(step \d of 15\)"
    with pytest.raises(LavaTimeoutError, match=message):
        run(net, x, timeout=4)


def test_killed_model_is_reported(net, x, monkeypatch):
    at_step_four(monkeypatch, PyCELIFModelFixed, lambda: os.kill(os.getpid(), signal.SIGKILL))
    with pytest.raises(LavaRunError, match=r"layer [01] \(CELIF.*died in mid-run of SIGKILL"):
        run(net, x)


def test_run_after_a_failed_one_works(net, x, monkeypatch):
    with monkeypatch.context() as patch:
        at_step_four(patch, PyCELIFModelFixed, misbehave)
        with pytest.raises(LavaRunError):
            run(net, x)
    assert np.any(run(net, x).spikes[0])
