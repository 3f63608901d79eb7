"""The models in the repository load, belong together, and run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from export import read_netx, simulate
from export.convert.to_integers import digest
from training import checkpoint

MODELS = Path(__file__).resolve().parents[2] / "models"
NAMES = sorted(path.stem for path in MODELS.glob("*.net"))


def test_there_are_models() -> None:
    assert NAMES


@pytest.mark.parametrize("name", NAMES)
def test_export_was_made_from_its_checkpoint(name: str) -> None:
    net, fixed = checkpoint.load(MODELS / f"{name}.safetensors"), read_netx(MODELS / f"{name}.net")
    assert fixed.digests == {n: digest(p.detach()) for n, p in net.named_parameters()}
    assert all(
        (MODELS / f"{name}{end}").stat().st_size < 1_000_000 for end in (".safetensors", ".net")
    )


@pytest.mark.parametrize("name", NAMES)
def test_model_fires_in_every_layer(name: str, rng: np.random.Generator) -> None:
    fixed = read_netx(MODELS / f"{name}.net")
    strokes = rng.integers(0, 256, (2, 1, fixed.steps)) * (rng.random((2, 1, fixed.steps)) < 0.2)
    trace = simulate(fixed, strokes, trace=True)
    assert trace.spikes is not None
    assert all(0.02 < spikes.mean() < 0.9 for spikes in trace.spikes)
    assert trace.saturations == [0] * len(fixed.layers)


@pytest.mark.parametrize("name", NAMES)
def test_model_has_a_card_with_its_parameters(name: str) -> None:
    card = (MODELS / "README.md").read_text(encoding="utf-8")
    assert f"## {name}" in card
    assert f"{checkpoint.load(MODELS / f'{name}.safetensors').num_parameters:,} parameters" in card
