"""SLAYER's sigma-delta neuron as a Process that knows its samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from numpy.typing import ArrayLike

from export.loihi2 import MESSAGE_BITS_MAX
from export.model.network import Layer, SigmaDeltaLayer
from lava_procs.sampled import SampledProcess, Timing, per_row

if TYPE_CHECKING:
    from typing_extensions import Unpack


class SigmaDelta(SampledProcess):
    """Lava's stock SigmaDelta, which starts every sample from zero and is silent between them.

    Parameters
    ----------
    shape
        ``(neurons,)``.
    vth, bias_mant
        Threshold and biases as SLAYER exports them; one bias for all neurons, or one each.
    input_exp
        An input of m stands for m · 2^−input_exp; 0 for spikes.
    steps
        Steps of a sample.
    timing
        See :class:`lava_procs.sampled.Timing`.

    Notes
    -----
    The Vars are ``sigma``, ``act``, ``residue`` and the message ``s``, then ``shift`` of the
    synaptic sum, ``vth`` and ``bias`` in the state's unit, see :mod:`export.steps.sigma_delta`.
    """

    layer_type: ClassVar[type[Layer]] = SigmaDeltaLayer
    message_bits: ClassVar[int] = MESSAGE_BITS_MAX

    def __init__(
        self,
        *,
        shape: tuple[int, ...],
        vth: int,
        steps: int,
        bias_mant: ArrayLike = 0,
        input_exp: int = 0,
        **timing: Unpack[Timing],
    ):
        fields = {"vth": vth, "bias_mant": per_row(bias_mant, shape[0] if shape else 0)}
        layer = self.checked(shape, timing.get("name"), input_exp=input_exp, **fields)
        super().__init__(shape=shape, steps=steps, **timing)
        self.states("sigma", "act", "residue", "s")
        self.registers(**layer.params._asdict())

    @classmethod
    def layer_fields(cls, layer: SigmaDeltaLayer) -> dict[str, Any]:
        bias = layer.per_neuron(layer.bias_mant)
        return {"vth": layer.vth, "bias_mant": bias, "input_exp": layer.input_exp}
