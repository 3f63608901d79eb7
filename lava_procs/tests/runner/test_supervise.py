"""supervise: answers, failures, deadlines, and nothing left behind. No Lava here."""

import os
import signal
import struct
import time
from multiprocessing import Process, managers
from multiprocessing.connection import Connection

import pytest

from lava_procs.runner.supervise import (
    Failure,
    GuardedJob,
    LavaRunError,
    LavaStalledError,
    LavaTimeoutError,
    supervise,
)
from lava_procs.tests.conftest import processes_named

pytestmark = pytest.mark.usefixtures("leaves_nothing")


def job(function, folder, timeout=30.0, **options):
    return GuardedJob(function, "the run", timeout, str(folder), **options)


def run(function, folder, timeout=30.0, poll=None, **options):
    [value] = supervise([job(function, folder, timeout, **options)], poll=poll)
    return value


def wait_until(condition, seconds=10.0):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return condition()


def hang_with_children_and_shared_memory():
    manager = managers.SharedMemoryManager()
    manager.start()
    manager.SharedMemory(4096)
    child = Process(target=time.sleep, args=(600,))
    child.start()
    time.sleep(600)


def test_value_comes_back(tmp_path):
    assert run(lambda: {"pid": os.getpid()}, tmp_path)["pid"] != os.getpid()


def test_output_is_not_shown(tmp_path, capfd):
    run(lambda: [print("noise"), os.system("echo noise >&2")], tmp_path)
    assert capfd.readouterr() == ("", "")


def test_exception_comes_back_with_traceback(tmp_path):
    def faulty_function():
        raise ZeroDivisionError("of all things")

    with pytest.raises(LavaRunError, match="the run: ZeroDivisionError: of all things") as caught:
        run(faulty_function, tmp_path)
    assert "in faulty_function" in str(caught.value)


def test_failure_comes_back_as_it_is(tmp_path):
    def fail():
        raise Failure("layer 1 is to blame")

    with pytest.raises(LavaRunError, match=r"^the run: layer 1 is to blame$"):
        run(fail, tmp_path)


def test_deadline_ends_everything_that_was_started(tmp_path):
    start = time.monotonic()
    with pytest.raises(LavaTimeoutError, match=r"not finished after 1 s.*longer timeout"):
        run(hang_with_children_and_shared_memory, tmp_path, timeout=1)
    assert time.monotonic() - start < 10
    assert issubclass(LavaTimeoutError, TimeoutError)


def test_killed_worker_is_reported_with_its_last_words(tmp_path):
    def die():
        Process(target=time.sleep, args=(600,)).start()
        os.write(2, b"farewell\n")
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(LavaRunError, match=r"died of SIGKILL.*memory(?s:.*)farewell"):
        run(die, tmp_path)


def test_fraction_of_a_second_is_named_as_one(tmp_path):
    with pytest.raises(LavaTimeoutError, match=r"not finished after 0\.4 s"):
        run(lambda: time.sleep(600), tmp_path, timeout=0.4)


def test_worker_killed_in_mid_send_is_not_waited_for(tmp_path):
    def half(self, value):
        os.write(self.fileno(), struct.pack("!i", 1000) + b"the first few of them")
        os.kill(os.getpid(), signal.SIGKILL)

    def send_half():
        # A child that outlives the worker has a copy of its end of the pipe, unless that is closed.
        Process(target=time.sleep, args=(600,)).start()
        Connection.send = half  # in the worker alone, which was forked

    start = time.monotonic()
    with pytest.raises(LavaRunError, match="main process died of SIGKILL"):
        run(send_half, tmp_path, timeout=60)
    assert time.monotonic() - start < 10


def test_killed_guard_is_reported(tmp_path):
    def kill_guard():
        Process(target=time.sleep, args=(600,)).start()
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(600)

    with pytest.raises(LavaRunError, match="main process died"):
        run(kill_guard, tmp_path)
    # The worker notices by itself, a moment later.
    assert wait_until(lambda: not processes_named(f"celif-{os.getpid()}"))


def test_interrupt_ends_everything_that_was_started(tmp_path):
    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(hang_with_children_and_shared_memory, tmp_path, poll=interrupt)


def test_killed_caller_leaves_nothing(tmp_path):
    folder, name = tmp_path / "folder", f"celif-{os.getpid()}"
    folder.mkdir()
    caller = Process(target=run, args=(hang_with_children_and_shared_memory, folder, 600))
    caller.start()
    # Caller, guard, worker, its manager and its child.
    assert wait_until(lambda: len(processes_named(name)) >= 5)
    caller.kill()
    caller.join()
    caller.close()
    assert wait_until(lambda: not processes_named(name))
    assert wait_until(lambda: not folder.exists())


def test_several_jobs_run_side_by_side_and_come_back_in_order(tmp_path):
    meeting = tmp_path / "here"

    def first():
        # Only a job that runs at the same time can end this one.
        assert wait_until(meeting.exists)
        return 1

    jobs = [job(first, tmp_path), job(meeting.touch, tmp_path), job(lambda: 3, tmp_path)]
    assert list(supervise(jobs, workers=2)) == [1, None, 3]


def test_no_more_jobs_are_taken_than_may_run(tmp_path):
    taken = []

    def jobs():
        for i in range(4):
            taken.append(i)
            yield job(lambda i=i: i, tmp_path)

    seen = []
    for value in supervise(jobs(), workers=2):
        seen.append(value)
        assert len(taken) <= len(seen) + 1
    assert seen == [0, 1, 2, 3]


def test_failure_of_one_job_ends_the_others(tmp_path):
    def fail():
        raise Failure("the second is to blame")

    jobs = [job(hang_with_children_and_shared_memory, tmp_path), job(fail, tmp_path)]
    start = time.monotonic()
    with pytest.raises(LavaRunError, match="the second is to blame"):
        list(supervise(jobs, workers=2))
    assert time.monotonic() - start < 20


def test_results_that_nobody_waits_for_any_more_end_everything(tmp_path):
    jobs = [job(lambda: 1, tmp_path), job(hang_with_children_and_shared_memory, tmp_path)]
    results = supervise(jobs, workers=2)
    assert next(results) == 1
    results.close()


def test_job_without_progress_is_ended_long_before_its_deadline(tmp_path):
    steps = tmp_path / "steps"
    steps.write_text("0")

    def stand_still():
        for i in range(4):
            steps.write_text(str(i))
            time.sleep(0.3)
        time.sleep(600)

    def done():
        return int(steps.read_text() or 0)

    start = time.monotonic()
    options = {"done": done, "total": 9, "heartbeat": 1.0}
    with pytest.raises(LavaStalledError, match=r"no progress for 1 s \(step 3 of 9\)"):
        run(stand_still, tmp_path, timeout=300, **options)
    assert 1.5 < time.monotonic() - start < 30


def test_first_step_may_take_longer_than_the_others(tmp_path):
    def slow_start():
        time.sleep(1.0)
        return "here"

    options = {"done": lambda: 0, "heartbeat": 0.2}
    assert run(slow_start, tmp_path, start=20.0, **options) == "here"
    with pytest.raises(LavaStalledError, match=r"no progress for 0\.4 s \(step 0 of 0\)"):
        run(slow_start, tmp_path, start=0.4, **options)
