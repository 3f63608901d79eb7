"""Checkpoints: a network, how it was made and, while training, all that is needed to go on.

Saved whole or not at all; loaded without executing code from the file.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch

from training.files import atomic_file
from training.network import Network

VERSION = 1


class CheckpointError(ValueError):
    """A file that is no checkpoint of ours."""


def save(path: str | os.PathLike[str], net: Network, **extra: Any) -> None:
    """Write ``net`` and ``extra`` (tensors and plain values) to ``path``."""
    content = {"celif": VERSION, "network": net.config, "weights": net.state_dict(), **extra}
    with atomic_file(path) as draft:
        torch.save(content, draft)


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Content of a checkpoint, checked to be one."""
    if not Path(path).is_file():
        raise CheckpointError(f"{path}: expected a checkpoint, found no such file")
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch's unpickler raises whatever it stumbles over
        raise CheckpointError(f"{path}: expected a checkpoint, found {_reason(error)}") from None
    if not isinstance(content, dict) or not {"celif", "network", "weights"} <= set(content):
        raise CheckpointError(f"{path}: expected a celif checkpoint, found another torch file")
    if not isinstance(content["celif"], int) or content["celif"] > VERSION:
        raise CheckpointError(
            f"{path}: expected version up to {VERSION}, found {content['celif']}; update celif-lava"
        )
    return content


def build(content: dict[str, Any]) -> Network:
    """The network of a checkpoint's content."""
    net = Network(**content["network"])
    net.load_state_dict(content["weights"])
    return net


def load(path: str | os.PathLike[str]) -> Network:
    """The network in a checkpoint, in evaluation mode."""
    content = read(path)
    try:
        return build(content).eval()
    except (TypeError, ValueError, RuntimeError) as error:
        raise CheckpointError(f"{path}: expected a network, found {_reason(error)}") from None


def _reason(error: Exception) -> str:
    lines = str(error).splitlines() or [""]
    return f"damage ({type(error).__name__}: {lines[0][:120]})"
