"""A layer of neurons with SLAYER's conventions, for blocks.

The layer owns its temporal encoding and bias, quantises the weights of its synapses in a pre-hook,
and lists in ``device_params`` what a device needs to know about it.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from training import decays
from training import neurons as neuron_kinds
from training.functional import ALPHA, BETA, GAMMA, THETA0, WIDTH
from training.network import temporal_encoding
from training.neurons.kind import Drive, NeuronParams
from training.slayer import mantissa as scaling
from training.support import checks


class Neuron(nn.Module):
    """A layer of neurons, CE-LIF unless ``kind`` says otherwise.

    Parameters
    ----------
    neurons
        Number of neurons; for images, the number of channels, whose pixels share TE and bias.
    steps
        Length T of the longest sequence.
    kind
        Kind of the neurons, one of :data:`training.neurons.KINDS`.
    alpha, beta
        Membrane decay and threshold decay: a number, or one value per neuron.
    learn_alpha, learn_beta
        Whether every neuron learns its own α or β, starting from there, see
        :mod:`training.decays`.
    theta0, gamma, width
        Constants of the neurons, as in :class:`training.Network`.
    te
        Temporal encoding of kinds that have one. ``"table"`` (the default) or ``"cosine"`` gives
        the layer its own, see :mod:`training.network.temporal_encoding`. To share one with other
        layers, pass a table or the ``te`` of another neuron, with at least ``neurons`` rows and
        exactly ``steps`` columns.
    bias
        Whether each neuron has a learnable bias current.
    weight_bits
        Bits of the weight mantissas that :meth:`quantize_weight` rounds to.
    backend
        As in :func:`training.functional.celif`.
    """

    # The mantissa of a decay of one: Loihi 2 has 12 bits for decays. ``export.loihi2`` is the home
    # of that number, but this room must not import it.
    p_scale = 1 << 12
    # SLAYER's blocks read this; the state is reset at the start of every sequence.
    persistent_state = False

    def __init__(
        self,
        neurons: int,
        steps: int,
        *,
        kind: str = "celif",
        alpha: float | Sequence[float] = ALPHA,
        beta: float | Sequence[float] = BETA,
        learn_alpha: bool = False,
        learn_beta: bool = False,
        theta0: float = THETA0,
        gamma: float = GAMMA,
        width: float = WIDTH,
        te: str | nn.Parameter | temporal_encoding.Cosine | None = None,
        bias: bool = True,
        weight_bits: int = 8,
        backend: str = "auto",
    ) -> None:
        super().__init__()
        self.kind = neuron_kinds.find(kind)
        if not self.kind.has_te:
            if te is not None:
                raise ValueError(
                    f"te: expected none, because {kind} neurons have no temporal encoding; "
                    "leave it out"
                )
        elif te is None or isinstance(te, str):
            te = temporal_encoding.start(te or "table", neurons, steps)
        elif len(te.shape) != 2 or te.shape[0] < neurons or te.shape[1] != steps:
            raise ValueError(
                f"te: expected at least {neurons} rows and {steps} columns, "
                f"got shape {tuple(te.shape)}"
            )
        if not 2 <= weight_bits <= 8:
            raise ValueError(f"weight_bits: expected 2..8, got {weight_bits}")
        self.shape, self.num_neurons, self.steps = torch.Size([neurons]), neurons, steps
        given = NeuronParams(alpha, beta, theta0, gamma, width)  # type: ignore[arg-type]
        p = given.checked(self.kind)
        self.theta0, self.gamma, self.width = p.theta0, p.gamma, p.width
        learnt = {"alpha": learn_alpha, "beta": learn_beta}
        self.kind.check_learnt(**learnt)
        starts = {"alpha": alpha, "beta": beta}
        self._shared: dict[str, float] = {}
        self.decays = nn.ModuleDict()
        for name, wanted in learnt.items():
            start = decays.of_layer(name, starts[name], neurons, wanted)
            if wanted or isinstance(start, tuple):
                self.decays[name] = decays.Decay(start, neurons, wanted)
            else:
                self._shared[name] = start
        self.weight_bits, self.backend = weight_bits, backend
        self.te = te
        self.bias = nn.Parameter(torch.zeros(neurons)) if bias else None

    @property
    def te_table(self) -> torch.Tensor:
        """The temporal encoding (neuron, step), differentiable in its parameters.

        It is zero for kinds of neurons that have none.
        """
        if self.te is None:
            return torch.zeros(self.num_neurons, self.steps)
        return temporal_encoding.table(self.te)

    def _decay(self, name: str) -> decays.Value:
        return self._shared[name] if name in self._shared else self.decays[name]()

    @property
    def alpha(self) -> decays.Value:
        """Membrane decay: one number, or a tensor (neuron,)."""
        return self._decay("alpha")

    @property
    def beta(self) -> decays.Value:
        """Threshold decay: one number, or a tensor (neuron,)."""
        return self._decay("beta")

    @property
    def params(self) -> NeuronParams:
        """Constants of the neurons."""
        return NeuronParams(self.alpha, self.beta, self.theta0, self.gamma, self.width)

    @classmethod
    def of(cls, owner: str, params: dict[str, Any], neurons: int | None = None) -> Neuron:
        """Make the neurons of the block ``owner`` from its ``neuron_params``, left unchanged."""
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
        """Parameters that a device needs and no calibration changes, by SLAYER's convention.

        All others are chosen at export.
        """
        decays = {"alphaMant": self._mantissa("alpha", self.alpha)}
        if "beta" in self.kind.uses:
            decays["betaMant"] = self._mantissa("beta", self.beta)
        return {"type": self.kind.name.upper(), **decays, "wgtBits": self.weight_bits}

    def _mantissa(self, name: str, decay: decays.Value) -> int | np.ndarray:
        values = np.array(decay.tolist() if isinstance(decay, torch.Tensor) else decay, np.float64)
        mantissas = np.rint(values * self.p_scale).astype(np.int64)
        if mantissas.max() == self.p_scale:  # without any decay it would be another neuron
            raise ValueError(
                f"{name}: expected at most {1 - 0.5 / self.p_scale:.5f} on a device, got "
                f"{values.max()}; use a faster decay"
            )
        return mantissas if mantissas.ndim else int(mantissas)

    def quantize_weight(
        self, weight: torch.Tensor, descale: bool = False, largest: float | None = None
    ) -> torch.Tensor:
        """Round weights to the grid that export will use; the pre-hook of the synapse."""
        return scaling.fake_quantise(weight, self.weight_bits, descale, largest)

    def forward(self, x: torch.Tensor, weight_rec: torch.Tensor | None = None) -> torch.Tensor:
        """Return the spikes for a synaptic input, in its shape.

        The input is (batch, neuron, time) or (batch, channel, row, column, time). ``weight_rec``
        (to, from) feeds the spikes of each step back into the next.
        """
        if x.ndim == 5:
            # The scan treats the pixels of a channel as samples, which all have its TE and bias.
            batch, channels, height, width, steps = x.shape
            pixels = x.permute(0, 2, 3, 1, 4).reshape(-1, channels, steps)
            spikes = self(pixels).reshape(batch, height, width, channels, steps)
            self.shape = torch.Size([channels, height, width])
            return spikes.permute(0, 3, 1, 2, 4)
        checks.sequence(f"{self.kind.name.upper()} input", x, self.num_neurons, self.steps)
        te = self.te_table if self.te is not None else self.te_table.to(x)
        return self.kind.spikes(Drive(x, self.bias, weight_rec), te, self.params, self.backend)
