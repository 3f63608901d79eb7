"""What every layer has: synapses, a place in time, and the tables that other rooms read.

A kind of neuron is a class below :class:`SpikingLayer`. Reader, writer, twin, certificate, fit and
Lava's network read its class attributes and methods; none of them knows the class by name.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from export import checks, loihi2
from export.checks import ModelError
from export.model import geometry as synapses
from export.model.fields import NetxField
from export.model.geometry import Geometry, Shape
from export.steps.listing import Program

SPIKE_BITS = 1
BIAS_BITS = loihi2.BIAS_MANT_MAX.bit_length() + 1
SHIFT_BITS = 5
"""Width of an exponent that differs between neurons."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Layer:
    """Synapses and place in time of a layer.

    Attributes
    ----------
    weight
        (neuron, input), or, with ``geometry``, kernels (out channel, in channel, height, width).
    weight_rec
        Of a recurrent layer, (neuron, neuron): the spikes of step k reach its own neurons at
        step k + 1, whatever the delays of its output.
    lag
        d of the time index k = (time_step − 1 − d) mod P: the synapses before the layer, less the
        shifted blocks before it.
    delay_shift
        Whether the layer's output moves one step later, as SLAYER's blocks do.
    delay
        Number of further steps by which the output of each row moves, or None.
    input_exp
        An input of m counts as m · 2^−input_exp relative to the layer's own spikes and weights; 0
        for spikes.
    """

    name: str
    weight: np.ndarray
    geometry: Geometry | None = None
    weight_rec: np.ndarray | None = None
    lag: int
    delay_shift: bool
    delay: np.ndarray | None = None
    input_exp: int = 0

    kind: ClassVar[str] = ""
    """Name of the neuron in a file (``neuron/type``) and everywhere else."""
    netx: ClassVar[tuple[NetxField, ...]] = ()
    """The fields that are in a file, in the order in which they are written."""
    weight_type: ClassVar[type[np.generic]] = np.int8
    """Type of the weights in a file."""
    requantisable: ClassVar[bool] = True
    """Whether an export chooses the weights' format; SLAYER's layers bring their integers."""
    multiplications: ClassVar[int] = 0
    """Multiplications of a neuron at every step, not counting synapses."""
    message_bits: ClassVar[int] = 0
    """Bits of a message that a neuron sends, as Lava counts them: 0 for spikes."""
    lava_sum_shift: ClassVar[int] = loihi2.SYNAPSE_SHIFT
    """Number of bits by which Lava shifts a synaptic sum left, in 32 bits."""
    output_range: ClassVar[tuple[int, int]] = (0, 1)
    """Smallest and largest value that a neuron sends."""
    output_exp: ClassVar[int] = 0
    """An output of m stands for m · 2^−output_exp."""

    def __post_init__(self) -> None:
        checks.array(self.name, "weight", self.weight, 2 if self.geometry is None else 4)
        if self.geometry is not None:
            self.geometry.check(self.name, self.weight)
        checks.integer(self.name, "lag", self.lag, 1, 1 << 16)
        if self.weight_rec is not None:
            self._check_recurrence(self.weight_rec)
        if self.delay is not None:
            self._per_row("delay", self.delay, 0, loihi2.DELAY_MAX)
        checks.integer(self.name, "input_exp", self.input_exp, 0, loihi2.MESSAGE_BITS_MAX)

    def check_place(self, unit: int, steps: int) -> None:
        """Refuse a place in a network whose inputs stand for m · 2^−``unit``, for ``steps`` steps.

        A network calls this for each of its layers; the base class accepts every place.
        """

    @property
    def state_bits(self) -> int:
        """Bits that a neuron keeps from step to step, and those of its own constants."""
        raise NotImplementedError

    def _check_recurrence(self, weight: np.ndarray) -> None:
        if self.geometry is not None:
            raise ModelError.about(self.name, "weight_rec", "none with a convolution", "some")
        square = (self.neurons, self.neurons)
        if weight.shape != square:
            raise ModelError.about(self.name, "weight_rec", f"shape {square}", weight.shape)

    @property
    def rows(self) -> int:
        """Number of output channels, each with a row of weights, of TE and a bias."""
        return self.weight.shape[0]

    @functools.cached_property
    def positions(self) -> int:
        """Neurons that share a row: 1, or the pixels of a convolution's output."""
        return self.neurons // self.rows

    @functools.cached_property
    def neurons(self) -> int:
        """Number of outputs."""
        return self.weight.shape[0] if self.geometry is None else self.output_shape.size

    @property
    def inputs(self) -> int:
        """Number of inputs."""
        return self.weight.shape[1] if self.geometry is None else self.geometry.input_shape.size

    @property
    def output_shape(self) -> Shape:
        """Channels, height and width of the output."""
        if self.geometry is None:
            return Shape(self.rows, 1, 1)
        return self.geometry.output_shape(self.weight)

    @property
    def matrix(self) -> np.ndarray:
        """The weights as one matrix (neuron, input), whatever their geometry."""
        return synapses.matrix(self.weight, self.geometry)

    @property
    def sum_right_shift(self) -> int:
        """Number of bits by which the synapses shift sums of inputs right, rounding down."""
        return 0

    @property
    def recurrent_shift(self) -> int:
        """Number of bits by which a recurrent layer's own sums are shifted left; right if negative.

        This gives them the unit of the sums that they are added to.
        """
        return self.input_exp - self.sum_right_shift

    @property
    def output_delay(self) -> np.ndarray:
        """Number of steps by which the output of each neuron moves."""
        delay = np.zeros(self.rows, np.int64) if self.delay is None else self.delay
        return self.per_neuron(delay + int(self.delay_shift))

    @property
    def gap(self) -> int:
        """Number of silent steps after a sample that keep its spikes out of the next one."""
        return max(int(self.output_delay.max()), int(self.weight_rec is not None))

    def per_neuron(self, values: np.ndarray) -> np.ndarray:
        """Repeat what each row has for each of its neurons."""
        return values if self.positions == 1 else np.repeat(values, self.positions, axis=0)

    def extremes(self, low: int, high: int) -> tuple[np.ndarray, np.ndarray]:
        """Smallest and largest synaptic sum of every neuron, for inputs in ``low``..``high``."""
        least, most = synapses.extremes(self.weight, self.geometry, low, high)
        if self.weight_rec is not None:
            own = synapses.extremes(self.weight_rec, None, *self.output_range)
            least, most = least + (own[0] << self.input_exp), most + (own[1] << self.input_exp)
        return least, most

    def arriving(self, low: int, high: int) -> tuple[np.ndarray, np.ndarray]:
        """Smallest and largest value that reaches every neuron: sums, shifted by the synapses."""
        least, most = synapses.extremes(self.weight, self.geometry, low, high)
        least, most = least >> self.sum_right_shift, most >> self.sum_right_shift
        if self.weight_rec is not None:
            own = synapses.extremes(self.weight_rec, None, *self.output_range)
            least, most = least + self.align_recurrent(own[0]), most + self.align_recurrent(own[1])
        return least, most

    def align_recurrent(self, sums: np.ndarray) -> np.ndarray:
        """Return the sums of a recurrent layer's own spikes in the unit of the other sums."""
        return (
            sums << self.recurrent_shift
            if self.recurrent_shift > 0
            else sums >> -self.recurrent_shift
        )

    def largest_sum(self, input_max: int) -> int:
        """Largest |sum|, partial or whole, of inputs up to ±``input_max``."""
        most = synapses.total(np.abs(self.weight, dtype=np.int64), self.geometry) * input_max
        if self.weight_rec is not None:
            most = most + (np.abs(self.weight_rec).sum(1) << self.input_exp)
        return int(most.max())

    def _per_row(self, field: str, value: np.ndarray, low: int, high: int) -> None:
        checks.per_neuron(self.name, field, value, 1, self.rows)
        checks.integers(self.name, field, value, low, high)

    def _check_weights(self, low: int, high: int) -> None:
        checks.integers(self.name, "weight", self.weight, low, high)
        if self.weight_rec is not None:
            checks.integers(self.name, "weight_rec", self.weight_rec, low, high)


