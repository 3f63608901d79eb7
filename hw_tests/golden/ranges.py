"""The ends between which the values of a layer's listing lie, from which its widths follow."""

from __future__ import annotations

from typing import Any

import numpy as np

from export import FixedNetwork, loihi2
from export.fit import microcode, programs
from export.fit.microcode import Interval
from export.model.lif import LeakyLayer
from export.model.network import CelifLayer, ReadoutLayer
from export.model.slayer import CubaLayer, SigmaDeltaLayer
from export.model.te import CosineTable

_STATE = (-loihi2.STATE_MAX, loihi2.STATE_MAX)
_SUM = (-loihi2.READOUT_MAX - 1, loihi2.READOUT_MAX)
_SPIKE = (0, 1)


def _ends(values: Any) -> Interval:
    return int(np.min(values)), int(np.max(values))


def needed_bits(net: FixedNetwork, i: int) -> list[int]:
    """Bits that hold what each instruction of layer ``i`` writes, for any input."""
    layer = net.all_layers[i]
    limits = net.encoding.range if i == 0 else net.all_layers[i - 1].output_range
    least, most = layer.arriving(*limits)
    constants: dict[str, Interval] = {"acc": (int(least.min()), int(most.max()))}
    arrays: dict[str, Interval] = {}
    memory: dict[str, Interval] = {}
    if isinstance(layer, CelifLayer):
        memory = {"theta": _STATE, "v": _STATE, "s": _SPIKE, "bias_mant": _ends(layer.bias_mant)}
        for name in ("alpha_mant", "beta_mant", "theta0_int", "te_exp", "shift", "bias_exp"):
            own = memory if name in layer.own_decays else constants
            own[name] = _ends(getattr(layer, name))
        constants["te_mask"] = _ends((1 << np.asarray(layer.te_exp, np.int64)) - 1)
        constants["column"] = (0, (net.steps - 1) // layer.te_form.hold)
        if isinstance(layer.te_form, CosineTable):
            memory["phase"] = (0, (1 << loihi2.PHASE_BITS) - 1)
            memory["increment"] = _ends(layer.te_form.increment)
            arrays["wave"] = _ends(layer.te_form.wave)
        else:
            arrays["te_row"] = _ends(layer.te_form.stored(layer.te))
    elif isinstance(layer, LeakyLayer):
        registers = dict.fromkeys(layer.registers.values(), _STATE)
        memory = {**registers, "s": _SPIKE, "bias_mant": _ends(layer.bias_mant)}
        for name in (*layer.constants, "shift", "bias_exp"):
            own = memory if name in layer.own_decays else constants
            own[name] = _ends(getattr(layer, name))
    elif isinstance(layer, CubaLayer):
        # Lava's wrap takes off one turn at most, so U may leave the register; the sum bounds it.
        reach = loihi2.STATE_MAX + 1 + (max(map(abs, constants["acc"])) << loihi2.CURRENT_SHIFT)
        memory = {"u": (-reach, reach), "v": _STATE, "s": _SPIKE}
        memory["bias_mant"] = _ends(layer.bias_mant)
        constants |= {name: _ends(getattr(layer, name)) for name in ("du", "dv", "vth")}
    elif isinstance(layer, SigmaDeltaLayer):
        memory = dict.fromkeys(("sigma", "act", "residue"), _SUM)
        memory["bias_mant"] = _ends(layer.bias_mant)
        constants |= {"shift": _ends(layer.params.shift), "vth": _ends(layer.vth)}
    elif isinstance(layer, ReadoutLayer):
        before = layer.worst_case(net.steps - 1)
        memory = {"sum": (-before, before), "bias": _ends(layer.bias)}
    return microcode.widths(programs.program_of(layer), memory, constants, arrays)
