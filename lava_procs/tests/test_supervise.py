"""supervise: answers, failures, deadlines, and nothing left behind. No Lava here."""

import os
import signal
import struct
import time
from multiprocessing import Process, managers
from multiprocessing.connection import Connection

import pytest

from lava_procs.supervise import Failure, LavaRunError, LavaTimeoutError, supervise
from lava_procs.tests.conftest import processes_named

pytestmark = pytest.mark.usefixtures("leaves_nothing")


def run(function, folder, timeout=30.0, **options):
    return supervise(function, what="the run", timeout=timeout, folder=str(folder), **options)


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
