"""The folder of a run: what is trained, how it goes, and its checkpoints.

=================  ============================================================================
config.json        task, recipe, network, processes, versions, commit, machine, written at the start
metrics.csv        a line for every finished epoch; metrics.json the same with task and recipe
last.safetensors   all that a resumed run needs; the newest weights, or their average
best.safetensors   the weights of the epoch with the best validation
tensorboard/       the same numbers for TensorBoard, if asked for
=================  ============================================================================
"""

from __future__ import annotations

import csv
import json
import os
import warnings
from pathlib import Path
from typing import Any

from training.checkpoint import OLD_SUFFIX, SUFFIX
from training.support import machine
from training.support.atomic import atomic_file, remove_drafts

LAST, BEST, METRICS = f"last{SUFFIX}", f"best{SUFFIX}", "metrics.json"
CONFIG, TABLE, BOARD = "config.json", "metrics.csv", "tensorboard"

Epoch = dict[str, Any]
"""Figures of a finished epoch by name."""


def refuse_old_checkpoint(last: Path) -> None:
    """Raise if ``last`` is missing and one of a version to be converted is in its place."""
    old = last.with_suffix(OLD_SUFFIX)
    if old.exists() and not last.exists():
        raise ValueError(
            f"{last}: expected a checkpoint of this version, found {old.name} of an earlier one; "
            f"convert it with: celif convert {old}"
        )


def _no_folder(path: Path, error: OSError) -> OSError:
    """Give an error of the system a text that names the folder, what is there, and what to do."""
    existing = next((each for each in (path, *path.absolute().parents) if each.exists()), path)
    found = f"that {existing} takes none ({os.strerror(error.errno or 0)})"
    if not existing.is_dir():
        found = "a file" if existing == path else f"the file {existing} in its way"
    return type(error)(
        error.errno, f"{path}: expected a folder for the run, found {found}; choose another folder"
    )


class RunFolder:
    """Writes the files of a run into the folder ``path``, which it creates."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _no_folder(self.path, error) from None

    @property
    def last(self) -> Path:
        """Path of the checkpoint from which the run can be resumed."""
        return self.path / LAST

    @property
    def best(self) -> Path:
        """Path of the checkpoint with the best weights so far."""
        return self.path / BEST

    def refuse_old_checkpoint(self) -> None:
        """Raise if the folder's only checkpoint is of a version that must be converted first."""
        refuse_old_checkpoint(self.last)

    def begin(self, about: dict[str, Any], resumed: bool) -> None:
        """Write the config of a run and clear drafts; a resumed run keeps its original config."""
        for name in (LAST, BEST, METRICS, CONFIG, TABLE):
            remove_drafts(self.path / name)
        if not (resumed and (self.path / CONFIG).exists()):
            self._write(CONFIG, json.dumps({**about, "machine": machine.describe()}, indent=1))

    def write_history(self, about: dict[str, Any]) -> None:
        """Rewrite all metrics, so that no line is there twice after a resumption."""
        history: list[Epoch] = about["history"]
        told = {name: about[name] for name in ("task", "recipe", "history")}
        self._write(METRICS, json.dumps(told, indent=1))
        with atomic_file(self.path / TABLE) as draft, draft.open("w", newline="") as f:
            # Epochs of a run that an earlier version began have fewer numbers.
            names = {name: None for epoch in history for name in epoch}
            table = csv.DictWriter(f, ["epoch", *names], restval="")
            table.writeheader()
            for number, epoch in enumerate(history, 1):
                cells = {name: _cell(value) for name, value in epoch.items()}
                table.writerow({"epoch": number, **cells})

    def _write(self, name: str, text: str) -> None:
        with atomic_file(self.path / name) as draft:
            draft.write_text(text)


def _cell(value: Any) -> Any:
    return " ".join(f"{v:.4f}" for v in value) if isinstance(value, list) else value


class TensorBoard:
    """Writes epochs for TensorBoard if that is installed, and warns if it is not."""

    def __init__(self, folder: Path, done: int) -> None:
        self._writer: Any = None
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            warnings.warn(
                f"TensorBoard: expected the package tensorboard, found none; {TABLE} has the same "
                "numbers (pip install 'celif-lava[tensorboard]')",
                stacklevel=4,
            )
        else:
            self._writer = SummaryWriter(str(folder / BOARD), purge_step=done + 1)

    def add(self, epoch: Epoch, number: int) -> None:
        """Write the numbers of an epoch."""
        if self._writer is None:
            return
        for name, value in epoch.items():
            for i, one in enumerate(value if isinstance(value, list) else [value]):
                tag = f"{name}/{i}" if isinstance(value, list) else name
                self._writer.add_scalar(tag, one, number)
        self._writer.flush()
