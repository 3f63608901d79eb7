"""Every mend, in one table: where, why, and when it is needed."""

from __future__ import annotations

from lava_procs.mends import repairs
from lava_procs.mends.deferred import defer, on_demand
from lava_procs.mends.hook import Mend

_SLAYER, _NETX = "lava.lib.dl.slayer", "lava.lib.dl.netx"


def always() -> bool:
    """Deferred imports help every version."""
    return True


MENDS = (
    Mend(
        "hashable defaults",
        ("lava.magma.compiler.var_model",),
        "Python 3.11 and later refuse the module: a dataclass's default must have a hash.",
        repairs.unhashable_defaults_are_refused,
        repairs.hashable_byte_encoder,
    ),
    Mend(
        "start method",
        ("lava.magma.runtime.message_infrastructure.multiprocessing",),
        "Lava sets multiprocessing's start method to fork, and fails if a DataLoader's worker or "
        "a Queue has fixed one before, even the same one.",
        repairs.start_method_is_set,
        repairs.start_method_kept,
    ),
    Mend(
        "reshape by place",
        ("lava.magma.core.process.ports.ports",),
        "numpy 2.4 knows no argument newshape: convolutions and Flatten would fail while running.",
        repairs.newshape_is_refused,
        repairs.reshape_by_place,
    ),
    Mend(
        "integers of arrays",
        ("lava.lib.dl.netx.hdf5",),
        "numpy 2.4 makes no integer of an array of one number: stock files with a weighted input "
        "layer would not load.",
        repairs.arrays_are_no_integers,
        repairs.integers_of_arrays,
    ),
    Mend(
        "wide scalars",
        ("lava.lib.dl.netx.utils",),
        "numpy 2 keeps the width of scalars: thresholds that a stock file stores in 8 or 16 bits "
        "would wrap silently.",
        repairs.scalars_keep_their_width,
        repairs.wide_scalars,
    ),
    Mend(
        "object detection on demand",
        (_SLAYER,),
        "SLAYER imports its object detection, which needs torchvision and OpenCV; netx uses none "
        "of it, and it takes a second.",
        always,
        on_demand(f"{_SLAYER}.object_detection", "object_detection", "obd"),
    ),
    Mend(
        "netx without SLAYER",
        ("lava.lib.dl.netx.hdf5",),
        "netx imports all of SLAYER, and with it torch, for a function that only layers of "
        "resonators call.",
        always,
        defer(calls={f"{_SLAYER}.neuron.rf": ("neuron_params",)}),
    ),
    Mend(
        "sequential modules on demand",
        (_NETX,),
        "netx imports torch for modules that wrap networks for PyTorch.",
        always,
        on_demand(f"{_NETX}.sequential_modules", "sequential_modules", "modules"),
    ),
    Mend(
        "pyplot on demand",
        (f"{_SLAYER}.io", f"{_SLAYER}.utils.stats"),
        "SLAYER imports pyplot for plots that nobody may ask for.",
        always,
        defer("matplotlib", "matplotlib.pyplot", "matplotlib.animation"),
    ),
    Mend(
        "scipy.signal on demand",
        ("lava.proc.conv.utils",),
        "Lava imports scipy.signal for a convolution that only the models of Conv compute.",
        always,
        defer("scipy.signal"),
    ),
    Mend(
        "CUDA extensions on demand",
        (
            f"{_SLAYER}.neuron.dynamics.leaky_integrator",
            f"{_SLAYER}.neuron.dynamics.adaptive_threshold",
            f"{_SLAYER}.neuron.dynamics.resonator",
            f"{_SLAYER}.neuron.dynamics.adaptive_phase_th",
            f"{_SLAYER}.neuron.dynamics.adaptive_resonator",
            f"{_SLAYER}.utils.time.shift",
            f"{_SLAYER}.utils.filter.conv",
        ),
        "SLAYER imports torch's builder of C++ extensions, which needs setuptools and reports on "
        "CUDA, for kernels that it compiles on GPUs only.",
        always,
        defer(calls={"torch.utils.cpp_extension": ("load",)}),
    ),
)
"""The mends; several of one module are applied in this order, the first around the others."""
