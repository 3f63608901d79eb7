"""``python -m benchmarks.soak.soak``: random networks, without end and without a single mismatch.

Draws networks over every option (bits, exponents, encodings of TE, kinds of layers, timing) and
compares every register of every step: the twin with the integer step on plain arrays, with the
oracle, with the quantisation-aware forward pass and with the real Lava runtime. Counts go to a
JSON file after every network; a soak that was interrupted goes on from there. The first mismatch
ends it, with the seed that shows it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

# Two pools of threads, torch's and numba's, take turns; a waiting one must not spin.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import numpy as np
import typer

from benchmarks import provenance
from benchmarks.soak import draws
from export import FixedNetwork, ModelError, Trace, simulate
from hw_tests.backends import backend
from hw_tests.oracle.backend import run_oracle
from hw_tests.plain_steps import run_plain
from hw_tests.trace_difference import compare
from training.kernels.pool import keep_freed_memory
from training.support.atomic import atomic_file

Run = Callable[[FixedNetwork, np.ndarray], Trace]


@dataclass(frozen=True)
class Voice:
    """Something to compare the twin with: how, in networks of which size, on how many steps."""

    name: str
    run: Run
    size: draws.LargestDraw
    neuron_steps: int


VOICES = (
    Voice("plain", run_plain, draws.LargestDraw(layers=4, width=200, steps=96, samples=160), 10**9),
    Voice("oracle", run_oracle, draws.LargestDraw(layers=3, width=14, steps=60, samples=3), 10**6),
    Voice(
        "qat",
        backend("torch", "fixed").run,
        draws.LargestDraw(layers=4, width=120, steps=80, samples=40),
        10**7,
    ),
    # A step costs Lava milliseconds whatever its width: few steps, and many neurons in each.
    Voice(
        "lava",
        backend("lava", "fixed").run,
        draws.LargestDraw(layers=3, width=4000, steps=40, samples=3, narrow=24),
        10**7,
    ),
)


@dataclass
class VoiceTally:
    """What a voice has said so far."""

    next_seed: int = 0
    networks: int = 0
    refused: int = 0
    """Networks that the voice does not know; not among the above."""
    silent: int = 0
    """Networks with a layer that never fired, which proves little; not among the above either."""
    neuron_steps: int = 0
    values: int = 0
    spikes: int = 0
    saturations: int = 0
    mismatches: int = 0
    options: dict[str, int] = field(default_factory=dict)
    """Neuron steps of networks with each option."""


class Mismatch(AssertionError):
    """Two voices that do not agree, and the seed that shows it."""


def soak(voice: Voice, tally: VoiceTally) -> Iterator[None]:
    """Compare network after network, until there are enough steps; yields after each."""
    while tally.neuron_steps < voice.neuron_steps:
        seed = tally.next_seed
        draw = draws.draw(seed, voice.size)
        expected = simulate(draw.net, draw.x, trace=True)
        assert expected.spikes is not None
        assert expected.saturations is not None
        tally.next_seed += 1
        if not all(spikes.any() for spikes in expected.spikes):
            tally.silent += 1
            continue
        try:
            found = voice.run(draw.net, draw.x)
        except ModelError:
            tally.refused += 1
            continue
        outcome = compare(expected, found)
        steps = sum(spikes.size for spikes in expected.spikes)
        tally.networks += 1
        tally.neuron_steps += steps
        tally.values += outcome.values
        tally.spikes += sum(int(np.count_nonzero(spikes)) for spikes in expected.spikes)
        tally.saturations += sum(expected.saturations)
        tally.mismatches += outcome.mismatches
        for option in draw.options:
            tally.options[option] = tally.options.get(option, 0) + steps
        if outcome.mismatches:
            raise Mismatch(
                f"{voice.name}: seed {seed}, {', '.join(draw.options)}: {outcome.mismatches} of "
                f"{outcome.values} values; first: {outcome.first}"
            )
        yield


def _load(path: Path) -> dict[str, VoiceTally]:
    content = json.loads(path.read_text()) if path.exists() else {"voices": {}}
    return {name: VoiceTally(**counts) for name, counts in content["voices"].items()}


def _save(path: Path, tallies: dict[str, VoiceTally], about: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    voices = {name: asdict(tally) for name, tally in tallies.items()}
    with atomic_file(path) as draft:
        draft.write_text(json.dumps({"machine": about, "voices": voices}, indent=1) + "\n")


def table(tallies: dict[str, VoiceTally]) -> str:
    """Counts of every voice."""
    lines = [
        f"{'twin against':>12} {'networks':>9} {'neuron steps':>14} {'values':>14} {'spikes':>13} "
        f"{'saturations':>12} {'mismatches':>11}"
    ]
    lines += [
        f"{name:>12} {t.networks:>9,} {t.neuron_steps:>14,} {t.values:>14,} {t.spikes:>13,} "
        f"{t.saturations:>12,} {t.mismatches:>11,}"
        for name, t in tallies.items()
    ]
    return "\n".join(lines)


def run(path: Path, voices: tuple[Voice, ...] = VOICES, echo: bool = True) -> dict[str, VoiceTally]:
    """Soak every voice that has not had enough, writing to ``path`` as it goes."""
    tallies, about = _load(path), provenance.describe()
    for voice in voices:
        tally = tallies.setdefault(voice.name, VoiceTally())
        try:
            for _ in soak(voice, tally):
                _save(path, tallies, about)
                if echo and sys.stderr.isatty():
                    done = tally.neuron_steps / voice.neuron_steps
                    sys.stderr.write(f"\r{voice.name}: {tally.networks} networks, {done:.1%}  ")
        finally:
            _save(path, tallies, about)
        if echo:
            sys.stderr.write(f"\r{voice.name}: {tally.networks} networks, done      \n")
    return tallies


def main(
    out: Annotated[Path, typer.Option(help="Counts, and where to go on.")] = Path("runs/soak.json"),
    share: Annotated[float, typer.Option(help="Of the usual number of steps.")] = 1.0,
) -> None:
    """Compare the twin with every other voice."""
    keep_freed_memory()
    voices = tuple(
        Voice(v.name, v.run, v.size, max(1, round(v.neuron_steps * share))) for v in VOICES
    )
    try:
        tallies = run(out, voices)
    except Mismatch as error:
        sys.stderr.write(f"\nMISMATCH {error}\n")
        raise typer.Exit(1) from None
    sys.stdout.write(table(tallies) + "\n" + provenance.in_words(provenance.describe()) + "\n")


if __name__ == "__main__":
    typer.run(main)
