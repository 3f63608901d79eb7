"""The report's part about a chip: cores, costs and NeuroBench's metrics, as fit counts them."""

from __future__ import annotations

import re

import numpy as np

from celif.views.chip.fit_page import SAMPLES, chip_section
from export.fit import fit
from hw_tests.networks.random_nets import random_network


def cells(text: str) -> dict[str, str]:
    return dict(re.findall(r'<tr><td>(.*?)</td><td class="n">(.*?)</td></tr>', text))


def test_the_report_shows_what_fit_counts(rng: np.random.Generator) -> None:
    net, x = random_network(rng, (6, 5), 20, channels=3), rng.integers(0, 3, (SAMPLES + 4, 3, 20))
    found = fit(net, x=x[:SAMPLES])
    assert found.metrics is not None
    shown = cells(chip_section(net, x))
    assert shown["cores"] == "3 of 128"
    assert shown["cores with TE in pool"] == "1 + 1 + 1"
    assert shown["activation sparsity"] == f"{found.metrics['activation_sparsity']:.1%}"
    assert 0 < found.metrics["activation_sparsity"] < 1
    low, high = map(float, shown["energy of a sample, µJ"].split(" to "))
    assert 0 < low < high


def test_the_report_says_what_a_network_too_large_runs_short_of(rng: np.random.Generator) -> None:
    net = random_network(rng, (6,), 5000, channels=1)
    shown = cells(chip_section(net, rng.integers(0, 3, (1, 1, 5000))))
    assert "state bytes" in shown["does not fit one chip"]
