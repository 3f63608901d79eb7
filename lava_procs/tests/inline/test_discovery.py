"""The models that inline() finds are those that Lava's own search finds, in the same order."""

import numpy as np
import pytest
from lava.magma.compiler.compiler_graphs import ProcGroupDiGraphs
from lava.proc.atrlif.process import ATRLIF
from lava.proc.dense.process import Dense
from lava.proc.io.source import RingBuffer
from lava.proc.lif.process import LIF, LIFReset
from lava.proc.monitor.process import Monitor
from lava.proc.sdn.process import SigmaDelta
from lava.proc.sparse.process import Sparse

from hw_tests.networks.random_nets import random_network
from lava_procs import CELIF, Recorder, inline
from lava_procs.one_process import discovery
from lava_procs.tests.inline.toys.process import Adder


def celif():
    net = random_network(np.random.default_rng(0), (3,), 2)
    return CELIF.from_layer(net.layers[0], steps=2)


WAYS = {
    "LIF": lambda: LIF(shape=(1,)),
    "LIFReset": lambda: LIFReset(shape=(1,)),
    "Dense": lambda: Dense(weights=np.ones((1, 1))),
    "Sparse": lambda: Sparse(weights=np.ones((1, 1))),
    "ATRLIF": lambda: ATRLIF(shape=(1,)),
    "SigmaDelta": lambda: SigmaDelta(shape=(1,), vth=1),
    "RingBuffer": lambda: RingBuffer(data=np.ones((1, 1))),
    "Monitor": Monitor,
    "CELIF": celif,
    "Recorder": lambda: Recorder(shape=(1,), lag=0, steps=1, period=1, probe="p"),
    "Adder": Adder,
}


@pytest.mark.parametrize("name", WAYS)
def test_models_found_by_importing_are_lavas(name):
    process = WAYS[name]()
    expected = ProcGroupDiGraphs._find_proc_models(process)
    found = discovery._imported(process)
    assert found == expected
    assert found


def test_lava_searches_by_itself_outside():
    search = ProcGroupDiGraphs._find_proc_models
    with inline():
        assert ProcGroupDiGraphs._find_proc_models is discovery.find_models
    assert ProcGroupDiGraphs._find_proc_models is search
