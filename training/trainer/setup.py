"""What a run starts from: a network for the task, and an optimiser for the network."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from training.decays import Decay
from training.network.network import Network
from training.tasks import Task
from training.trainer.recipe import Recipe


def parameter_groups(net: nn.Module, te_lr: float) -> list[dict[str, Any]]:
    """Group the parameters by learning rate, given as a multiple of the recipe's.

    The parameters of learnt decays have no weight decay, which would draw every decay to 1/2.
    """
    te = [] if te_lr == 1 else _encodings(net)
    learnt = [p for each in net.modules() if isinstance(each, Decay) for p in each.parameters()]
    chosen = {id(p) for p in (*te, *learnt)}
    groups: list[dict[str, Any]] = [
        {"params": [p for p in net.parameters() if id(p) not in chosen]}
    ]
    if te:
        groups.append({"params": te, "multiple": te_lr})
    if learnt:
        groups.append({"params": learnt, "weight_decay": 0.0})
    return groups


def _encodings(net: nn.Module) -> list[nn.Parameter]:
    """The parameters of the temporal encoding; none in networks that have none."""
    return [p for name, p in net.named_parameters() if name.split(".")[0] == "te"]


def optimiser(net: nn.Module, recipe: Recipe) -> torch.optim.AdamW:
    """Make the recipe's optimiser for a network; see ``te_update`` of :class:`Recipe`."""
    made = torch.optim.AdamW(
        parameter_groups(net, recipe.te_lr), lr=recipe.lr, weight_decay=recipe.weight_decay
    )
    if recipe.te_update == "rows":
        tables = _encodings(net)
        if any(table.ndim != 2 for table in tables):
            raise ValueError(
                "recipe te_update: expected 'entries' for a temporal encoding that is not a table, "
                "got 'rows'"
            )
        made.register_step_post_hook(lambda adam, *_: _share_second_moments(adam, tables))
    return made


def _share_second_moments(adam: torch.optim.Optimizer, tables: list[nn.Parameter]) -> None:
    """Give all steps of a neuron the mean of their second moments, after an update.

    The moments are linear in the squares that they sum up, so their mean is the row's moment. In
    the next update an entry's own last square is still for itself, a thousandth of that sum.
    """
    for table in tables:
        if table in adam.state:
            squares = adam.state[table]["exp_avg_sq"]
            squares.copy_(squares.mean(1, keepdim=True).expand_as(squares))


def balance_gradients(net: nn.Module, recipe: Recipe) -> None:
    """Take the mean over time out of the temporal encoding's gradient, if the recipe says so.

    A threshold sums up the products of V and TE over all steps, so that an update of all the steps
    together moves it as many times further than an update of one.
    """
    if recipe.te_update == "rows":
        for table in _encodings(net):
            if table.grad is not None:
                table.grad -= table.grad.mean(1, keepdim=True)


def require_fit(net: nn.Module, task: Task) -> None:
    """Refuse a task without samples, and a :class:`Network` whose sizes are not the task's."""
    for name in ("train", "validation"):
        if len(getattr(task, name)) == 0:
            raise ValueError(f"task {task.name}: expected samples in {name}, got none")
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


def start(task: Task, hidden: tuple[int, ...], recipe: Recipe, **options: Any) -> Network:
    """Build a network for ``task`` whose weights are drawn from the recipe's seed."""
    torch.manual_seed(recipe.seed)
    options = {"permutation": task.permutation, "readout": task.objective.readout, **options}
    return Network(task.channels, hidden, task.classes, task.steps, **options)
