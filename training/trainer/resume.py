"""Whether a checkpoint belongs to a run, and whether its fields are sound, before it is resumed."""

from __future__ import annotations

import math
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from training import checkpoint
from training.checkpoint import CheckpointError
from training.tasks import Split, Task
from training.trainer.distributed import SEED_STRIDE, Group
from training.trainer.progress import Tally
from training.trainer.recipe import Recipe
from training.trainer.run_folder import BEST, LAST

Content = dict[str, Any]


def data_of(task: Task) -> Content:
    """Return what tells a run's data from others: how many samples, and digests.

    Only a :class:`Split` has a digest. Other sources make their samples as they are drawn.
    """
    parts = {"data": task.train, "validation": task.validation}
    digests = {name: part.digest() for name, part in parts.items() if isinstance(part, Split)}
    return {"samples": len(task.train), **digests}


def require_same_run(ours: Content, content: Content, kind: str, path: Path) -> None:
    """Raise unless ``content`` is the state of the run that ``ours`` describes."""
    if "optimizer" not in content:
        raise CheckpointError(
            f"{path}: expected the state of the optimiser, found none, as in {BEST}; only the "
            f"{LAST} that a run wrote can be resumed"
        )
    theirs = {name: content.get(name) for name in ours}
    # A file of an earlier version knows fewer options: those it does not name had their defaults.
    recipe = asdict(_recipe(path, content.get("recipe")))
    if content["kind"] == kind in checkpoint.BUILDERS:
        with torch.random.fork_rng(devices=[]):
            try:
                theirs["network"] = checkpoint.plain_config(checkpoint.build(content))
            except CheckpointError as error:
                raise CheckpointError(f"{path}: {error}") from None
    # A run may be made longer: its schedule is then stretched over the new number of epochs.
    recipe["epochs"] = max(recipe["epochs"], ours["recipe"]["epochs"])
    theirs["recipe"] = recipe
    for name in ("encoding", "samples"):
        if content.get(name) is None and name in ours:  # an earlier version did not say
            theirs[name] = ours[name]
    for name in ("network", "task", "encoding", "samples", "teacher", "recipe"):
        if theirs[name] != ours[name]:
            raise CheckpointError(
                f"{path}: expected the same {name} as the run began with, "
                f"{_differing(theirs[name], ours[name])}, got "
                f"{_differing(ours[name], theirs[name])}; use another folder for another run"
            )
    for name, part in (("data", "training"), ("validation", "validation")):
        began, found = content.get(name), ours.get(name)
        if began is None or began == found:  # an earlier version, or samples made as they are drawn
            continue
        got = f"different data, digest {found}" if found else "a source without a digest"
        raise CheckpointError(
            f"{path}: expected the {part} data that the run began with, digest {began}, got {got}; "
            "pass the run's own data, of the same dtype, or use another folder for another run"
        )


def _recipe(path: Path, values: Any) -> Recipe:
    try:
        return Recipe(**values)
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"{path}: recipe: expected options of a Recipe, {error}") from None


def _differing(value: Any, other: Any) -> Any:
    """Return what differs in the first of two dictionaries, or the value if it is none."""
    if not (isinstance(value, dict) and isinstance(other, dict)):
        return value
    return {name: v for name, v in value.items() if name not in other or other[name] != v}


def history_of(content: Content, path: Path) -> list[dict[str, Any]]:
    """Return the finished epochs of a checkpoint, each with a validation score."""
    history = content.get("history")
    if not isinstance(history, list):
        found = type(history).__name__
        raise CheckpointError(f"{path}: history: expected a list of epochs, found {found}")
    for i, epoch in enumerate(history):
        score = epoch.get("validation") if isinstance(epoch, dict) else None
        if not isinstance(score, (int, float)) or not math.isfinite(score):
            raise CheckpointError(
                f"{path}: history: expected a validation score in epoch {i + 1}, found {score!r}"
            )
    return history


