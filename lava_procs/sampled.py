"""Neurons that know their samples: the base classes of our Processes and of their models.

A neuron of a celif file starts every sample from its resting state, computes at the steps of the
sample and is silent in between. :class:`SampledProcess` keeps the arguments and ports that all such
Processes share, :class:`SampledModel` their one ``run_spk``.

These classes are not in the folder of a Process, because Lava executes every file in such a folder.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict, TypeVar

import numpy as np
from lava.magma.core.decorator import implements, requires, tag
from lava.magma.core.model.py.model import PyLoihiProcessModel
from lava.magma.core.model.py.ports import PyInPort, PyOutPort
from lava.magma.core.model.py.type import LavaPyType
from lava.magma.core.process.ports.ports import InPort, OutPort
from lava.magma.core.process.process import AbstractProcess, LogConfig
from lava.magma.core.process.variable import Var
from lava.magma.core.resources import CPU
from lava.magma.core.sync.protocols.loihi_protocol import LoihiProtocol
from numpy.typing import ArrayLike

from export import ModelError
from export.loihi2 import STATE_BITS
from export.model.layer import Layer
from lava_procs.clock import Clock
from lava_procs.probes import Probe

if TYPE_CHECKING:
    from typing_extensions import Self

FLOAT = ("floating_pt",)
FIXED = ("fixed_pt", "bit_accurate_loihi")
"""Tags by which Lava selects the float and the integer model of a Process."""

Model = TypeVar("Model", bound=type)


class DeletableProcess(AbstractProcess):
    """A Process that may be deleted although its arguments were refused.

    Lava stops every Process when it is deleted, and looks for its runtime to do so.
    """

    _runtime: Any = None


class Timing(TypedDict, total=False):
    """Arguments that every :class:`SampledProcess` takes besides its neurons' parameters.

    Attributes
    ----------
    lag, period
        Time index, see :mod:`lava_procs.clock`. The lag defaults to 1, one synapse after the
        source, and the period to the steps of a sample.
    ignore_first
        Discard what arrives at k = 0: for a layer after a shifted block, whose first input is
        zero by construction.
    dense_exp
        The float model divides its input by 2^dense_exp. netx synapses hold weights twice their
        mantissas with ``weight_exp=-1``, which Lava's float Dense ignores.
    probe
        Prefix of trace files, see :mod:`lava_procs.probes`.
    name, log_config
        As in Lava.
    """

    lag: int
    period: int | None
    ignore_first: bool
    dense_exp: int
    probe: str | None
    name: str | None
    log_config: LogConfig | None


class SampledProcess(DeletableProcess):
    """A row of neurons that computes during samples and is silent between them.

    Parameters
    ----------
    shape
        ``(neurons,)``.
    steps
        Steps of a sample.
    model_params
        Further values that the models find in their ``proc_params``.
    lag, period, ignore_first, dense_exp, probe, name, log_config
        See :class:`Timing`.
    """

    layer_type: ClassVar[type[Layer]]
    """The class of layers that :meth:`from_layer` takes."""
    message_bits: ClassVar[int] = 0
    """Bits of the messages that the neurons send; 0 for spikes."""

    def __init__(
        self,
        *,
        shape: tuple[int, ...],
        steps: int,
        lag: int = 1,
        period: int | None = None,
        ignore_first: bool = False,
        dense_exp: int = 0,
        probe: str | None = None,
        name: str | None = None,
        log_config: LogConfig | None = None,
        **model_params: Any,
    ):
        if dense_exp < 0:
            owner = name or type(self).__name__
            raise ModelError(f"{owner} dense_exp: expected 0 or more, got {dense_exp}")
        self.shape = (int(shape[0]),)
        super().__init__(
            shape=self.shape,
            clock=Clock(lag, steps, steps if period is None else period),
            ignore_first=ignore_first,
            dense_exp=dense_exp,
            probe=probe,
            name=name,
            log_config=log_config,
            **model_params,
        )
        self.a_in = InPort(shape=self.shape)
        self.s_out = OutPort(shape=self.shape)

    @classmethod
    def checked(cls, shape: tuple[int, ...], name: str | None, **fields: Any) -> Any:
        """Return a layer of ``layer_type`` with these fields, all of whose ranges it has checked.

        A Process has no synapses, so the layer's weights are a stand-in.
        """
        owner = name or cls.__name__
        if len(shape) != 1 or shape[0] < 1:
            raise ModelError(f"{owner} shape: expected (neurons,), got {tuple(shape)}")
        weight = np.zeros((int(shape[0]), 1), np.int64)
        return cls.layer_type(name=owner, weight=weight, lag=1, delay_shift=False, **fields)

    @classmethod
    def layer_fields(cls, layer: Any) -> dict[str, Any]:
        """Return the constructor's arguments that a layer determines, one value per neuron."""
        raise NotImplementedError

    @classmethod
    def from_layer(cls, layer: Any, **timing: Any) -> Self:
        """Build the neurons of a layer of a netx file.

        ``timing`` holds ``steps`` and the arguments of :class:`Timing`; it overrides what the
        layer itself knows, its name and its lag.
        """
        fields = {"lag": layer.lag, "name": layer.name, **cls.layer_fields(layer)}
        return cls(shape=(layer.neurons,), **{**fields, **timing})

    @classmethod
    def stock(cls, layer: Any, clock: Clock) -> AbstractProcess | None:
        """Return Lava's own Process for a layer, or None where Lava has none that will do."""
        return None

    def states(self, *names: str) -> None:
        """Add Vars of one value per neuron, which start at 0."""
        for name in names:
            setattr(self, name, Var(shape=self.shape, init=0))

    def registers(self, **values: ArrayLike) -> None:
        """Add Vars of one value for all neurons, or of one each.

        Single values become arrays of one: Lava's ``get`` hangs on a model's Python floats.
        """
        for name, value in values.items():
            array = np.atleast_1d(value)
            setattr(self, name, Var(shape=array.shape, init=array))


