"""The soak works: it compares, resumes, and notices a wrong bit; `make soak` is the long one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.soak import draws, soak
from export import FixedNetwork, Trace, simulate
from hw_tests.ladder import rung

SMALL = draws.LargestDraw(layers=3, width=9, steps=12, samples=3)


def small(name: str, neuron_steps: int) -> soak.Voice:
    voice = next(voice for voice in soak.VOICES if voice.name == name)
    return replace(voice, size=SMALL, neuron_steps=neuron_steps)


@pytest.mark.parametrize(
    ("name", "neuron_steps"), [("plain", 8000), ("oracle", 2000), ("qat", 2000), ("lava", 60)]
)
def test_voices_agree_with_the_twin(
    name: str, neuron_steps: int, targets: list[str], tmp_path: Path
) -> None:
    if name == "lava" and (reason := rung(3, "lava").why_not(targets)) is not None:
        pytest.skip(reason)
    tally = soak.run(tmp_path / "soak.json", (small(name, neuron_steps),), echo=False)[name]
    assert tally.neuron_steps >= neuron_steps
    assert tally.mismatches == 0
    assert tally.spikes > 0.02 * tally.neuron_steps


def test_soak_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "soak.json"
    half = soak.run(path, (small("plain", 2000),), echo=False)["plain"]
    again = soak.run(path, (small("plain", 2000),), echo=False)["plain"]
    assert again == half
    whole = soak.run(path, (small("plain", 4000),), echo=False)["plain"]
    at_once = soak.run(tmp_path / "other.json", (small("plain", 4000),), echo=False)["plain"]
    assert half.next_seed < whole.next_seed
    assert whole == at_once


def test_soak_stops_at_a_wrong_bit_and_names_the_seed(tmp_path: Path) -> None:
    def wrong(net: FixedNetwork, x: np.ndarray) -> Trace:
        trace = simulate(net, x, trace=True)
        assert trace.v is not None
        assert trace.v[-1] is not None
        trace.v[-1][0, 0, -1] ^= 1
        return trace

    voice = replace(small("plain", 2000), run=wrong)
    with pytest.raises(soak.Mismatch, match=r"seed \d+, .*: 1 of \d+ values; first: sample 0"):
        soak.run(tmp_path / "soak.json", (voice,), echo=False)


def test_draws_cover_every_option() -> None:
    seen = {option for seed in range(150) for option in draws.draw(seed, SMALL).options}
    wanted = {f"{name} {value}" for name, values in draws.OPTIONS.items() for value in values}
    assert wanted <= seen
    assert {"weight_bits mixed", "short samples", *draws.KINDS} <= seen
