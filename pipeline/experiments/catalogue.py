"""Every experiment by its name."""

from __future__ import annotations

from pipeline.experiments import ablation, energy, te_similarity
from pipeline.experiments.experiment import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    each.name: each for each in (te_similarity.EXPERIMENT, energy.EXPERIMENT, ablation.EXPERIMENT)
}


def get(name: str) -> Experiment:
    """The experiment of that name."""
    if name not in EXPERIMENTS:
        raise ValueError(f"experiment: expected one of {', '.join(EXPERIMENTS)}, got {name!r}")
    return EXPERIMENTS[name]
