"""The paper's network: hidden spiking layers that share one TE table, and a linear classifier."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from training import decays
from training.functional import ALPHA, BETA, GAMMA, THETA0, WIDTH, fuses, hooked, layers
from training.network import temporal_encoding
from training.network.config import NetworkConfig
from training.network.synapses import LayerRecord, Synapses
from training.neurons.kind import CONTEXT, Drive, NeuronParams
from training.support import checks


class Network(nn.Module):
    """Spiking classifier of sequences, made of CE-LIF neurons unless told otherwise.

    One temporal-encoding table, (widest spiking layer, steps), serves every layer: a layer of n
    neurons uses its first n rows. A linear classifier reads the last layer's spikes.

    Parameters
    ----------
    in_features, hidden, classes
        Number of input channels, widths of the hidden layers, and number of outputs.
    steps
        Length T of the longest sequence; shorter ones use the first steps of TE.
    neuron
        Kind of the neurons: ``"celif"``, or another of :data:`training.neurons.KINDS`. LIF
        neurons have no temporal encoding: ``net.te`` is None.
    alpha, beta
        Membrane decay and threshold decay: a number, or a sequence with an entry for every spiking
        layer, which is a number or has one value per neuron.
    learn_alpha, learn_beta
        Whether every neuron learns its own α or β, starting from the values above. A learnt decay
        is (1 − 2⁻¹²)·σ(a) of a parameter a, so it stays between 0 and 1, see
        :mod:`training.decays`.
    theta0, width
        Resting threshold and surrogate half-width, as in :func:`training.functional.celif`.
    gamma
        Rise of the threshold after a spike, for kinds whose spikes raise it.
    te
        Temporal encoding: ``"table"``, a learnable value per neuron and step, or ``"cosine"``, a
        wave of learnable frequency per neuron, see :mod:`training.network.temporal_encoding`.
    context
        What enters the threshold of CE-LIF neurons at every step: ``"v*te"`` as in the paper, or
        one of the other contexts of its ablation, ``"s"``, ``"v"``, ``"te"``, ``"v+te"`` and
        ``"s*te"``. Networks with those can be trained but not exported.
    recurrent
        Whether hidden layers feed their spikes back to themselves, through weights and biases of
        their own: one value per layer, or True for all layers except the last, as in the paper.
    dropout
        Probability of dropping an input or a spike of the first layer, with a new mask at every
        step; in training mode only.
    tied_dropout
        Use one mask for all steps of a sample, so that a channel or neuron is dropped throughout.
    readout
        What the classifier reads. ``"mean"`` is the spikes' mean over time, which gives the mean
        of the classifier's outputs; ``"last"`` is the last step; ``"steps"`` gives logits for
        every step. With ``"spikes"`` a layer of spiking neurons takes the classifier's place, and
        its firing rates are the logits.
    permutation
        Order in which the network sees the steps of its samples, as in PS-MNIST. Samples are
        always passed in their own order.
    backend
        As in :func:`training.functional.celif`.

    Attributes
    ----------
    config : NetworkConfig
        The options above, except ``backend``; ``Network(**net.config)`` is a new network with
        the same options.
    watch
        If set, called in every forward pass with a list of the spikes of every spiking layer.

    Examples
    --------
    >>> net = Network(in_features=1, hidden=(64, 88, 88), classes=10, steps=784)
    >>> net(torch.rand(2, 1, 784)).shape
    torch.Size([2, 10])
    """

    def __init__(
        self,
        in_features: int,
        hidden: tuple[int, ...],
        classes: int,
        steps: int,
        *,
        neuron: str = "celif",
        alpha: float | Sequence[Any] = ALPHA,
        beta: float | Sequence[Any] = BETA,
        learn_alpha: bool = False,
        learn_beta: bool = False,
        theta0: float = THETA0,
        gamma: float = GAMMA,
        width: float = WIDTH,
        te: str = "table",
        context: str = CONTEXT,
        recurrent: bool | Sequence[bool] = False,
        dropout: float = 0.0,
        tied_dropout: bool = False,
        readout: str = "mean",
        permutation: Sequence[int] | None = None,
        backend: str = "auto",
    ) -> None:
        super().__init__()
        self.config = config = NetworkConfig(
            in_features, hidden, classes, steps,
            neuron=neuron, alpha=alpha, beta=beta, learn_alpha=learn_alpha,
            learn_beta=learn_beta, theta0=theta0, gamma=gamma, width=width, te=te,
            context=context, recurrent=recurrent,
            dropout=dropout, tied_dropout=tied_dropout, readout=readout, permutation=permutation,
        )  # fmt: skip
        hidden = config.hidden
        self.in_features, self.steps, self.backend = config.in_features, config.steps, backend
        self.watch: Callable[[list[torch.Tensor]], None] | None = None
        self.layers = nn.ModuleList(
            Synapses(m, n) for m, n in itertools.pairwise((in_features, *hidden))
        )
        rows = max(config.spiking_widths)
        self.te = temporal_encoding.start(te, rows, steps) if config.kind.has_te else None
        self.readout = (Synapses if readout == "spikes" else nn.Linear)(hidden[-1], classes)
        self.recurrent = nn.ModuleDict(
            {str(i): Synapses(n, n) for i, n in enumerate(hidden) if config.recurrent_layers[i]}
        )
        self.decays = nn.ModuleDict(dict(self._start_decays()))
        for layer in (m for m in self.modules() if isinstance(m, Synapses)):
            # With torch's random biases, fresh gradients are 10^4 and more: a constant V draws Θ
            # into the surrogate's box. `celif reproduce stability` measures and explains it.
            nn.init.zeros_(layer.bias)

    def _start_decays(self) -> Iterator[tuple[str, nn.ModuleList]]:
        """Make the decays that are not one number for the whole network."""
        widths = self.config.spiking_widths
        for name in decays.NAMES:
            given, learnt = self.config[name], self.config[f"learn_{name}"]
            if learnt or isinstance(given, tuple):
                rows = zip(decays.per_layer(name, given, len(widths)), widths, strict=True)
                yield name, nn.ModuleList(decays.Decay(start, n, learnt) for start, n in rows)

    @property
    def neuron(self) -> dict[str, Any]:
        """Constants of the neurons, as :func:`training.functional.layers` takes them.

        A decay is one number, or a list of tensors (neuron,), one per spiking layer.
        """
        given = {name: self.config[name] for name in ("alpha", "beta", "theta0", "width")}
        decays: dict[str, Any] = dict(self.decays.items())
        return given | {name: [each() for each in own] for name, own in decays.items()}

    def neuron_params(self, i: int) -> NeuronParams:
        """Return the constants of spiking layer i; its decays are numbers or tensors (neuron,)."""
        given: dict[str, Any] = {f.name: getattr(self.config, f.name) for f in fields(NeuronParams)}
        decays: dict[str, Any] = dict(self.decays.items())
        for name, modules in decays.items():
            given[name] = modules[i]()
        return NeuronParams(**given)

    @property
    def te_table(self) -> torch.Tensor:
        """The temporal encoding (widest layer, steps), differentiable in its parameters.

        It is zero for kinds of neurons that have none.
        """
        if self.te is None:
            return self._any_parameter.new_zeros(max(self.config.spiking_widths), self.steps)
        return temporal_encoding.table(self.te)

    @property
    def _any_parameter(self) -> nn.Parameter:
        """A parameter, for its type and device."""
        return next(self.parameters())

    @property
    def num_parameters(self) -> int:
        """Number of trainable values."""
        return sum(p.numel() for p in self.parameters())

    def _ordered(self, x: torch.Tensor) -> torch.Tensor:
        """Return the input in the order of steps in which the first layer sees it."""
        checks.sequence("Network input", x, self.in_features, self.steps, self._any_parameter.dtype)
        # A NaN would silence neurons, as NaN ≥ Θ is false, and look like an input of zeros.
        if not torch.isfinite(x).all():
            raise ValueError("Network input: expected finite numbers, got NaN or infinity")
        order = self.config.permutation
        if order is None:
            return x
        if x.shape[2] != self.steps:
            raise ValueError(
                f"Network input: expected {self.steps} time steps, because the network "
                f"permutes them, got {x.shape[2]}; pass whole samples"
            )
        return x[:, :, list(order)]

    def hidden_states(self, x: torch.Tensor) -> list[LayerRecord]:
        """Return currents and spikes of every spiking layer for ``x`` (batch, channel, time)."""
        x = self._ordered(x)
        states, te = [], self.te_table
        for i, layer in enumerate(self.spiking_layers):
            if i < 2 and self.training:
                x = self._dropped(x)
            states.append(self._layer(i, x, te, layer))
            x = states[-1].spikes
        return states

    @property
    def spiking_layers(self) -> list[Synapses]:
        """Synapses of the hidden layers and, if it spikes, of the readout."""
        last = [self.readout] if self.config.readout == "spikes" else []
        return [*self.layers, *last]

    def recurrent_layer(self, i: int) -> Synapses | None:
        """Return the synapses by which spiking layer i feeds back to itself, or None."""
        layers: dict[str, Any] = dict(self.recurrent.items())  # a ModuleDict itself has no get
        return layers.get(str(i))

    def _layer(self, i: int, x: torch.Tensor, te: torch.Tensor, layer: Synapses) -> LayerRecord:
        own = self.recurrent_layer(i)
        # Memory is (batch, time, channel), so that one matrix product serves the whole sequence.
        synaptic = layer(x.transpose(1, 2)).transpose(1, 2)
        if synaptic.dtype != te.dtype:
            raise ValueError(
                f"Network: expected currents in {te.dtype} like TE, got {synaptic.dtype}; "
                "autocast is not supported, call the network outside of it"
            )
        bias = layer.bias if own is None else layer.bias + own.bias
        feedback = None if own is None else own.weight
        drive = Drive(synaptic, bias, feedback)
        spikes = self.config.kind.spikes(drive, te, self.neuron_params(i), self.backend)
        return LayerRecord(synaptic, bias, spikes, feedback)

    def _dropped(self, x: torch.Tensor) -> torch.Tensor:
        p = self.config.dropout
        if p == 0:
            return x
        if self.config.tied_dropout:
            return x * F.dropout(torch.ones_like(x[..., :1]), p)
        return F.dropout(x, p)

    def read(self, spikes: torch.Tensor) -> torch.Tensor:
        """Return the logits for ``spikes`` (batch, neuron, time) of the last spiking layer."""
        if self.config.readout == "steps":
            return self.readout(spikes.transpose(1, 2)).transpose(1, 2)
        if self.config.readout == "last":
            return self.readout(spikes[..., -1])
        # Not mean(), whose gradient would be written out, transposed, for every step.
        return self._read_rates(spikes.sum(-1) / spikes.shape[-1])

    def _read_rates(self, rates: torch.Tensor) -> torch.Tensor:
        return rates if self.config.readout == "spikes" else self.readout(rates)

    def _fuses(self) -> bool:
        """Whether one fused pass may compute all layers, as nothing looks in between them."""
        if not self.config.kind.fuses:
            return False
        synapses = [*self.spiking_layers, *self.recurrent.values()]
        plain = all(type(each) is Synapses and not hooked(each) for each in synapses)
        weight = self.spiking_layers[0].weight
        # Under autocast a product has another type than its factors, which the plain path refuses.
        same = (weight[:1] @ weight[:1].t()).dtype == weight.dtype
        return plain and same and fuses(self.backend, weight)

    def _fused(self, x: torch.Tensor) -> torch.Tensor:
        x, p = self._ordered(x), self.config.dropout if self.training else 0.0
        counts = self.config.readout in ("mean", "spikes")
        own = [self.recurrent_layer(i) for i in range(len(self.spiking_layers))]
        pairs = zip(self.spiking_layers, own, strict=True)
        biases = [one.bias if each is None else one.bias + each.bias for one, each in pairs]
        spikes = layers(
            self._dropped(x) if self.training else x,
            [layer.weight for layer in self.spiking_layers],
            biases,
            self.te_table,
            **self.neuron,
            backend=self.backend,
            dropout=p,
            tied_dropout=self.config.tied_dropout,
            counts=counts,
            context=self.config.context,
            weights_rec=[None if each is None else each.weight for each in own],
        )
        return self._read_rates(spikes / x.shape[2]) if counts else self.read(spikes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return logits (batch, classes), or (batch, classes, time) with ``readout="steps"``."""
        if self.watch is None and self._fuses():
            return self._fused(x)
        states = self.hidden_states(x)
        if self.watch is not None:
            self.watch([state.spikes for state in states])
        return self.read(states[-1].spikes)
