"""What goes wrong inside inline() is named, leaves nothing behind, and the next run works."""

import asyncio
import concurrent.futures
import io
import multiprocessing
import os
import pdb
import signal
import sys
import threading
import time
import weakref

import numpy as np
import pytest
from lava.magma.core.run_conditions import RunContinuous, RunSteps
from lava.magma.core.run_configs import Loihi2SimCfg

from lava_procs import LavaDeadlockError, LavaInlineError, LavaRunError, LavaTimeoutError, inline
from lava_procs.one_process import runtime
from lava_procs.tests.inline.toys.process import Adder, Counter, Drifter, Echo, Reader

CFG = Loihi2SimCfg()

pytestmark = pytest.mark.usefixtures("next_run_works")


@pytest.fixture
def next_run_works():
    threads = threading.active_count()
    yield
    assert threading.active_count() == threads
    assert total_of(3) == 6


def counted(**options):
    counter, adder = Counter(**options), Adder()
    counter.out.connect(adder.inp)
    return counter, adder


def total_of(steps, **options):
    with inline():
        counter, adder = counted(**options)
        try:
            counter.run(condition=RunSteps(num_steps=steps), run_cfg=CFG)
            return adder.total.get()[0]
        finally:
            counter.stop()


def run(process, steps, timeout=None):
    with inline(timeout=timeout):
        process.run(condition=RunSteps(num_steps=steps), run_cfg=CFG)


def at(step, act):
    return lambda model: model.time_step == step and act()


def misbehave():
    raise ZeroDivisionError("of all things")


def test_model_that_raises_is_named_with_its_traceback():
    counter, adder = counted(act=at(4, misbehave))
    with pytest.raises(LavaRunError, match=r"counter \(Counter, PyCounterModel\) raised") as e:
        run(counter, 9)
    assert "ZeroDivisionError: of all things (in misbehave" in str(e.value)
    cause, names = e.value.__cause__.__traceback__, []
    while cause:
        names.append(cause.tb_frame.f_code.co_name)
        cause = cause.tb_next
    assert names[-1] == "misbehave"
    assert "run_spk" in names
    # What the models hold can be looked at, but running on would mix two steps.
    assert adder.total.get()[0] == 6
    with pytest.raises(LavaRunError, match="ended in the middle of a step; stop it to run"):
        run(counter, 1)
    counter.stop()


def test_model_that_raises_aside_raises_at_whoever_waits():
    counter, _ = counted(act=at(4, misbehave))
    with inline():
        counter.run(condition=RunContinuous(), run_cfg=CFG)
    with pytest.raises(LavaRunError, match="ZeroDivisionError: of all things"):
        counter.wait()
    counter.stop()


def test_model_that_cannot_be_built_is_named():
    counter, adder = counted()
    adder.table.init = np.zeros((7, 7))
    with pytest.raises(LavaRunError, match=r"adder .* raised ValueError: could not broadcast"):
        run(counter, 1)


def test_models_that_wait_for_one_another_are_named_at_once():
    first, second = Echo("first"), Echo("second")
    first.out.connect(second.inp)
    second.out.connect(first.inp)
    with pytest.raises(LavaDeadlockError) as caught:
        run(first, 1)
    assert str(caught.value).splitlines() == [
        "models wait for messages that nobody sends:",
        "  first (Echo, PyEchoModel) waits for a message from second.out at first.inp",
        "  second (Echo, PyEchoModel) waits for a message from first.out at second.inp",
    ]


def test_model_that_nobody_answers_in_the_spiking_phase_is_named():
    _, adder = counted()
    reader = Reader(in_spiking_phase=True)
    reader.ref.connect_var(adder.total)
    with pytest.raises(LavaDeadlockError, match=r"reader .* from adder\..* at reader\.ref"):
        run(reader, 1)


def test_model_that_sends_more_than_a_channel_holds_is_named():
    def send_more(model):
        for _ in range(65):
            model.out.send(np.zeros(3, np.int32))

    counter, _ = counted(act=send_more)
    with pytest.raises(LavaDeadlockError, match=r"counter .* waits for room .* holds 64"):
        run(counter, 1)


def endless():
    while True:
        pass


@pytest.mark.parametrize("act", [endless, lambda: time.sleep(600)], ids=["computes", "sleeps"])
def test_endless_model_ends_with_the_timeout_and_is_shown(act):
    counter, _ = counted(act=at(2, act))
    with pytest.raises(LavaTimeoutError, match=r"0\.5 s \(step 2 of 9\)") as caught:
        run(counter, 9, timeout=0.5)
    assert "run_spk" in str(caught.value)


