"""The paper's network: hidden CE-LIF layers that share one TE table, and a linear classifier."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import torch
from torch import nn
from torch.nn import functional as F

from training.functional import ALPHA, BETA, THETA0, WIDTH, celif, fuses, layers
from training.kernels import adaptive
from training.network import config, temporal_encoding
from training.network.synapses import Hidden, Synapses, hooked
from training.support import checks


class Network(nn.Module):
    """CE-LIF classifier of sequences.

    One temporal-encoding table, (widest hidden layer, steps), serves every layer: a layer of n
    neurons uses its first n rows. A linear classifier reads the last layer's spikes.

    Parameters
    ----------
    in_features, hidden, classes
        Widths: input channels, hidden layers, outputs.
    context
        What enters the threshold at every step: ``"v*te"`` as in the paper, or one of the other
        contexts of its ablation, ``"s"``, ``"v"``, ``"te"``, ``"v+te"``, ``"s*te"``; those can be
        trained, not exported.
    recurrent
        Whether hidden layers feed their spikes back to themselves, by weights and biases of their
        own: one value per layer, or True for all but the last, as in the paper.
    steps
        Longest sequence T; shorter ones use the first steps of TE.
    alpha, beta, theta0, width
        As in :func:`training.functional.celif`.
    te
        The temporal encoding: ``"table"``, a learnable value per neuron and step, or
        ``"cosine"``, a wave of learnable frequency per neuron, see
        :mod:`training.network.temporal_encoding`.
    dropout
        Probability of dropping an input or a spike of the first layer, with a fresh mask at
        every step; in training mode only.
    tied_dropout
        One mask for all steps of a sample instead: a channel or neuron is dropped for good.
    readout
        What the classifier reads: ``"mean"``, the spikes' mean over time, which equals the mean of
        its outputs; ``"last"``, those of the last step; ``"steps"``, those of every step, each
        with logits of its own. ``"spikes"`` has a layer of CE-LIF neurons in the classifier's
        place, whose firing rates are the logits.
    permutation
        Order in which the network sees the steps of its samples, as PS-MNIST has one; samples are
        given in their own order everywhere.
    backend
        As in :func:`training.functional.celif`.

    Attributes
    ----------
    watch
        If set, called in every forward pass with the spikes of each hidden layer.
    """

    def __init__(
        self,
        in_features: int,
        hidden: tuple[int, ...],
        classes: int,
        steps: int,
        *,
        alpha: float = ALPHA,
        beta: float = BETA,
        theta0: float = THETA0,
        width: float = WIDTH,
        te: str = "table",
        context: str = "v*te",
        recurrent: bool | Sequence[bool] = False,
        dropout: float = 0.0,
        tied_dropout: bool = False,
        readout: str = "mean",
        permutation: Sequence[int] | None = None,
        backend: str = "auto",
    ) -> None:
        super().__init__()
        self.config = config.checked(
            in_features, hidden, classes, steps,
            alpha=alpha, beta=beta, theta0=theta0, width=width,
            te=te, context=context, recurrent=recurrent,
            dropout=dropout, tied_dropout=tied_dropout, readout=readout, permutation=permutation,
        )  # fmt: skip
        hidden = tuple(self.config["hidden"])
        self.in_features, self.steps, self.backend = in_features, steps, backend
        self.watch: Callable[[list[torch.Tensor]], None] | None = None
        self.layers = nn.ModuleList(
            Synapses(m, n) for m, n in itertools.pairwise((in_features, *hidden))
        )
        spiking = (*hidden, classes) if readout == "spikes" else hidden
        self.te = temporal_encoding.start(te, max(spiking), steps)
        self.readout = (Synapses if readout == "spikes" else nn.Linear)(hidden[-1], classes)
        self.recurrent = nn.ModuleDict(
            {str(i): Synapses(n, n) for i, n in enumerate(hidden) if self.config["recurrent"][i]}
        )
        for layer in (m for m in self.modules() if isinstance(m, Synapses)):
            # With β = 0.99 and TE ≈ 0.01 a constant V draws Θ along with it, inside the surrogate's
            # box, where a V below −1 multiplies gradients at every step: torch's random biases
            # overflow float32 within 784 steps.
            nn.init.zeros_(layer.bias)

    @property
    def neuron(self) -> dict[str, float]:
        """Parameters of the neuron, as :func:`training.functional.celif` takes them."""
        return {name: self.config[name] for name in ("alpha", "beta", "theta0", "width")}

    @property
    def te_table(self) -> torch.Tensor:
        """The temporal encoding (widest layer, steps), differentiable in its parameters."""
        return temporal_encoding.table(self.te)

    @property
    def num_parameters(self) -> int:
        """Number of trainable values."""
        return sum(p.numel() for p in self.parameters())

    def _ordered(self, x: torch.Tensor) -> torch.Tensor:
        """The input as the first layer sees it, in the network's order of steps."""
        checks.sequence("Network input", x, self.in_features, self.steps, self.te.dtype)
        order = self.config["permutation"]
        if order is None:
            return x
        if x.shape[2] != self.steps:
            raise ValueError(
                f"Network input: expected {self.steps} time steps, because the network "
                f"permutes them, got {x.shape[2]}; pass whole samples"
            )
        return x[:, :, order]

    def hidden_states(self, x: torch.Tensor) -> list[Hidden]:
        """Currents and spikes of every spiking layer for ``x`` (batch, channel, time)."""
        x = self._ordered(x)
        states, te = [], self.te_table
        for i, layer in enumerate(self.spiking_layers):
            if i < 2 and self.training:
                x = self._dropped(x)
            states.append(self._layer(x, te, layer, self.recurrent_layer(i)))
            x = states[-1].spikes
        return states

    @property
    def spiking_layers(self) -> list[Synapses]:
        """Synapses of the hidden layers and, if it spikes, of the readout."""
        last = [self.readout] if self.config["readout"] == "spikes" else []
        return [*self.layers, *last]

    def recurrent_layer(self, i: int) -> Synapses | None:
        """By what spiking layer i feeds back to itself, if it does."""
        return dict(self.recurrent.items()).get(str(i))  # a ModuleDict itself has no get

    def _layer(
        self, x: torch.Tensor, te: torch.Tensor, layer: Synapses, own: Synapses | None
    ) -> Hidden:
        # (batch, time, channel) in memory: one matrix product serves the whole sequence.
        synaptic = layer(x.transpose(1, 2)).transpose(1, 2)
        if synaptic.dtype != te.dtype:
            raise ValueError(
                f"Network: expected currents in {te.dtype} like TE, got {synaptic.dtype}; "
                "autocast is not supported, call the network outside of it"
            )
        bias = layer.bias if own is None else layer.bias + own.bias
        feedback = None if own is None else own.weight
        if self.config["context"] == "v*te":
            spikes = celif(
                synaptic, te, **self.neuron, backend=self.backend, bias=bias, weight_rec=feedback
            )
        else:
            spikes = self._in_context(synaptic + bias[:, None], te, feedback)
        return Hidden(synaptic, bias, spikes, feedback)

    def _in_context(
        self, current: torch.Tensor, te: torch.Tensor, feedback: torch.Tensor | None
    ) -> torch.Tensor:
        """Spikes of a layer whose threshold has another context than V⊙TE."""
        table = te[: current.shape[1], : current.shape[2]]
        alpha, beta, theta0, width = self.neuron.values()
        neuron, context = adaptive.neurons_in(self.config["context"], table, alpha, beta, theta0)
        return adaptive.run(current, table, neuron, context, width, feedback, self.backend)

    def _dropped(self, x: torch.Tensor) -> torch.Tensor:
        p = self.config["dropout"]
        if p == 0:
            return x
        if self.config["tied_dropout"]:
            return x * F.dropout(torch.ones_like(x[..., :1]), p)
        return F.dropout(x, p)

    def read(self, spikes: torch.Tensor) -> torch.Tensor:
        """Logits of the last spiking layer's ``spikes`` (batch, neuron, time)."""
        if self.config["readout"] == "steps":
            return self.readout(spikes.transpose(1, 2)).transpose(1, 2)
        if self.config["readout"] == "last":
            return self.readout(spikes[..., -1])
        # Not mean: its gradient would be written out, transposed, for every step.
        return self._read_rates(spikes.sum(-1) / spikes.shape[-1])

    def _read_rates(self, rates: torch.Tensor) -> torch.Tensor:
        return rates if self.config["readout"] == "spikes" else self.readout(rates)

    def _fuses(self) -> bool:
        """Whether nobody wants to see or change what passes between the layers."""
        if self.config["context"] != "v*te":
            return False
        plain = all(type(each) is Synapses and not hooked(each) for each in self.spiking_layers)
        weight = self.spiking_layers[0].weight
        # Under autocast a product has another type than its factors; the plain path refuses that.
        same = (weight[:1] @ weight[:1].t()).dtype == weight.dtype
        return plain and same and not len(self.recurrent) and fuses(self.backend, weight)

    def _fused(self, x: torch.Tensor) -> torch.Tensor:
        x, p = self._ordered(x), self.config["dropout"] if self.training else 0.0
        counts = self.config["readout"] in ("mean", "spikes")
        spikes = layers(
            self._dropped(x) if self.training else x,
            [layer.weight for layer in self.spiking_layers],
            [layer.bias for layer in self.spiking_layers],
            self.te_table,
            **self.neuron,
            backend=self.backend,
            dropout=p,
            tied_dropout=self.config["tied_dropout"],
            counts=counts,
        )
        return self._read_rates(spikes / x.shape[2]) if counts else self.read(spikes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Logits of ``x`` (batch, channel, time): (batch, classes), or with a time axis."""
        if self.watch is None and self._fuses():
            return self._fused(x)
        states = self.hidden_states(x)
        if self.watch is not None:
            self.watch([state.spikes for state in states])
        return self.read(states[-1].spikes)
