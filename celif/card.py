"""A model's card: its figures, measured, as a section for ``models/README.md``."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from celif.inputs.samples import run_twin
from celif.inputs.user_tasks import load_task
from export import FixedNetwork, Trace, read_netx
from export.convert.to_integers import digest
from export.model.network import CelifLayer
from training import checkpoint, tasks
from training.network.network import Network
from training.trainer import evaluation, presets
from training.trainer.recipe import Recipe

CURVE = (1, 2, 3, 5, 10, 15, 20, 25, 30, 40, 50, 60, 80, 100)
"""Epochs whose validation is shown, in addition to the last."""


@dataclass(frozen=True)
class Lava:
    """Samples run in Lava's fixed-point models, and how many had the twin's very logits."""

    samples: int
    same_logits: int
    accuracy: float


@dataclass(frozen=True)
class Card:
    """What is known of a model."""

    name: str
    task: str
    widths: list[int]
    steps: int
    parameters: int
    samples: int
    float_accuracy: float
    fixed_accuracy: float
    same_predictions: float
    saturations: int
    lava: Lava | None
    bits: list[tuple[int, int]]
    fraction_bits: list[int]
    file_bytes: dict[str, int]
    recipe: dict[str, Any]
    network: dict[str, Any]
    origin: str | None
    teacher: dict[str, Any] | None
    history: list[dict[str, Any]]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


def measure(model: Path, data: Path | None, samples: int | None, lava_samples: int) -> Card:
    """Measure a checkpoint and the export beside it, of the same name.

    Parameters
    ----------
    model
        The checkpoint or the export.
    data
        Folder of the task's data.
    samples, lava_samples
        How many of the first test samples float and twin see, all by default, and Lava, none for 0.
    """
    content = checkpoint.read(model.with_suffix(checkpoint.SUFFIX))
    net = checkpoint.load(model.with_suffix(checkpoint.SUFFIX))
    fixed = read_netx(model.with_suffix(".net"))
    if fixed.digests != {name: digest(p.detach()) for name, p in net.named_parameters()}:
        raise ValueError(
            f"{model.with_suffix('.net')}: expected the export of "
            f"{model.with_suffix(checkpoint.SUFFIX)}, found that of other weights; export it again"
        )
    task = load_task(content["task"], data)
    tasks.require_classes(task.objective, str(model))
    test = task.test
    x, y = test.x[:samples], test.y[:samples]
    trace = run_twin(fixed, x.numpy())
    labels = y.numpy()
    floats = evaluation.outputs(net, x).argmax(1).numpy()
    layers = [layer for layer in fixed.layers if isinstance(layer, CelifLayer)]
    return Card(
        name=model.stem,
        task=content["task"],
        widths=[net.in_features, *net.config.hidden, net.config.classes],
        steps=net.steps,
        parameters=net.num_parameters,
        samples=len(labels),
        float_accuracy=float((floats == labels).mean()),
        fixed_accuracy=float((trace.predictions == labels).mean()),
        same_predictions=float((trace.predictions == floats).mean()),
        saturations=sum(trace.saturations or ()),
        lava=_in_lava(fixed, model, x.numpy(), labels, trace, lava_samples),
        bits=[(layer.weight_bits, layer.te_bits) for layer in layers],
        fraction_bits=[layer.fraction_bits for layer in layers],
        file_bytes={
            end: model.with_suffix(end).stat().st_size for end in (checkpoint.SUFFIX, ".net")
        },
        recipe=content["recipe"],
        network=net.config.plain(),
        origin=content.get("origin"),
        teacher=content.get("teacher"),
        history=content["history"],
    )


def _in_lava(
    fixed: FixedNetwork, model: Path, x: np.ndarray, y: np.ndarray, twin: Trace, count: int
) -> Lava | None:
    if count == 0:
        return None
    from lava_procs import run

    trace = run(str(model.with_suffix(".net")), fixed.encode(x[:count]))
    same = (trace.logits == twin.logits[:count]).all(1)
    hits = trace.predictions == y[:count]
    return Lava(len(same), int(same.sum()), float(hits.mean()))


def markdown(card: Card) -> str:
    """The card as a section of ``models/README.md``."""
    lava = "not run"
    if card.lava is not None:
        lava = (
            f"{card.lava.accuracy:.2%} of the first {card.lava.samples}, "
            f"{card.lava.same_logits} with the twin's very logits"
        )
    (weight_bits, te_bits), *_ = card.bits
    scores = [epoch["validation"] for epoch in card.history]
    epochs = [e for e in CURVE if e < len(scores)] + [len(scores)]
    curve = ", ".join(f"{scores[e - 1]:.2%}" for e in epochs)
    return f"""## {card.name}

Task {card.task}, T = {card.steps}, network {" → ".join(map(str, card.widths))}, \
{card.parameters:,} parameters.

| | test accuracy, {card.samples:,} samples |
|---|---|
| float | {card.float_accuracy:.2%} |
| integers, {weight_bits}-bit weights and {te_bits}-bit TE, in the twin | \
{card.fixed_accuracy:.2%}, {card.saturations:,} saturations |
| the same in Lava | {lava} |

- **Recipe**: {_recipe(card)}.
- **Curve** (validation after epochs {", ".join(map(str, epochs))}): {curve}. Chosen: the last of \
them, epoch {len(scores)}.
- **Integers**: F = {", ".join(map(str, card.fraction_bits))} fractional bits; the same prediction \
as float for {card.same_predictions:.2%}.
- **Files**: {card.file_bytes[checkpoint.SUFFIX]:,} bytes `.safetensors`, \
{card.file_bytes[".net"]:,} bytes `.net`.
"""


def _recipe(card: Card) -> str:
    """What was trained by: a command, with each option that differs from its preset."""
    preset = presets.get(_preset(card))
    recipe = asdict(Recipe(**card.recipe))
    options = [
        f"--{name.replace('_', '-')} {value}"
        for name, value in recipe.items()
        if value != getattr(preset.recipe, name) and value is not None
    ]
    hidden = tuple(card.widths[1:-1])
    if hidden != preset.hidden:
        options.append(f"--hidden {','.join(map(str, hidden))}")
    with torch.random.fork_rng(devices=[]):
        first, *_, classes = card.widths
        usual = Network(first, hidden, classes, card.steps, **preset.network).config.plain()
    switches = ("learn_alpha", "learn_beta", "tied_dropout", "recurrent")
    for name in ("dropout", "beta", "te", *switches):
        # A network of before has none of the later options.
        value, option = card.network.get(name, usual[name]), name.replace("_", "-")
        if value != usual[name]:
            switch = name in switches
            options.append(f"--{option}" if switch else f"--{option} {value}")
    folder = " --data DIR" if "mnist" in card.task else ""
    words = " ".join([f"celif train --preset {_preset(card)}{folder}", *options])
    begun = "" if card.origin is None else f", from the weights of {card.origin}"
    return f"`{words}`, seed {recipe['seed']}{begun}{_taught(card.teacher)}"


def _taught(teacher: dict[str, Any] | None) -> str:
    if teacher is None:
        return ""
    return (
        f", distilled from a teacher (digest of its outputs {teacher['outputs']}, temperature "
        f"{teacher['temperature']:g}, share {teacher['share']:g})"
    )


def _preset(card: Card) -> str:
    hidden = tuple(card.widths[1:-1])
    for name, preset in presets.PRESETS.items():
        if (preset.task, preset.hidden) == (card.task, hidden):
            return name
    return card.task