def test_endless_model_in_another_thread_ends_with_the_timeout():
    errors = []

    def body():
        counter, _ = counted(act=at(2, endless))
        try:
            run(counter, 9, timeout=0.5)
        except LavaTimeoutError as error:
            errors.append(str(error))

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    assert "counter (Counter, PyCounterModel) was running" in errors[0]
    assert "in endless" in errors[0]


class DeletedSlowly:
    def __del__(self):
        time.sleep(0.3)


def finalized_slowly():
    class Plain:
        pass

    weakref.finalize(Plain(), time.sleep, 0.3)


# Python ignores what is raised there, and says so with a warning, which is an error here.
@pytest.mark.parametrize("act", [DeletedSlowly, finalized_slowly])
@pytest.mark.parametrize("steps", [2, sys.maxsize], ids=["last-step", "more-steps"])
def test_timeout_while_an_object_is_deleted_is_not_lost(act, steps):
    counter, _ = counted(act=at(2, act))
    with pytest.raises(LavaTimeoutError, match=r"0\.1 s"):
        run(counter, steps, timeout=0.1)


def test_timeout_while_an_object_is_deleted_in_another_thread_is_not_lost():
    def body():
        counter, _ = counted(act=at(2, DeletedSlowly))
        run(counter, sys.maxsize, timeout=0.1)

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        error = pool.submit(body).exception(60)
    assert isinstance(error, LavaTimeoutError)


def test_endless_model_aside_can_be_stopped(monkeypatch):
    monkeypatch.setattr(runtime, "_PATIENCE", 0.3)
    counter, _ = counted(act=at(2, endless))
    with inline():
        counter.run(condition=RunContinuous(), run_cfg=CFG)
    counter.stop()
    assert not any(thread.name == "Lava" for thread in threading.enumerate())


def test_interrupt_ends_the_run_and_leaves_the_model_by_its_finally():
    left = []
    # A shell lets what it starts in the background ignore Ctrl-C, and Python then does so as well.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupt():
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(10)
        finally:
            left.append("counter")

    counter, _ = counted(act=at(3, interrupt))
    try:
        with pytest.raises(KeyboardInterrupt):
            run(counter, 9)
    finally:
        signal.signal(signal.SIGINT, before)
    assert left == ["counter"]


def test_models_that_wait_when_another_fails_are_left_by_their_finally():
    left = []

    def wait(model):
        try:
            model.out.send(np.zeros(3, np.int32))
            for _ in range(64):
                model.out.send(np.zeros(3, np.int32))
        finally:
            left.append(model.time_step)

    counter, _ = counted(act=wait)
    with pytest.raises(LavaDeadlockError):
        run(counter, 1)
    assert left == [1]


def test_what_cannot_run_inline_is_refused_by_name():
    drifter, adder = Drifter(), Adder()
    drifter.out.connect(adder.inp)
    with pytest.raises(LavaInlineError, match=r"drifter \(Drifter, .* asynchronous"):
        run(drifter, 1)
    assert issubclass(LavaInlineError, NotImplementedError)


def test_wrong_shape_is_refused_by_name():
    counter, _ = counted(act=lambda model: model.out.send(np.zeros(2)))
    with pytest.raises(LavaRunError, match=r"counter\.out: expected .* \(3,\), got \(2,\)"):
        run(counter, 1)


@pytest.mark.parametrize("timeout", [0, -1, float("nan")])
def test_timeout_must_be_seconds(timeout):
    with pytest.raises(ValueError, match="timeout: expected seconds"), inline(timeout=timeout):
        pass


def test_breakpoint_in_a_model_works(monkeypatch):
    commands = io.StringIO("up\nup\np 'at step', self.time_step\nnext\ncontinue\n")
    said = io.StringIO()

    def debug():
        debugger = pdb.Pdb(stdin=commands, stdout=said, nosigint=True, readrc=False)
        debugger.set_trace(sys._getframe(1))

    monkeypatch.setattr(sys, "breakpointhook", debug)
    assert total_of(4, act=at(2, lambda: breakpoint())) == 10
    assert "('at step', 2)" in said.getvalue()
    assert "run_spk" in said.getvalue()


def test_spawned_process_runs_inline():
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=spawn) as pool:
        assert pool.submit(total_of, 4).result() == 10


def test_event_loop_like_a_notebooks_runs_inline():
    async def cell():
        return total_of(4)

    assert asyncio.run(cell()) == 10
