"""What a run starts from: a network for the task, and an optimiser for the network."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import nn

from training.decays import Decay
from training.network import te_updates
from training.network.network import Network
from training.tasks import Split, Task
from training.tasks.distillation import classes_of
from training.trainer.distributed import Group
from training.trainer.recipe import Recipe


def parameter_groups(net: nn.Module, recipe: Recipe) -> list[dict[str, Any]]:
    """Group the parameters by learning rate, given as a multiple of the recipe's.

    The parameters of learnt decays have no weight decay, which would draw every decay to 1/2. Nor
    has a temporal encoding whose sums are updated: a step of those is not one of its entries.
    """
    sums = recipe.te_update == "sums"
    te = te_updates.encodings(net) if recipe.te_lr != 1 or sums else []
    learnt = [p for each in net.modules() if isinstance(each, Decay) for p in each.parameters()]
    chosen = {id(p) for p in (*te, *learnt)}
    groups: list[dict[str, Any]] = [
        {"params": [p for p in net.parameters() if id(p) not in chosen]}
    ]
    if te:
        groups.append(
            {"params": te, "multiple": recipe.te_lr} | ({"weight_decay": 0.0} if sums else {})
        )
    if learnt:
        groups.append({"params": learnt, "weight_decay": 0.0})
    return groups


def optimiser(net: nn.Module, recipe: Recipe) -> torch.optim.AdamW:
    """Make the recipe's optimiser for a network; see ``te_update`` of :class:`Recipe`."""
    made = torch.optim.AdamW(
        parameter_groups(net, recipe), lr=recipe.lr, weight_decay=recipe.weight_decay
    )
    te_updates.attach(made, net, recipe.te_update)
    return made


def require_fit(net: nn.Module, task: Task) -> None:
    """Refuse a task without samples, and a :class:`Network` whose sizes are not the task's.

    A task of one class is refused as well, and one that lacks some of its classes warned of.
    """
    for name in ("train", "validation"):
        if len(getattr(task, name)) == 0:
            raise ValueError(f"task {task.name}: expected samples in {name}, got none")
    _look_at_classes(task)
    if not isinstance(net, Network):
        return
    if (net.in_features, net.config.classes) != (task.channels, task.classes):
        raise ValueError(
            f"network: expected {task.channels} inputs and {task.classes} classes for task "
            f"{task.name}, got {net.in_features} and {net.config.classes}"
        )
    if task.steps > net.steps:
        raise ValueError(
            f"network: expected steps ≥ {task.steps} for task {task.name}, got {net.steps}"
        )
    if (net.config.readout == "steps") != (task.objective.readout == "steps"):
        raise ValueError(
            f"network readout: expected {task.objective.readout!r} for task {task.name}, got "
            f"{net.config.readout!r}"
        )


def _look_at_classes(task: Task) -> None:
    parts = (task.train, task.validation, task.test)
    if not task.objective.of_classes or not all(isinstance(part, Split) for part in parts):
        return
    seen = {int(label) for part in parts for label in classes_of(part.y).unique()}
    if len(seen) < 2:
        raise ValueError(
            f"task {task.name}: expected samples of at least two classes, to be told apart, got "
            f"class {seen.pop()} alone; check how the labels were read"
        )
    absent = [str(label) for label in range(task.classes) if label not in seen]
    if absent and Group().rank == 0:
        shown = ", ".join(absent[:8]) + (", …" if len(absent) > 8 else "")
        warnings.warn(
            f"task {task.name}: expected samples of all {task.classes} classes, one for each "
            f"output, found none of {len(absent)}: {shown}; classes are numbered from 0, which "
            "np.unique(y, return_inverse=True)[1] does without gaps",
            stacklevel=4,
        )


def start(task: Task, hidden: tuple[int, ...], recipe: Recipe, **options: Any) -> Network:
    """Build a network for ``task`` whose weights are drawn from the recipe's seed."""
    torch.manual_seed(recipe.seed)
    options = {"permutation": task.permutation, "readout": task.objective.readout, **options}
    return Network(task.channels, hidden, task.classes, task.steps, **options)
