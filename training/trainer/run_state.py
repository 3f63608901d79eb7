"""All that a training needs to go on as if it had never been interrupted."""

from __future__ import annotations

import warnings
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from training import checkpoint
from training.trainer.distributed import SEED_STRIDE
from training.trainer.progress import Tally
from training.trainer.recipe import Recipe
from training.trainer.run_folder import BEST, LAST

if TYPE_CHECKING:
    from training.trainer.loop import Trainer

Content = dict[str, Any]


def about(run: Trainer[Any]) -> Content:
    """What makes a run that run."""
    return {
        "network": checkpoint.plain_config(run.net),
        "task": run.task.name,
        "recipe": asdict(run.recipe),
        "processes": run.group.size,
        "origin": run.origin,
    }


def weights(run: Trainer[Any]) -> Content:
    """What a user wants of a checkpoint: the average, if there is one."""
    return {} if run.average is None else {"weights": run.average.weights}


def state(run: Trainer[Any]) -> Content:
    """What only a resumed training needs; every process must ask for it."""
    content = {
        "optimizer": run.optimizer.state_dict(),
        "tally": asdict(run.tally),
        "random": run.group.gather(torch.get_rng_state(), run.device),
    }
    if run.device.type == "cuda":
        content["random_cuda"] = run.group.gather(torch.cuda.get_rng_state(), run.device)
    if run.average is not None:
        content |= {"raw": run.net.state_dict(), "averaged": run.average.updates}
    return content


def restore(run: Trainer[Any], path: Path) -> None:
    """Put ``run`` where the checkpoint ``path`` left off; refuse that of another run."""
    content = checkpoint.read(path)
    _require_same_run(run, path, content)
    run.net.load_state_dict(content.get("raw", content["weights"]))
    if run.average is not None:
        run.average.load(content["weights"], content["averaged"])
    run.optimizer.load_state_dict(content["optimizer"])
    run.history, run.origin = content["history"], content.get("origin")
    run.tally = Tally(**content.get("tally", {}))
    _restore_random(run, path, content)


def _require_same_run(run: Trainer[Any], path: Path, content: Content) -> None:
    if "optimizer" not in content:
        raise ValueError(
            f"{path}: expected the state of the optimiser, found none, as in {BEST}; only the "
            f"{LAST} that a run wrote can be resumed"
        )
    ours, theirs = about(run), {name: content.get(name) for name in about(run)}
    # A file of an earlier version knows fewer options: those it does not name had their defaults.
    theirs["recipe"] = asdict(Recipe(**content["recipe"]))
    if content["kind"] == type(run.net).__name__ in checkpoint.BUILDERS:
        with torch.random.fork_rng(devices=[]):
            built = checkpoint.BUILDERS[content["kind"]](**content["network"])
        theirs["network"] = checkpoint.plain_config(built)
    for name in ("network", "task", "recipe"):
        if theirs[name] != ours[name]:
            raise ValueError(
                f"{path}: expected the same {name} as the run began with, "
                f"{_differing(theirs[name], ours[name])}, got "
                f"{_differing(ours[name], theirs[name])}; use another folder for another run"
            )


def _differing(value: Any, other: Any) -> Any:
    """Of two dictionaries what differs in the first, else the value itself."""
    if not (isinstance(value, dict) and isinstance(other, dict)):
        return value
    return {name: v for name, v in value.items() if name not in other or other[name] != v}


def _restore_random(run: Trainer[Any], path: Path, content: Content) -> None:
    states = content["random"]
    states = states if isinstance(states, list) else [states]  # version 1: that of one process
    if len(states) != run.group.size:
        warnings.warn(
            f"{path}: the run began with {len(states)} process(es) and goes on with "
            f"{run.group.size}: as well, but not bit for bit",
            stacklevel=4,
        )
    if run.group.rank < len(states):
        torch.set_rng_state(states[run.group.rank])
        if run.device.type == "cuda" and "random_cuda" in content:
            torch.cuda.set_rng_state(content["random_cuda"][run.group.rank])
    else:
        done = len(run.history) * run.steps_per_epoch + run.tally.step
        torch.manual_seed(run.recipe.seed + run.group.rank * SEED_STRIDE + done)
