"""inline(): whole networks behave as in Lava's own runtime."""

import contextlib
import threading
import warnings

import numpy as np
import pytest
from lava.magma.core.process import process as lava_process
from lava.magma.core.run_conditions import RunContinuous, RunSteps
from lava.magma.core.run_configs import Loihi2SimCfg
from lava.magma.runtime.runtime import Runtime
from lava.proc.monitor.process import Monitor
from scipy.sparse import csr_matrix

from lava_procs import inline
from lava_procs.one_process import InlineRuntime
from lava_procs.tests.inline.toys.process import Adder, Counter, Echo, Gate, Reader

CFG = Loihi2SimCfg()


@contextlib.contextmanager
def stopping(process):
    try:
        yield process
    finally:
        process.stop()


def counted(**options):
    counter, adder = Counter(**options), Adder()
    counter.out.connect(adder.inp)
    return counter, adder


def both_ways(experiment):
    """What an experiment gives inline, and in Lava's own runtime."""
    with inline():
        ours = experiment()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ours, experiment()


def test_loop_with_a_buffer_gives_what_lava_gives():
    def experiment():
        first, second = Echo("first", sends_first=True), Echo("second")
        first.out.connect(second.inp)
        second.out.connect(first.inp)
        with stopping(first):
            first.run(condition=RunSteps(num_steps=3), run_cfg=CFG)
            first.run(condition=RunSteps(num_steps=4))
            assert isinstance(first.runtime, expected)
            return [first.held.get(), second.held.get()]

    expected = InlineRuntime
    with inline():
        ours = experiment()
    expected = Runtime
    np.testing.assert_array_equal(ours, experiment())
    assert ours[0][0] > 7


