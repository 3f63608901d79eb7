"""The options of a network, as a record that validates itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from typing import Any

import numpy as np

from training import decays, neurons
from training.functional import ALPHA, BETA, GAMMA, THETA0, WIDTH
from training.network import temporal_encoding
from training.neurons.kind import CONTEXT, NeuronKind, NeuronParams
from training.support import checks

READOUTS = ("mean", "last", "steps", "spikes")


@dataclass(frozen=True)
class NetworkConfig:
    """Options of :class:`training.Network`, where each of them is described.

    A record that exists is valid: sizes are whole numbers, ``recurrent`` has one value per hidden
    layer, and so on. ``Network(**config)`` builds the same network again.
    """

    in_features: int
    hidden: tuple[int, ...]
    classes: int
    steps: int
    _: KW_ONLY
    neuron: str = "celif"
    alpha: float | Sequence[Any] = ALPHA
    beta: float | Sequence[Any] = BETA
    learn_alpha: bool = False
    learn_beta: bool = False
    theta0: float = THETA0
    gamma: float = GAMMA
    width: float = WIDTH
    te: str = "table"
    context: str = CONTEXT
    recurrent: bool | Sequence[bool] = False
    dropout: float = 0.0
    tied_dropout: bool = False
    readout: str = "mean"
    permutation: Sequence[int] | None = None

    def __post_init__(self) -> None:
        values: dict[str, Any] = {"hidden": _widths(self.hidden)}
        for name in ("in_features", "classes", "steps"):
            values[name] = _size(name, getattr(self, name))
        if self.readout not in READOUTS:
            expected = ", ".join(READOUTS)
            raise ValueError(f"readout: expected one of {expected}, got {self.readout!r}")
        temporal_encoding.check_name(self.te)
        if self.te != "table" and not self.kind.has_te:
            raise ValueError(
                f"te: expected none, because {self.neuron} neurons have no temporal encoding, "
                f"got {self.te!r}; leave it out"
            )
        given = (self.alpha, self.beta, self.theta0, self.gamma, self.width, self.context)
        values |= vars(NeuronParams(*given).checked(self.kind))  # type: ignore[arg-type]
        widths = (*values["hidden"], values["classes"])
        widths = widths if self.readout == "spikes" else widths[:-1]
        learnt = {name: bool(self[f"learn_{name}"]) for name in decays.NAMES}
        self.kind.check_learnt(**learnt)
        for name, wanted in learnt.items():
            values[name] = decays.of_layers(name, self[name], widths, wanted)
            values[f"learn_{name}"] = wanted
        values["recurrent"] = _recurrent_layers(self.recurrent, len(values["hidden"]))
        values["dropout"] = checks.scalar("dropout", self.dropout, 0, 1, open_high=True)
        values["tied_dropout"] = bool(self.tied_dropout)
        values["permutation"] = _order(self.permutation, values["steps"])
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def kind(self) -> NeuronKind:
        """The kind of the network's neurons."""
        return neurons.find(self.neuron)

    @property
    def spiking_widths(self) -> tuple[int, ...]:
        """Widths of the hidden layers and, if it spikes, of the readout."""
        return (*self.hidden, self.classes) if self.readout == "spikes" else self.hidden

    @property
    def recurrent_layers(self) -> tuple[bool, ...]:
        """Which hidden layers are recurrent, one value each."""
        return _recurrent_layers(self.recurrent, len(self.hidden))

    def keys(self) -> Iterator[str]:
        """Names of the options, so that ``**config`` and ``dict(config)`` work."""
        return (field.name for field in fields(self))

    def __getitem__(self, name: str) -> Any:
        if name not in self.keys():
            raise KeyError(name)
        return getattr(self, name)

    def plain(self) -> dict[str, Any]:
        """Return the options as JSON has them: numbers, strings, lists and None."""
        return {name: _plain(value) for name, value in dict(self).items()}


def _plain(value: Any) -> Any:
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


def _size(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"{name}: expected a whole number from 1 up, got {value!r}")
    return int(value)


def _widths(hidden: Sequence[int]) -> tuple[int, ...]:
    if not isinstance(hidden, Iterable):
        raise ValueError(
            f"hidden: expected a sequence of widths, got {hidden!r}; e.g. hidden=(64, 88)"
        )
    widths = tuple(_size(f"hidden[{i}]", width) for i, width in enumerate(hidden))
    if not widths:
        raise ValueError("hidden: expected at least one layer, got (); e.g. hidden=(64, 88)")
    return widths


def _recurrent_layers(recurrent: bool | Sequence[bool], layers: int) -> tuple[bool, ...]:
    """Expand ``recurrent`` to one value per hidden layer."""
    if isinstance(recurrent, bool):
        return tuple(recurrent and (i < layers - 1 or layers == 1) for i in range(layers))
    chosen = tuple(bool(each) for each in recurrent)
    if len(chosen) != layers:
        raise ValueError(
            f"recurrent: expected True, False or {layers} of them, one per hidden layer, "
            f"got {len(chosen)}"
        )
    return chosen


def _order(permutation: Sequence[int] | None, steps: int) -> tuple[int, ...] | None:
    if permutation is None:
        return None
    order = tuple(int(step) for step in permutation)
    if len(order) != steps or sorted(order) != list(range(steps)):
        raise ValueError(
            f"permutation: expected every step 0..{steps - 1} exactly once, "
            f"got {len(order)} values; e.g. torch.randperm(steps).tolist()"
        )
    return order
