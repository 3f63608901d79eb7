"""What the tests of NIR share."""

from __future__ import annotations

import numpy as np
import pytest
import torch

STEPS = 24


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


@pytest.fixture
def x() -> torch.Tensor:
    return (torch.rand(6, 5, STEPS, generator=torch.Generator().manual_seed(1)) < 0.4).float()
