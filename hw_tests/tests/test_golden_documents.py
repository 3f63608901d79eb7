"""The kit's documents: what they begin with, and that the pages count what there is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from export.fit import published
from export.model.te import quarter_wave
from hw_tests.golden import write_kit
from hw_tests.golden.kit import random_input
from hw_tests.networks.random_nets import random_network

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    net = random_network(np.random.default_rng(0), (3, 2), 8)
    folder = tmp_path_factory.mktemp("golden") / "kit"
    write_kit(net, random_input(net, 1), str(folder))
    return folder


def test_kit_begins_with_what_must_be_known_and_gives_the_cosine_first(kit: Path) -> None:
    readme = (kit / "README.md").read_text(encoding="utf-8")
    first = readme.index("Can microcode read a neuron's state at an index")
    assert first < readme.index("What is in it") < readme.index("| case | shows |")
    listing = (kit / "LISTING.md").read_text(encoding="utf-8")
    cosine = listing.index("### CE-LIF, TE a generated cosine")
    assert cosine < listing.index("### TE from a table") < listing.index("## In generic")
    assert "READ?" not in listing[cosine : listing.index("### TE from a table")]


def test_documentation_counts_published_operations_as_they_are() -> None:
    text = " ".join((ROOT / "docs" / "golden.md").read_text(encoding="utf-8").split())
    wave = quarter_wave(127.0, 8).tolist()
    table, packed, cosine = (
        len(published.celif_step(form, wave)) for form in ("table", "packed", "cosine")
    )
    assert f"{table - 1} operations, three of them multiplications" in text
    assert (packed - table, f"makes {cosine} operations in all" in text) == (8, True)
