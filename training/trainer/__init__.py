"""A trainer with checkpoints, schedules and resumption for the tasks of :mod:`training.tasks`."""

from training.trainer.evaluation import evaluate
from training.trainer.loop import BEST, LAST, METRICS, Progress, Trainer, start
from training.trainer.recipe import Recipe

__all__ = ["BEST", "LAST", "METRICS", "Progress", "Recipe", "Trainer", "evaluate", "start"]
