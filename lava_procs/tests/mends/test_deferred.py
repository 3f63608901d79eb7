"""Deferred imports: not there until used, and then the real thing."""

from __future__ import annotations

import pytest

HEAVY = ("torch", "torchvision", "cv2", "matplotlib", "scipy.signal", "lava.lib.dl.slayer")


def test_netx_imports_nothing_that_it_does_not_need(python):
    code = f"""
    import lava.lib.dl.netx.hdf5
    print([name for name in {HEAVY} if name in sys.modules])
    """
    assert python(code).strip() == "[]"


def test_slayer_imports_neither_plots_nor_vision(python):
    code = f"""
    from lava.lib.dl import slayer
    print([name for name in {HEAVY[1:5]} if name in sys.modules])
    assert slayer.block.cuba.Dense and slayer.io.Event and slayer.utils.LearningStats
    assert "torch.utils.cpp_extension" not in sys.modules
    """
    assert python(code).strip() == "[]"


def test_resonators_still_get_their_parameters(python):
    code = """
    from lava.lib.dl.netx import hdf5
    found = hdf5.get_rf_params({"sinDecay": 1000, "cosDecay": 3000, "vThMant": 64})
    from lava.lib.dl.slayer.neuron import rf
    assert found == rf.neuron_params({"sinDecay": 1000, "cosDecay": 3000, "vThMant": 64})
    print(sorted(found))
    """
    assert "period" in python(code)


def test_plots_are_drawn_by_the_real_pyplot(python):
    code = """
    from lava.lib.dl.slayer.utils import stats
    import matplotlib
    matplotlib.use("Agg")
    found = stats.plt.figure()
    import matplotlib.pyplot as plt
    assert isinstance(found, plt.Figure)
    assert sys.modules["matplotlib.pyplot"] is plt
    assert matplotlib.pyplot is plt
    print("fine")
    """
    assert python(code).strip() == "fine"


def test_convolutions_are_computed_by_the_real_scipy(python):
    code = """
    import numpy as np
    from lava.proc.conv import utils
    assert "scipy.signal" not in sys.modules
    got = utils.signal.convolve2d(np.eye(3), np.ones((2, 2)))
    import scipy.signal
    assert (got == scipy.signal.convolve2d(np.eye(3), np.ones((2, 2)))).all()
    print("fine")
    """
    assert python(code).strip() == "fine"


@pytest.mark.parametrize(
    ("package", "name", "module"),
    [
        ("lava.lib.dl.netx", "modules", "lava.lib.dl.netx.sequential_modules"),
        ("lava.lib.dl.slayer", "obd", "lava.lib.dl.slayer.object_detection"),
    ],
)
def test_submodule_comes_when_it_is_asked_for(python, package, name, module):
    code = f"""
    import importlib
    package = importlib.import_module({package!r})
    assert {module!r} not in sys.modules
    try:
        package.{name}
    except ModuleNotFoundError as error:
        assert error.name in ("torchvision", "cv2"), error
    except Exception as error:  # torchvision of another torch than this
        assert "torchvision" in str(error), error
    else:
        assert package.{name} is sys.modules[{module!r}]
    try:
        package.no_such_name
    except AttributeError as error:
        print(error)
    """
    # Object detection itself reports on a data set's tools that are not installed.
    said = f"module '{package}' has no attribute 'no_such_name'"
    assert python(code).strip().endswith(said)
