"""Each repair: what fails without it wherever it is needed, and works with it everywhere."""

from __future__ import annotations

import pytest

from lava_procs.mends import MENDS

NEEDED = {mend.name: mend.needed() for mend in MENDS}


def check(python, name, code, symptom):
    """The code prints ``fine`` with every mend; without this one it fails where it is needed."""
    assert python(code).strip().endswith("fine")
    if NEEDED[name]:
        assert symptom in python(code, without=name, expect=1)
    else:
        assert python(code, without=name).strip().endswith("fine")


def test_hashable_defaults(python):
    code = """
    from lava.magma.compiler import var_model
    from dataclasses import dataclass
    assert var_model.dataclass is dataclass
    assert var_model.CoreEncoder() == var_model.CoreEncoder()
    print("fine")
    """
    check(python, "hashable defaults", code, "mutable default")


def test_reshape_by_place(python):
    code = """
    import numpy as np
    from lava.magma.core.process.ports.ports import ReshapePort
    port = ReshapePort(new_shape=(2, 3), old_shape=(6,))
    data = np.arange(6)
    assert (port.get_transform_func_fwd()(data) == data.reshape(2, 3)).all()
    assert (port.get_transform_func_bwd()(data.reshape(2, 3)) == data).all()
    print("fine")
    """
    check(python, "reshape by place", code, "newshape")


STOCK = """
import h5py, numpy as np
from lava.lib.dl.netx import hdf5
with h5py.File("stock.net", "w") as f:
    {layer}
net = hdf5.Network("stock.net")
"""


def test_integers_of_arrays(python):
    layer = """
    g = f.create_group("layer/0")
    g["type"], g["shape"] = np.array([b"input"]), np.array([4])
    g["weight"], g["bias"] = np.array([64.0]), np.array([3.0])
    n = g.create_group("neuron")
    n["type"] = "CUBA"
    n["iDecay"], n["vDecay"], n["vThMant"], n["refDelay"] = 4096, 0, 64, 1
    """
    layer = "; ".join(line.strip() for line in layer.strip().splitlines())
    code = STOCK.format(layer=layer) + (
        "assert net.in_layer.transform == {'weight': 64, 'bias': 3}, net.in_layer.transform\n"
        "print('fine')\n"
    )
    check(python, "integers of arrays", code, "array")


@pytest.mark.parametrize("width", ["int8", "int16", "int32", "int64"])
def test_wide_scalars(python, width):
    layer = f"""
    g = f.create_group("layer/0")
    g["type"], g["shape"] = np.array([b"dense"]), np.array([2])
    g["inFeatures"], g["outFeatures"] = 3, 2
    g["weight"] = np.full((2, 3), 64.0)
    n = g.create_group("neuron")
    n["type"] = "CUBA"
    n["iDecay"], n["vDecay"], n["vThMant"] = (np.{width}(v) for v in (100, 100, 100))
    n["refDelay"] = 1
    """
    layer = "; ".join(line.strip() for line in layer.strip().splitlines())
    code = STOCK.format(layer=layer) + (
        "assert net.layers[0].neuron.vth.init << 9 == 51200, net.layers[0].neuron.vth.init << 9\n"
        "print('fine')\n"
    )
    if width in ("int8", "int16"):
        check(python, "wide scalars", code, "AssertionError")
    else:
        assert python(code).strip().endswith("fine")


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_start_method(python, method):
    code = f"""
    import multiprocessing
    multiprocessing.set_start_method({method!r})
    import lava.magma.runtime.message_infrastructure.multiprocessing
    assert multiprocessing.get_start_method() == {method!r}
    print("fine")
    """
    assert python(code).strip().endswith("fine")
    assert "already been set" in python(code, without="start method", expect=1)


def test_start_method_is_left_to_lava_where_nobody_set_one(python):
    code = """
    import multiprocessing
    import lava.magma.runtime.message_infrastructure.multiprocessing
    print(multiprocessing.get_start_method(allow_none=True))
    """
    assert python(code).strip().endswith("fork")
