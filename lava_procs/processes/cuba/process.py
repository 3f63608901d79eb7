"""SLAYER's CUBA neuron as a Process that knows its samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from lava.magma.core.process.process import AbstractProcess
from lava.proc.lif.process import LIFReset
from numpy.typing import ArrayLike

from export.loihi2 import CURRENT_SHIFT
from export.model.network import CubaLayer, Layer
from lava_procs.clock import Clock
from lava_procs.sampled import SampledProcess, Timing, per_row

if TYPE_CHECKING:
    from typing_extensions import Unpack


class CUBA(SampledProcess):
    """Lava's stock LIF, silent between samples; within a sample the two are the same.

    A stock LIF cannot be silenced: what it fires after the last step of a sample would reach the
    next one, wherever a shift, a delay or a recurrence takes its spikes a step further.

    Parameters
    ----------
    shape
        ``(neurons,)``.
    du, dv, vth, bias_mant
        Decays, threshold and biases as Lava's LIF takes them; one bias for all neurons, or one
        each.
    steps
        Steps of a sample.
    timing
        See :class:`lava_procs.sampled.Timing`. The float model rounds down what it divides by
        2^dense_exp, as a synapse does in fixed point.

    Notes
    -----
    The Vars are ``u``, ``v`` (before the reset), ``s`` and the parameters. Both models compute in
    integers, as SLAYER does.
    """

    layer_type: ClassVar[type[Layer]] = CubaLayer

    def __init__(
        self,
        *,
        shape: tuple[int, ...],
        du: int,
        dv: int,
        vth: int,
        steps: int,
        bias_mant: ArrayLike = 0,
        **timing: Unpack[Timing],
    ):
        bias = per_row(bias_mant, shape[0] if shape else 0)
        self.checked(shape, timing.get("name"), du=du, dv=dv, vth=vth, bias_mant=bias)
        super().__init__(shape=shape, steps=steps, **timing)
        self.states("u", "v", "s")
        self.registers(du=du, dv=dv, vth=vth, bias_mant=bias)

    @classmethod
    def layer_fields(cls, layer: CubaLayer) -> dict[str, Any]:
        bias = layer.per_neuron(layer.bias_mant)
        return {"du": layer.du, "dv": layer.dv, "vth": layer.vth, "bias_mant": bias}

    @classmethod
    def stock(cls, layer: CubaLayer, clock: Clock) -> AbstractProcess:
        return LIFReset(
            shape=(layer.neurons,),
            bias_exp=CURRENT_SHIFT,
            reset_interval=clock.period,
            reset_offset=clock.lag + 1,
            **cls.layer_fields(layer),
        )