def tally_of(content: Content, path: Path, steps_per_epoch: int) -> Tally:
    """Return the sums of a half-finished epoch; those of a new epoch if there are none."""
    values = content.get("tally", {})
    usual = asdict(Tally())
    for name, value in values.items() if isinstance(values, dict) else [("tally", values)]:
        wanted = type(usual.get(name))
        if name not in usual or not isinstance(value, (wanted, int) if wanted is float else wanted):
            raise CheckpointError(f"{path}: tally: expected sums by name, found {name} = {value!r}")
    tally = Tally(**values)
    if not 0 <= tally.step < max(steps_per_epoch, 1):
        raise CheckpointError(
            f"{path}: tally: expected a step below {steps_per_epoch}, found {tally.step}"
        )
    return tally


def saved_optimizer(optimizer: torch.optim.Optimizer) -> Content:
    """Return the state dict of an optimiser with names, not numbers, as keys."""
    state = optimizer.state_dict()
    return {**state, "state": {str(key): value for key, value in state["state"].items()}}


def optimizer_state(content: Content, path: Path, optimizer: torch.optim.Optimizer) -> Content:
    """Return the optimiser's state dict, checked against the parameters of ``optimizer``."""
    found, ours = content["optimizer"], optimizer.state_dict()["param_groups"]
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    try:
        state = {int(key): value for key, value in found["state"].items()}
        groups = [dict(group) for group in found["param_groups"]]
        for key, values in state.items():
            if not 0 <= key < len(parameters) or set(values) != {"step", "exp_avg", "exp_avg_sq"}:
                raise ValueError(f"state of parameter {key}")
            for name, value in values.items():
                shape = () if name == "step" else parameters[key].shape
                if value.shape != shape or not torch.isfinite(value).all():
                    raise ValueError(f"{name} of parameter {key}")
        for mine, group in zip(ours, groups, strict=True):
            first, second = group["betas"]
            numbers = (first, second, group["lr"], group["eps"], group["weight_decay"])
            if group["params"] != mine["params"] or not all(map(math.isfinite, numbers)):
                raise ValueError("parameter groups")
            if tensors := [name for name in group if isinstance(group[name], torch.Tensor)]:
                raise ValueError(f"a tensor for {tensors[0]}")
            group["betas"] = (first, second)
    except (
        TypeError, ValueError, KeyError, IndexError, AttributeError, RuntimeError,
    ) as error:  # fmt: skip
        raise CheckpointError(
            f"{path}: optimizer: expected the state of AdamW for this network, found something "
            f"else ({error})"
        ) from None
    return {"state": state, "param_groups": groups}


def require_random_states(content: Content, path: Path) -> None:
    """Raise unless there is a random state for each process of the run that was saved."""
    for field in ("random", "random_cuda"):
        states = content.get(field, [] if field == "random" else [torch.zeros(1).byte()])
        if not isinstance(states, list) or not states:
            raise CheckpointError(f"{path}: {field}: expected a state for each process, found none")
        for state in states:
            if not isinstance(state, torch.Tensor) or (state.dtype, state.ndim) != (torch.uint8, 1):
                raise CheckpointError(f"{path}: {field}: expected bytes, found {state!r:.60}")


def restore_random(
    content: Content, path: Path, group: Group, device: torch.device, seed: int
) -> None:
    """Give this process its random state, or one from ``seed`` if the saved run had fewer."""
    states = content["random"]
    if len(states) != group.size:
        warnings.warn(
            f"{path}: the run began with {len(states)} process{'es' if len(states) > 1 else ''} "
            f"and continues with {group.size}: equivalent, but not bit for bit identical",
            stacklevel=5,
        )
    if group.rank >= len(states):
        torch.manual_seed(seed + group.rank * SEED_STRIDE)
        return
    try:
        torch.set_rng_state(states[group.rank])
        if device.type == "cuda" and "random_cuda" in content:
            torch.cuda.set_rng_state(content["random_cuda"][group.rank])
    except (RuntimeError, TypeError) as error:
        raise CheckpointError(f"{path}: random: expected a state of torch, {error}") from None
