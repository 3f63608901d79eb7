"""Many runs in a row, good and bad ones: the machine is as it was."""

import threading

import numpy as np
import pytest

from hw_tests.networks.random_nets import random_network
from lava_procs import LavaRunError, run
from lava_procs.processes.celif.models import PyCELIFModelFixed

pytestmark = pytest.mark.usefixtures("leaves_nothing")

RUNS = 50


def test_fifty_runs_in_a_row_leave_the_machine_as_it_was(rng, monkeypatch):
    """The fixture looks for processes, open files, shared memory and temporary files."""
    net = random_network(rng, (3,), 2)
    x = np.full((1, 2, 2), 15)
    expected, threads = run(net, x).logits, threading.active_count()
    original = PyCELIFModelFixed.run_spk

    def raising(self):
        raise ZeroDivisionError("every tenth run")

    for i in range(RUNS):
        if i % 10 == 9:
            monkeypatch.setattr(PyCELIFModelFixed, "run_spk", raising)
            with pytest.raises(LavaRunError, match="every tenth run"):
                run(net, x)
            monkeypatch.setattr(PyCELIFModelFixed, "run_spk", original)
        else:
            np.testing.assert_array_equal(run(net, x, trace=False).logits, expected)
    assert expected.any()
    assert threading.active_count() == threads