def per_row(value: ArrayLike, rows: int) -> np.ndarray:
    """Return one value for all rows as one value for each; leave arrays as they are."""
    array = np.asarray(value)
    return np.full(rows, array) if array.ndim == 0 else array


def model_of(process: type[AbstractProcess], tags: tuple[str, ...]) -> Callable[[Model], Model]:
    """Declare a class to be a model of ``process`` on the CPU, selected by ``tags``."""

    def declare(cls: Model) -> Model:
        tagged = tag(*tags)(cls)
        return implements(proc=process, protocol=LoihiProtocol)(requires(CPU)(tagged))

    return declare


class SampledModel(PyLoihiProcessModel):
    """A model that starts every sample from its resting state and is silent between samples."""

    a_in: PyInPort
    s_out: PyOutPort

    def __init__(self, proc_params: Any):
        super().__init__(proc_params)
        self.clock: Clock = proc_params["clock"]
        self.ignore_first: bool = proc_params["ignore_first"]
        self.probe = Probe(proc_params["probe"])

    def begin(self) -> None:
        """Reset the state."""
        raise NotImplementedError

    def advance(self, arrived: np.ndarray, k: int) -> np.ndarray:
        """Take step k of a sample and return what to send."""
        raise NotImplementedError

    def record(self, sample: int, k: int) -> None:
        """Write the state after step k to the probe."""
        raise NotImplementedError

    def run_spk(self) -> None:
        """Run one time step."""
        arrived = self.a_in.recv()
        now = self.clock.at(self.time_step)
        if now is None:
            self.s_out.send(np.zeros_like(arrived))
        else:
            sample, k = now
            if k == 0:
                self.begin()
                if self.ignore_first:
                    arrived = np.zeros_like(arrived)
            self.s_out.send(self.advance(arrived, k))
            self.record(sample, k)
        self.probe.tick(self.time_step)


class IntegerModel(SampledModel):
    """A model that computes in integers, whatever arithmetic its synapses have.

    A subclass names the step and its state, whose fields are Vars of the Process.
    """

    step: ClassVar[Callable[..., Any]]
    """``step(sums, state, parameters)``, one of :mod:`export.steps`, as a staticmethod."""
    state_type: ClassVar[type[Any]]
    """The step's state, a NamedTuple; its field ``s`` is what the neurons send."""
    traced: ClassVar[dict[str, str]] = {"v": "v", "s": "s"}
    """The state's field that the probe keeps under each name."""

    def parameters(self) -> Any:
        """Return the registers in the step's form."""
        raise NotImplementedError

    def begin(self) -> None:
        for name in self.state_type._fields:
            getattr(self, name)[:] = 0
        self.p = self.parameters()

    def advance(self, arrived: np.ndarray, k: int) -> np.ndarray:
        names = self.state_type._fields
        state = self.state_type(*(getattr(self, name) for name in names))
        for name, value in zip(names, self.step(self.whole(arrived), state, self.p), strict=True):
            setattr(self, name, value)
        return self.s

    def record(self, sample: int, k: int) -> None:
        values = {name: getattr(self, field) for name, field in self.traced.items()}
        self.probe.write((sample, k), **values)

    def whole(self, arrived: np.ndarray) -> np.ndarray:
        """Return the synaptic sums as integers, shifted as fixed-point synapses shift theirs."""
        if np.issubdtype(arrived.dtype, np.floating):
            arrived = np.floor(np.ldexp(arrived, -self.proc_params["dense_exp"]))
        return arrived.astype(np.int64)


class FloatSums:
    """The input port of a model behind float synapses."""

    a_in: PyInPort = LavaPyType(PyInPort.VEC_DENSE, float)


class FixedSums:
    """The input port of a model behind fixed-point synapses."""

    a_in: PyInPort = LavaPyType(PyInPort.VEC_DENSE, np.int32, precision=STATE_BITS)