class RegisterEnds(NamedTuple):
    """The largest magnitude of a register, proven for every input, and the limit it must keep."""

    register: str
    values: np.ndarray
    """(neuron, step)."""
    limit: int


@dataclass(frozen=True, eq=False, kw_only=True)
class SpikingLayer(Layer):
    """A layer of neurons that fire, or send graded messages.

    A subclass is a kind of neuron. It has the methods below, and its registers by the names
    that a reader knows, each with the array of :class:`export.model.trace.Trace` that shows it.
    """

    registers: ClassVar[dict[str, str]] = {"V": "v"}
    step_at: ClassVar[Callable[..., Any] | None] = None
    """The step of neuron n, on arrays; None for kinds that have a scan of their own in the twin."""

    @property
    def params(self) -> Any:
        """The constants, as the kind's step takes them: a value for all neurons, or one each."""
        raise NotImplementedError

    def start(self, rest: np.ndarray) -> Any:
        """State before the first step of a sample; ``rest`` are zeros (…, neuron)."""
        raise NotImplementedError

    def advance(self, acc: np.ndarray, k: int, state: Any) -> Any:
        """State after step k, on numpy arrays (…, neuron); ``acc`` are the synaptic sums."""
        raise NotImplementedError

    def bounds(self, least: np.ndarray, most: np.ndarray, steps: int) -> tuple[RegisterEnds, ...]:
        """Ends of the registers for every sequence of sums in ``least``..``most`` (neuron,)."""
        raise NotImplementedError

    def listing(self) -> Program:
        """One step of a neuron in generic instructions."""
        raise NotImplementedError


def magnitude(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Largest |x| of intervals from ``low`` to ``high``."""
    return np.maximum(np.abs(low), np.abs(high))
