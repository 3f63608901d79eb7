"""The readout as a Lava Process: sums over the sample in 32 bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from numpy.typing import ArrayLike

from export.loihi2 import SUM_BITS, WEIGHT_BITS
from export.model.network import Layer, ReadoutLayer
from lava_procs.sampled import SampledProcess, Timing, per_row

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Readout(SampledProcess):
    """Adds up what arrives, plus a bias, at every step of a sample; every sample starts at 0.

    A stock LIF would not do: 784 steps × 152 inputs × 127 passes its 24 bits.

    Parameters
    ----------
    shape
        ``(classes,)``.
    steps
        Steps of a sample.
    bias
        Added at every step; one for all classes or one each.
    timing
        See :class:`lava_procs.sampled.Timing`. The probe takes the sums after the last step.

    Notes
    -----
    Var ``acc`` and OutPort ``s_out`` hold the running sums. They are exact integers in the float
    model too, as weights are mantissas.
    """

    layer_type: ClassVar[type[Layer]] = ReadoutLayer
    message_bits: ClassVar[int] = SUM_BITS

    def __init__(
        self,
        *,
        shape: tuple[int, ...],
        steps: int,
        bias: ArrayLike = 0,
        **timing: Unpack[Timing],
    ):
        fields = {"weight_exp": 0, "weight_bits": WEIGHT_BITS}
        bias = per_row(bias, shape[0] if shape else 0)
        self.checked(shape, timing.get("name"), bias=bias, **fields)
        super().__init__(shape=shape, steps=steps, **timing)
        self.states("acc")
        self.registers(bias=bias)

    @classmethod
    def layer_fields(cls, layer: ReadoutLayer) -> dict[str, Any]:
        return {"bias": layer.bias}