def test_ref_ports_and_every_phase_give_what_lava_gives():
    def experiment():
        counter, adder, reader = Counter(), Adder(), Reader()
        counter.out.connect(adder.inp)
        reader.ref.connect_var(adder.total)
        with stopping(reader):
            reader.run(condition=RunSteps(num_steps=4), run_cfg=CFG)
            return [reader.seen.get().ravel(), reader.learned.get(), adder.total.get()]

    ours, lavas = both_ways(experiment)
    for mine, theirs in zip(ours, lavas, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    # 1, 1 + 2, 1 + 2 + 3, and -7 + 4 after what was written at the third step.
    assert ours[0][:4].tolist() == [1, 3, 6, -3]
    assert ours[1] == 2 * 101


def test_variables_of_every_kind_give_what_lava_gives():
    def experiment():
        counter, adder = counted()
        with stopping(counter):
            counter.run(condition=RunSteps(num_steps=2), run_cfg=CFG)
            adder.total.set(np.array([10, 20, 30]))
            adder.table.set(np.arange(6).reshape(2, 3) * 2)
            adder.text.set("xy")
            adder.sparse.set(csr_matrix([[4, 0, 5], [0, 6, 0]]))
            counter.run(condition=RunSteps(num_steps=1))
            names = ("total", "table", "gain", "updates")
            values = [getattr(adder, name).get() for name in names]
            return values, adder.text.get(), adder.sparse.get().toarray()

    ours, lavas = both_ways(experiment)
    for mine, theirs in zip(ours[0], lavas[0], strict=True):
        np.testing.assert_array_equal(mine, theirs)
        assert mine.dtype == theirs.dtype == np.float64
    assert ours[1] == lavas[1] == "xy"
    np.testing.assert_array_equal(ours[2], lavas[2])
    assert ours[0][0].tolist() == [13, 23, 33]


def test_numbers_are_read_and_set_where_lava_hangs():
    with inline():
        counter, adder = counted()
        with stopping(counter):
            counter.run(condition=RunSteps(num_steps=1), run_cfg=CFG)
            assert adder.rate.get() == 0.5
            adder.rate.set(np.array([0.25]))
            adder.gain.set(np.array([3]))
            counter.run(condition=RunSteps(num_steps=1))
            assert adder.rate.get() == 0.25
            assert adder.total.get().tolist() == [1 + 3 * 2] * 3
            with pytest.raises(NotImplementedError, match=r"adder .*total: expected a value for"):
                adder.total.set(np.array([1, 2, 3]), idx=[0])
            with pytest.raises(ValueError, match="expected 3 values, got 2"):
                adder.total.set(np.array([1, 2]))


def test_model_changes_neither_its_process_nor_another_network():
    with inline():
        counter, adder = counted()
        with stopping(counter):
            counter.run(condition=RunSteps(num_steps=2), run_cfg=CFG)
            adder.runtime._network._actors[adder.id].model.sparse.data[:] = 0
        assert adder.sparse.init.data.tolist() == [1, 2, 3]


def test_monitor_sees_every_step():
    with inline():
        counter, adder = counted()
        monitor = Monitor()
        monitor.probe(target=adder.total, num_steps=5)
        with stopping(counter):
            counter.run(condition=RunSteps(num_steps=5), run_cfg=CFG)
            [seen] = monitor.get_data()[adder.name].values()
    assert seen[:, 0].tolist() == [1, 3, 6, 10, 15]


def test_messages_left_in_a_channel_arrive_with_the_next_run():
    def ask(model):
        model._req_pause = model.time_step == 2

    with inline():
        counter, adder = counted(act=ask)
        with stopping(counter):
            counter.run(condition=RunSteps(num_steps=10), run_cfg=CFG)
            assert adder.total.get()[0] == 1 + 2, "a model asked for a pause after two steps"
            counter.run(condition=RunSteps(num_steps=2))
            assert adder.total.get()[0] == 1 + 2 + 3 + 4


def test_several_messages_in_a_step_are_taken_as_they_come():
    """A step is no deadlock as long as somebody takes a message."""

    def send_more(model):
        for _ in range(69):  # more than a channel holds
            model.out.send(np.full(3, model.time_step))

    with inline():
        counter, adder = Counter(act=send_more), Adder(times=70)
        counter.out.connect(adder.inp)
        with stopping(counter):
            counter.run(condition=RunSteps(num_steps=2), run_cfg=CFG)
            assert adder.total.get().tolist() == [70 * 1 + 70 * 2] * 3


def test_run_after_stop_starts_from_the_beginning():
    with inline():
        counter, adder = counted()
        for _ in range(2):
            counter.run(condition=RunSteps(num_steps=3), run_cfg=CFG)
            assert adder.total.get()[0] == 6
            counter.stop()
            with pytest.raises(RuntimeError, match="has not started"):
                adder.total.get()


def test_model_that_asks_for_a_stop_stops_the_network():
    def ask(model):
        model._req_stop = model.time_step == 2

    with inline():
        counter, adder = counted(act=ask)
        counter.run(condition=RunSteps(num_steps=10), run_cfg=CFG)
        with pytest.raises(RuntimeError, match="has not started"):
            adder.total.get()


def test_run_that_does_not_block_waits_and_pauses():
    with inline():
        counter, adder = counted()
        with stopping(counter):
            counter.run(condition=RunSteps(num_steps=5, blocking=False), run_cfg=CFG)
            counter.wait()
            assert adder.total.get()[0] == 15
            counter.run(condition=RunContinuous())
            with pytest.raises(RuntimeError, match="while its network does not run"):
                adder.total.get()
            counter.pause()
            steps = counter.runtime.steps
            assert steps > 5
            assert adder.total.get()[0] == steps * (steps + 1) // 2


def gated():
    gate, adder = Gate(), Adder()
    gate.out.connect(adder.inp)
    return gate, adder


def test_threads_talk_to_a_running_network():
    with inline():
        gate, adder = gated()
        with stopping(gate):
            gate.run(condition=RunSteps(num_steps=4, blocking=False), run_cfg=CFG)
            for i in range(4):
                gate.inp.external_pipe_csp_send_port.send(np.full(3, i))
                assert gate.exit.external_pipe_csp_recv_port.recv()[0] == 10 * i
            gate.wait()
            assert adder.total.get()[0] == 0 + 1 + 2 + 3


def test_network_that_waits_for_a_thread_can_be_stopped():
    with inline():
        gate, _ = gated()
        gate.run(condition=RunSteps(num_steps=4, blocking=False), run_cfg=CFG)
        gate.inp.external_pipe_csp_send_port.send(np.ones(3))
        assert gate.exit.external_pipe_csp_recv_port.recv()[0] == 10
        gate.stop()
    assert not any(thread.name == "Lava" for thread in threading.enumerate())


def test_two_threads_run_at_a_time_and_a_third_keeps_lavas_runtime():
    met = threading.Barrier(3, timeout=30)
    totals, others = {}, []

    def run(name):
        with inline():
            counter, adder = counted(act=lambda model: model.time_step == 1 and met.wait())
            with stopping(counter):
                counter.run(condition=RunSteps(num_steps=50), run_cfg=CFG)
                totals[name] = adder.total.get()[0]

    def outside():
        met.wait()
        executable = Counter().compile(CFG)
        others.append(lava_process.Runtime(executable, None))

    threads = [threading.Thread(target=run, args=(name,)) for name in "ab"]
    threads.append(threading.Thread(target=outside))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert totals == {"a": 1275, "b": 1275}
    assert type(others[0]) is Runtime
    assert lava_process.Runtime is Runtime, "nothing that we put into Lava is left"
