"""What an export chose and what it cost, layer by layer."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from export.convert.float_network import FloatLayer
from export.convert.formats import Choice
from export.convert.round import scales
from export.loihi2 import STATE_MAX
from export.model.lif import LeakyLayer
from export.model.network import CelifLayer, Encoding
from training.support.summary import Summarised, Summary


def plain(value: int | np.ndarray) -> int | list[int]:
    """An exponent, or exponents, for JSON."""
    return value.tolist() if isinstance(value, np.ndarray) else int(value)


@dataclass(frozen=True)
class LayerReport:
    """Formats and errors of a layer; errors are the largest, in the float's own unit.

    A layer without TE has 0 for its bits, exponent and bytes, and ``none`` for its encoding.
    """

    name: str
    neurons: int
    inputs: int
    fraction_bits: int
    proven: bool
    """Whether saturation is excluded for every input, not only in calibration."""
    verdict: str
    """Where it is not: which register can overflow, and what to change."""
    headroom_bits: float
    """Bits between the largest state (proven, or seen) and the end of the register."""
    weight_bits: int
    te_bits: int
    te_encoding: str
    """``table``, ``packed`` or ``cosine``, see :mod:`export.model.te`."""
    te_hold: int
    weight_exp: int | list[int]
    te_exp: int | list[int]
    """Exponents: one for all, or one per output channel."""
    bias_exp: int
    weight_error: float
    te_error: float
    bias_error: float
    alpha_error: float
    beta_error: float
    weight_bytes: int
    te_bytes: int

    @classmethod
    def of(cls, layer: LeakyLayer, values: FloatLayer, choice: Choice) -> LayerReport:
        """Compare a layer's integers with the floats they came from."""

        def largest(integers: np.ndarray, unit: np.ndarray | float, floats: np.ndarray) -> float:
            return float(np.abs(integers * unit - floats).max())

        unit = 1 / scales(layer.weight_exp, layer.weight.ndim)
        worth = values.input_scale * 2.0**layer.input_exp
        te: dict[str, Any] = dict.fromkeys(
            ("te_bits", "te_hold", "te_exp", "te_error", "te_bytes"), 0
        )
        te["te_encoding"] = "none"
        if isinstance(layer, CelifLayer):
            te = {
                "te_bits": layer.te_bits,
                "te_encoding": layer.te_form.encoding,
                "te_hold": layer.te_form.hold,
                "te_exp": plain(layer.te_exp),
                "te_error": largest(layer.te, 1 / scales(layer.te_exp, 2), values.te),
                "te_bytes": layer.te_form.bytes(layer.rows, layer.te.shape[1], layer.te_bits),
            }
        exact = layer.floats

        return cls(
            name=layer.name,
            neurons=layer.neurons,
            inputs=layer.inputs,
            fraction_bits=layer.fraction_bits,
            proven=choice.proven,
            verdict=choice.verdict,
            headroom_bits=float(np.log2(STATE_MAX / max(choice.largest_state, 1))),
            weight_bits=layer.weight_bits,
            weight_exp=plain(layer.weight_exp),
            bias_exp=layer.bias_exp,
            weight_error=largest(layer.weight, unit, values.folded_weight(layer.input_exp)) / worth,
            bias_error=largest(layer.bias, 2.0**-layer.fraction_bits, values.bias),
            alpha_error=float(np.abs(exact["alpha"] - values.alpha).max()),
            beta_error=float(np.abs(exact.get("beta", values.beta) - values.beta).max()),
            weight_bytes=layer.weight.size * layer.weight_bits // 8,
            **te,
        )


@dataclass(frozen=True)
class ExportReport(Summarised):
    """Result of :func:`export.to_netx`: formats and errors, layer by layer."""

    path: Path
    file_bytes: int
    encoding: Encoding
    layers: tuple[LayerReport, ...]

    def summary(self) -> Summary:
        """Return the formats and the largest rounding errors of every CE-LIF layer."""
        rows = tuple(
            (
                layer.name,
                f"{layer.neurons}×{layer.inputs}",
                str(layer.fraction_bits),
                "proven" if layer.proven else "calibrated",
                f"{layer.weight_bits} bits ± {layer.weight_error:.0e}",
                f"{layer.te_bits} bits ± {layer.te_error:.0e}",
            )
            for layer in self.layers
        )
        columns = ("layer", "shape", "F", "range", "weights", "TE")
        return Summary(f"{self.path} ({self.file_bytes:,} bytes)", columns, rows)

    @property
    def proven(self) -> bool:
        """Whether no register of any CE-LIF layer can saturate, whatever the input."""
        return all(layer.proven for layer in self.layers)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        code = self.encoding
        return {
            "path": str(self.path),
            "file_bytes": self.file_bytes,
            "proven": self.proven,
            "input": {"scale": code.scale, "bits": code.bits, "signed": code.signed},
            "layers": [asdict(layer) for layer in self.layers],
        }
