"""The learnable CE-LIF neuron with SLAYER's conventions, for blocks.

It owns its temporal encoding and bias, quantises the weights of its synapses by a pre-hook,
and tells in ``device_params`` what a device needs to know of it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from training import checks, scaling
from training.functional import ALPHA, BETA, THETA0, WIDTH, celif
from training.network import TE_MEAN, TE_STD


class Neuron(nn.Module):
    """A layer of CE-LIF neurons.

    Parameters
    ----------
    neurons
        Number of neurons.
    steps
        Longest sequence T.
    alpha, beta, theta0, width
        As in :func:`training.functional.celif`.
    te
        A table (at least ``neurons`` rows, ``steps`` columns) to share with other layers; by
        default the layer has its own.
    bias
        Whether each neuron has a learnable bias current.
    weight_bits
        Bits of the weight mantissas that :meth:`quantize_weight` rounds to.
    backend
        As in :func:`training.functional.celif`.
    """

    # One, as a decay's mantissa: Loihi 2 has 12 bits for it. ``export.loihi2`` is where that
    # stands, but the arrows do not lead from here to there.
    p_scale = 1 << 12
    # SLAYER's blocks ask for it: our state starts afresh with every sequence.
    persistent_state = False

    def __init__(
        self,
        neurons: int,
        steps: int,
        *,
        alpha: float = ALPHA,
        beta: float = BETA,
        theta0: float = THETA0,
        width: float = WIDTH,
        te: nn.Parameter | None = None,
        bias: bool = True,
        weight_bits: int = 8,
        backend: str = "auto",
    ) -> None:
        super().__init__()
        if te is None:
            te = nn.Parameter(torch.normal(TE_MEAN, TE_STD, (neurons, steps)))
        elif te.ndim != 2 or te.shape[0] < neurons or te.shape[1] != steps:
            raise ValueError(
                f"te: expected at least {neurons} rows and {steps} columns, "
                f"got shape {tuple(te.shape)}"
            )
        if not 2 <= weight_bits <= 8:
            raise ValueError(f"weight_bits: expected 2..8, got {weight_bits}")
        self.shape, self.num_neurons, self.steps = torch.Size([neurons]), neurons, steps
        self.alpha = checks.scalar("alpha", alpha, 0, 1, open_high=True)
        self.beta = checks.scalar("beta", beta, 0, 1, open_high=True)
        self.theta0 = checks.scalar("theta0", theta0, -1e6, 1e6)
        self.width = checks.scalar("width", width, 0, 1e6)
        self.weight_bits, self.backend = weight_bits, backend
        self.te = te
        self.bias = nn.Parameter(torch.zeros(neurons)) if bias else None

    @property
    def device_params(self) -> dict[str, Any]:
        """What a device needs and no calibration changes; the rest is chosen at export."""
        return {
            "type": "CELIF",
            "alphaMant": self._mantissa("alpha", self.alpha),
            "betaMant": self._mantissa("beta", self.beta),
            "wgtBits": self.weight_bits,
        }

    def _mantissa(self, name: str, decay: float) -> int:
        mantissa = round(decay * self.p_scale)
        if mantissa == self.p_scale:  # no decay at all, which is another neuron
            raise ValueError(
                f"{name}: expected at most {1 - 0.5 / self.p_scale:.5f} on a device, got {decay}; "
                "use a faster decay"
            )
        return mantissa

    def quantize_weight(self, weight: torch.Tensor, descale: bool = False) -> torch.Tensor:
        """Pre-hook of the synapse: weights on the grid that export will use."""
        return scaling.fake_quantise(weight, self.weight_bits, descale)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Spikes (batch, neuron, time) of synaptic input of the same shape."""
        checks.sequence("CELIF input", x, self.num_neurons, self.steps)
        p = (self.alpha, self.beta, self.theta0, self.width)
        return celif(x, self.te, *p, backend=self.backend, bias=self.bias)
