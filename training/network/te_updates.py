"""Updates of the temporal encoding, other than AdamW's of every entry for itself.

A threshold adds up what enters it at every step, Θ[t] = Σ β^(t−k)·CE[k] + Θ0, so neighbouring
entries of TE have nearly the same gradient, in which a change at a single step is lost.

``"rows"`` takes the mean over time out of a row's gradient and gives the row one second moment.

``"sums"`` lets AdamW update U[t] = Σ β^(t−k)·TE[k] in place of TE. Where TE enters the threshold
without a factor, as in the contexts TE and V+TE, U is its share of Θ − Θ0, and its entries can move
apart from each other. From TE[t] = U[t] − β·U[t−1] follow the gradient that AdamW is given, and
what a step of U makes of TE::

    G_U[t] = G_TE[t] − β·G_TE[t+1]        ΔTE[t] = ΔU[t] − β·ΔU[t−1]
"""

from __future__ import annotations

import torch
from torch import nn

from training.network.network import Network


def encodings(net: nn.Module) -> list[nn.Parameter]:
    """The parameters of the temporal encoding; none in networks that have none.

    They are those of every :class:`Network` in ``net``, which a quantised network has inside, or
    else of an attribute ``te`` of another module.
    """
    return [p for owner in _owners(net) for p in _own(owner)]


def _owners(net: nn.Module) -> list[nn.Module]:
    return [each for each in net.modules() if isinstance(each, Network)] or [net]


def _own(owner: nn.Module) -> list[nn.Parameter]:
    return [p for name, p in owner.named_parameters() if name.split(".")[0] == "te"]


def transform_gradients(net: nn.Module, update: str) -> None:
    """Turn the gradients of the temporal encoding into those that AdamW is to be given.

    ``update`` is the recipe's ``te_update``.
    """
    if update == "entries":
        return
    for owner in _owners(net):
        for table in _own(owner):
            if table.grad is None:
                continue
            if update == "rows":
                table.grad -= table.grad.mean(1, keepdim=True)
            else:
                table.grad[:, :-1] -= _decay(owner) * table.grad[:, 1:].clone()


def attach(optimizer: torch.optim.Optimizer, net: nn.Module, update: str) -> None:
    """Make the optimiser's steps those of the recipe's ``te_update``."""
    if update == "entries":
        return
    tables = encodings(net)
    if any(table.ndim != 2 for table in tables):
        raise ValueError(
            "recipe te_update: expected 'entries' for a temporal encoding that is not a table, "
            f"got {update!r}"
        )
    if update == "rows":
        optimizer.register_step_post_hook(lambda adam, *_: _share_second_moments(adam, tables))
    elif tables:
        decays = [_decay(owner) for owner in _owners(net) for _ in _own(owner)]
        _step_in_sums(optimizer, tables, decays)


def _share_second_moments(adam: torch.optim.Optimizer, tables: list[nn.Parameter]) -> None:
    """Give all steps of a neuron the mean of their second moments, after an update.

    The moments are linear in the squares that they sum up, so their mean is the row's moment. In
    the next update an entry's own last square is still for itself, a thousandth of that sum.
    """
    for table in tables:
        if table in adam.state:
            squares = adam.state[table]["exp_avg_sq"]
            squares.copy_(squares.mean(1, keepdim=True).expand_as(squares))


def _step_in_sums(
    optimizer: torch.optim.Optimizer, tables: list[nn.Parameter], decays: list[float]
) -> None:
    """Take what a step adds to a table for what it adds to the sums."""
    before: list[torch.Tensor] = []

    def keep(*_: object) -> None:
        before[:] = [table.detach().clone() for table in tables]

    @torch.no_grad()
    def place(*_: object) -> None:
        for table, old, beta in zip(tables, before, decays, strict=True):
            moved = table - old
            moved[:, 1:] -= beta * moved[:, :-1].clone()
            table.copy_(old + moved)

    optimizer.register_step_pre_hook(keep)
    optimizer.register_step_post_hook(place)


def _decay(owner: nn.Module) -> float:
    """The β of all layers of a network; raise ValueError unless it is one constant."""
    if isinstance(owner, Network):
        config = owner.config
        if isinstance(config.beta, (int, float)) and not config.learn_beta:
            return float(config.beta)
    raise ValueError(
        "recipe te_update: expected a Network with one constant β for 'sums', because all layers "
        "share one table; choose 'entries' or 'rows'"
    )
