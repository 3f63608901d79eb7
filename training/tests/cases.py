"""What the tests of this room share: inputs that make neurons fire, and hypothesis settings."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import HealthCheck, settings

from training.dynamics import Params

PARAMS = Params(alpha=0.6, beta=0.9, theta0=0.3)
WIDTH = 0.4

hypothesis_settings = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def inputs(
    rng: np.random.Generator, batch: int, neurons: int, steps: int, dtype: torch.dtype
) -> tuple[torch.Tensor, torch.Tensor]:
    """Current (batch, neuron, time) and TE (neuron, time): some neurons fire, some do not."""
    current = torch.from_numpy(rng.normal(0.2, 0.5, (batch, neurons, steps))).to(dtype)
    te = torch.from_numpy(rng.normal(0.1, 0.3, (neurons, steps))).to(dtype)
    return current, te
