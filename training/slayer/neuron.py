"""The learnable CE-LIF neuron with SLAYER's conventions, for blocks.

It owns its temporal encoding and bias, quantises the weights of its synapses by a pre-hook,
and tells in ``device_params`` what a device needs to know of it.
"""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import nn

from training.functional import ALPHA, BETA, THETA0, WIDTH, celif
from training.network import temporal_encoding
from training.slayer import mantissa as scaling
from training.support import checks


class Neuron(nn.Module):
    """A layer of CE-LIF neurons.

    Parameters
    ----------
    neurons
        Number of neurons; of images, the number of channels, whose pixels share TE and bias.
    steps
        Longest sequence T.
    alpha, beta, theta0, width
        As in :func:`training.functional.celif`.
    te
        ``"table"`` or ``"cosine"``, see :mod:`training.network.temporal_encoding`: the layer has
        its own. Or one
        to share with other layers, of at least ``neurons`` rows and ``steps`` columns: a table,
        or the ``te`` of another neuron.
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
        te: str | nn.Parameter | temporal_encoding.Cosine | None = None,
        bias: bool = True,
        weight_bits: int = 8,
        backend: str = "auto",
    ) -> None:
        super().__init__()
        if te is None or isinstance(te, str):
            te = temporal_encoding.start(te or "table", neurons, steps)
        elif len(te.shape) != 2 or te.shape[0] < neurons or te.shape[1] != steps:
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
    def te_table(self) -> torch.Tensor:
        """The temporal encoding (neuron, step), differentiable in its parameters."""
        return temporal_encoding.table(self.te)

    @classmethod
    def of(cls, owner: str, params: dict[str, Any], neurons: int | None = None) -> Neuron:
        """The neurons of a block ``owner``, from its ``neuron_params``, which stay as they are."""
        known = [name for name in inspect.signature(cls).parameters if name != "neurons"]
        required = {"steps": "the longest sequence"}
        if neurons is None:
            known, required = ["neurons", *known], {"neurons": "one per channel", **required}
        unknown = [name for name in params if name not in known]
        if unknown:
            raise ValueError(
                f"{owner} neuron_params: expected {', '.join(known)}, got {unknown[0]!r}; "
                "leave it out"
            )
        for name, meaning in required.items():
            if name not in params:
                raise ValueError(
                    f"{owner} neuron_params: expected {name!r}, {meaning}, "
                    f"got only {sorted(params)}; add e.g. {name!r}: 100"
                )
        return cls(**params) if neurons is None else cls(neurons, **params)

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

    def quantize_weight(
        self, weight: torch.Tensor, descale: bool = False, largest: float | None = None
    ) -> torch.Tensor:
        """Pre-hook of the synapse: weights on the grid that export will use."""
        return scaling.fake_quantise(weight, self.weight_bits, descale, largest)

    def forward(self, x: torch.Tensor, weight_rec: torch.Tensor | None = None) -> torch.Tensor:
        """Spikes of synaptic input (batch, neuron, time) or (batch, channel, row, column, time).

        ``weight_rec`` (to, from) feeds the spikes of each step back into the next.
        """
        if x.ndim == 5:
            # To the scan, the pixels of a channel are samples: all have its TE and bias.
            batch, channels, height, width, steps = x.shape
            pixels = x.permute(0, 2, 3, 1, 4).reshape(-1, channels, steps)
            spikes = self(pixels).reshape(batch, height, width, channels, steps)
            self.shape = torch.Size([channels, height, width])
            return spikes.permute(0, 3, 1, 2, 4)
        checks.sequence("CELIF input", x, self.num_neurons, self.steps)
        p = (self.alpha, self.beta, self.theta0, self.width)
        return celif(
            x, self.te_table, *p, backend=self.backend, bias=self.bias, weight_rec=weight_rec
        )
