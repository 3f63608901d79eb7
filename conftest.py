"""Fixtures and options that the tests of every room share."""

from __future__ import annotations

import os
from typing import Any

# Processes of pytest-xdist share the cores; torch reads this when it is imported.
if workers := int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "0")):
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // workers)))

import training as training  # first: it sets OpenMP's wait policy before torch loads

# isort: split

import numpy as np
import pytest

import lava_procs as lava_procs  # mends Lava, which many tests import themselves
from hw_tests.backends import TARGETS, no_loihi2
from hw_tests.ladder import RUNGS, Rung


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--target",
        default="torch,twin,lava",
        help=f"what the ladder puts under test, of {', '.join(TARGETS)}",
    )
    chip = parser.getgroup("loihi2", "the chip of --target loihi2, see lava_procs.Loihi")
    chip.addoption("--host", help="address of a host that is reached directly, or slurm")
    chip.addoption("--partition", help="SLURM's partition")
    chip.addoption("--board", help="SLURM's board")
    chip.addoption("--generation", help="generation of the chip: N3B3, N3C1 ...")
    chip.addoption("--hybrid", action="store_true", help="synapses on the chip, CELIF on the host")


def pytest_configure(config: pytest.Config) -> None:
    if "loihi2" in asked_targets(config):
        try:
            no_loihi2(asked_chip(config))
        except (ValueError, ImportError) as error:
            raise pytest.UsageError(str(error)) from None


def asked_chip(config: pytest.Config) -> Any:
    """The Loihi 2 that the command line describes; None where Lava is not installed."""
    try:
        from lava_procs import Loihi
    except ImportError:
        return None
    names = ("host", "partition", "board", "generation", "hybrid")
    return Loihi(**{name: config.getoption(f"--{name}") for name in names})


def asked_rungs(config: pytest.Config) -> list[Rung]:
    """The rungs of the ladder, with the chip of the command line."""
    if "loihi2" not in asked_targets(config) or (chip := asked_chip(config)) is None:
        return list(RUNGS)
    return [rung.on(chip) for rung in RUNGS]


def asked_targets(config: pytest.Config) -> list[str]:
    """Targets given on the command line."""
    names = [name.strip() for name in config.getoption("--target").split(",") if name.strip()]
    unknown = set(names) - set(TARGETS)
    if unknown:
        raise pytest.UsageError(f"--target: expected some of {TARGETS}, got {sorted(unknown)}")
    return names


def pytest_report_header(config: pytest.Config) -> list[str]:
    targets = asked_targets(config)
    lines = [f"ladder: targets {', '.join(targets)}"]
    for rung in asked_rungs(config):
        reason = rung.why_not(targets)
        lines.append(f"  rung {rung.number}  {rung.compared}: {reason or 'runs'}")
    return lines


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator with a fixed seed."""
    return np.random.default_rng(0)


@pytest.fixture
def targets(request: pytest.FixtureRequest) -> list[str]:
    """Targets given on the command line."""
    return asked_targets(request.config)


@pytest.fixture
def rungs(request: pytest.FixtureRequest) -> list[Rung]:
    """The ladder, with the chip of the command line."""
    return asked_rungs(request.config)
