"""What happens when a model fails in mid-run, ours or Lava's own, in either runtime."""

import os
import signal
import time

import numpy as np
import pytest
from lava.proc.dense.models import PyDenseModelBitAcc

from hw_tests.networks.random_nets import random_network
from lava_procs import LavaRunError, LavaStalledError, LavaTimeoutError, run
from lava_procs.processes.celif.models import PyCELIFModelFixed
from lava_procs.processes.readout.models import PyReadoutModelFixed
from lava_procs.runner.inline_session import ForkedInlineSession
from lava_procs.runner.session import Session

pytestmark = pytest.mark.usefixtures("leaves_nothing")


@pytest.fixture(params=["inline", "lava"])
def runtime(request):
    return request.param


@pytest.fixture
def net(rng):
    return random_network(rng, (5, 4), 6)


@pytest.fixture
def x(rng):
    return rng.integers(0, 16, (2, 2, 6))


def at_step_four(monkeypatch, model, act):
    """Let a model act at step 4; where a run's processes are forked, they inherit it."""
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
def test_exception_in_a_model_surfaces_with_its_traceback(
    net, x, monkeypatch, model, name, runtime
):
    at_step_four(monkeypatch, model, misbehave)
    start = time.monotonic()
    with pytest.raises(LavaRunError, match=f"{name}.* raised ZeroDivisionError: at step") as error:
        run(net, x, runtime=runtime)
    assert "in misbehave" in str(error.value)
    assert time.monotonic() - start < 20


def test_exception_in_a_model_that_cannot_be_built_surfaces(net, x, monkeypatch, runtime):
    monkeypatch.setattr(PyCELIFModelFixed, "__init__", lambda self, params: misbehave())
    with pytest.raises(LavaRunError, match="ZeroDivisionError: at step four") as error:
        run(net, x, runtime=runtime)
    assert "in misbehave" in str(error.value)


def test_sleeping_model_times_out(net, x, monkeypatch, runtime):
    at_step_four(monkeypatch, PyCELIFModelFixed, lambda: time.sleep(600))
    message = r"2 × 6 steps, fixed\): not finished after 3 s \(step \d of 15\)"
    with pytest.raises(LavaTimeoutError, match=message):
        run(net, x, timeout=3, runtime=runtime)


def sleep_for_ever():
    time.sleep(600)


@pytest.mark.parametrize(
    ("model", "name"),
    [(PyCELIFModelFixed, r"layer 0 \(CELIF"), (PyDenseModelBitAcc, r"layer 0 synapse \(Dense")],
    ids=["ours", "stock"],
)
def test_model_that_stands_still_is_named_with_what_it_does(
    net, x, monkeypatch, model, name, runtime
):
    at_step_four(monkeypatch, model, sleep_for_ever)
    with pytest.raises(LavaStalledError, match=rf"no progress for 2 s(?s:.*){name}") as error:
        run(net, x, heartbeat=2, runtime=runtime)
    assert "in sleep_for_ever" in str(error.value)
    # Those that only wait for it are not accused.
    assert "Readout" not in str(error.value)


def test_model_that_is_stopped_by_a_signal_is_named(net, x, monkeypatch):
    at_step_four(monkeypatch, PyReadoutModelFixed, lambda: os.kill(os.getpid(), signal.SIGSTOP))
    with pytest.raises(LavaStalledError, match=r"layer 2 \(Readout.*is behind.*it is stopped"):
        run(net, x, heartbeat=2, runtime="lava")


def test_killed_model_is_reported(net, x, monkeypatch):
    at_step_four(monkeypatch, PyCELIFModelFixed, lambda: os.kill(os.getpid(), signal.SIGKILL))
    with pytest.raises(LavaRunError, match=r"layer [01] \(CELIF.*died in mid-run of SIGKILL"):
        run(net, x, runtime="lava")


def test_run_after_a_failed_one_works(net, x, monkeypatch, runtime):
    with monkeypatch.context() as patch:
        at_step_four(patch, PyCELIFModelFixed, misbehave)
        with pytest.raises(LavaRunError):
            run(net, x, runtime=runtime)
    assert np.any(run(net, x, runtime=runtime).spikes[0])


@pytest.mark.parametrize("workers", [1, 2])
def test_interrupt_during_a_run_leaves_nothing(net, x, monkeypatch, runtime, workers):
    wait = sleep_for_ever if workers > 1 or runtime == "lava" else lambda: time.sleep(0.2)
    at_step_four(monkeypatch, PyCELIFModelFixed, wait)

    def interrupt(done, total):
        if done:
            raise KeyboardInterrupt  # as Ctrl-C does, wherever the caller stands

    with pytest.raises(KeyboardInterrupt):
        run(net, x, workers=workers, progress=interrupt, runtime=runtime)


def test_failure_in_one_of_several_networks_ends_all(net, rng, monkeypatch, runtime):
    x = rng.integers(0, 16, (3, 2, 6))
    session = Session if runtime == "lava" else ForkedInlineSession
    original = session.simulate

    def simulate(self):
        if np.array_equal(self.samples, net.encode(x[2:])):
            misbehave()
        at_step_four(monkeypatch, PyCELIFModelFixed, sleep_for_ever)
        original(self)

    monkeypatch.setattr(session, "simulate", simulate)
    with pytest.raises(LavaRunError, match="ZeroDivisionError: at step four"):
        run(net, x, workers=2, runtime=runtime)


def test_failure_in_a_forked_inline_run_names_the_model(net, x, monkeypatch):
    at_step_four(monkeypatch, PyCELIFModelFixed, misbehave)
    with pytest.raises(
        LavaRunError, match=r"layer [01] \(CELIF.*raised ZeroDivisionError"
    ) as error:
        run(net, x, workers=2)
    assert "in misbehave" in str(error.value)
