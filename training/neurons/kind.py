"""What a neuron kind tells the network and the blocks about itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch

from training import decays
from training.functional import ALPHA, BETA, GAMMA, THETA0, WIDTH
from training.kernels.adaptive import CONTEXTS
from training.support import checks

CONTEXT = "v*te"
"""The contextual embedding of CE-LIF itself."""


@dataclass(frozen=True)
class NeuronParams:
    """Constants of a layer of neurons; each kind uses some of them.

    Parameters
    ----------
    alpha, beta
        Membrane decay and threshold decay, each a number or a tensor (neuron,).
    theta0, gamma
        Resting threshold, and the rise of the threshold after a spike.
    width
        Half-width Γ of the surrogate gradient.
    context
        Contextual embedding of CE-LIF, one of :data:`training.kernels.adaptive.CONTEXTS`.
    """

    alpha: decays.Value = ALPHA
    beta: decays.Value = BETA
    theta0: float = THETA0
    gamma: float = GAMMA
    width: float = WIDTH
    context: str = CONTEXT

    def checked(self, kind: NeuronKind) -> NeuronParams:
        """Return the constants as plain floats, refusing any that ``kind`` does not have.

        The decays may differ between neurons; :mod:`training.decays` checks their values.
        """
        usual = NeuronParams()
        for name in ("beta", "gamma", "context"):
            value, default = getattr(self, name), getattr(usual, name)
            if name not in kind.uses and not (np.ndim(value) == 0 and value == default):
                raise ValueError(
                    f"{name}: expected none, because {kind.name} neurons have no {name}, "
                    f"got {value!r:.60}; leave it out"
                )
        if self.context not in CONTEXTS:
            names = ", ".join(CONTEXTS)
            raise ValueError(f"context: expected one of {names}, got {self.context!r}")
        return replace(
            self,
            theta0=checks.scalar("theta0", self.theta0, -1e6, 1e6),
            gamma=checks.scalar("gamma", self.gamma, -1e6, 1e6),
            width=checks.scalar("width", self.width, 0, 1e6),
        )


class Drive(NamedTuple):
    """What drives a layer: current (batch, neuron, time), bias (neuron,), feedback (to, from)."""

    current: torch.Tensor
    bias: torch.Tensor | None = None
    weight_rec: torch.Tensor | None = None

    @property
    def biased(self) -> torch.Tensor:
        """The current with the bias added at every step."""
        return self.current if self.bias is None else self.current + self.bias[:, None]


Spikes = Callable[[Drive, torch.Tensor, NeuronParams, str], torch.Tensor]


@dataclass(frozen=True)
class NeuronKind:
    """A kind of neuron: which parameters it has, and how it turns currents into spikes.

    Parameters
    ----------
    name
        What a user calls it, and a file in capitals.
    uses
        Which of ``"beta"``, ``"gamma"``, ``"context"`` and ``"te"`` it has, in addition to α, Θ0
        and Γ. With ``"te"``, its layers have a learnable temporal encoding.
    spikes
        Called as ``spikes(drive, te, params, backend)``; returns (batch, neuron, time). ``te``
        (neuron, time) has at least the rows and steps of the current; it is zero for a kind
        without a temporal encoding.
    fuses
        Whether :func:`training.functional.layers` computes this kind from the same ``te``, if
        the context is that of CE-LIF.
    """

    name: str
    uses: frozenset[str]
    spikes: Spikes
    fuses: bool = False

    def check_learnt(self, **learnt: bool) -> None:
        """Refuse to learn a decay that the kind does not have."""
        for name, wanted in learnt.items():
            if wanted and name not in {"alpha", *self.uses}:
                raise ValueError(
                    f"learn_{name}: expected False, because {self.name} neurons have no {name}, "
                    "got True; leave it out"
                )

    @property
    def has_te(self) -> bool:
        """Whether layers of this kind have a temporal encoding."""
        return "te" in self.uses
