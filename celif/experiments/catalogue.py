"""Every experiment by its name."""

from __future__ import annotations

from celif.experiments import (
    energy,
    equal_time,
    evolution,
    gradients,
    landscape,
    stability,
    te_similarity,
)
from celif.experiments.accuracy import seeds, table1
from celif.experiments.embeddings import ablation, contexts
from celif.experiments.machinery.experiment import Experiment
from celif.experiments.memory import long_memory

EXPERIMENTS: dict[str, Experiment] = {
    each.name: each
    for each in (
        table1.EXPERIMENT,
        seeds.EXPERIMENT,
        equal_time.EXPERIMENT,
        ablation.EXPERIMENT,
        *ablation.MNIST_EXPERIMENTS,
        contexts.EXPERIMENT,
        long_memory.ADDING_EXPERIMENT,
        long_memory.COPY_EXPERIMENT,
        gradients.EXPERIMENT,
        te_similarity.EXPERIMENT,
        evolution.EXPERIMENT,
        landscape.EXPERIMENT,
        energy.EXPERIMENT,
        stability.EXPERIMENT,
    )
}


def get(name: str) -> Experiment:
    """The experiment of that name."""
    if name not in EXPERIMENTS:
        raise ValueError(f"experiment: expected one of {', '.join(EXPERIMENTS)}, got {name!r}")
    return EXPERIMENTS[name]
