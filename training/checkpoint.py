"""Checkpoints: a network, how it was made and, while training, all that is needed to go on.

Saved whole or not at all. Loaded by torch's restricted unpickler, and from no form of file but the
one that :func:`save` writes: older forms take paths through torch that were open to attacks.
"""

from __future__ import annotations

import importlib
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from training.network.config import NetworkConfig
from training.network.network import Network
from training.support.atomic import atomic_file

VERSION = 2
"""2 added ``kind`` and a place in the middle of an epoch; files of version 1 are read as before."""

BUILDERS: dict[str, Callable[..., nn.Module]] = {"Network": Network}
"""What a file's ``kind`` is built by, from its ``network`` as keywords. Add your own modules."""

LATE_BUILDERS = {"QuantizedNetwork": "export.qat.network"}
"""Modules that add their builder to :data:`BUILDERS`, imported when a checkpoint needs them."""


class CheckpointError(ValueError):
    """A file that is no checkpoint of ours."""


def save(path: str | os.PathLike[str], net: nn.Module, **extra: Any) -> None:
    """Write ``net`` and ``extra`` (tensors and plain values) to ``path``.

    A module with a ``config`` of plain values, from which :data:`BUILDERS` can build it anew, can
    be loaded; of any other only the weights are kept.
    """
    content = {
        "celif": VERSION,
        "kind": type(net).__name__,
        "network": plain_config(net),
        "weights": net.state_dict(),
        **extra,
    }
    with atomic_file(path) as draft:
        torch.save(content, draft)


def plain_config(net: nn.Module) -> dict[str, Any] | None:
    """Return the ``config`` of a module as plain values, from which it can be built again."""
    config = getattr(net, "config", None)
    return config.plain() if isinstance(config, NetworkConfig) else config


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Content of a checkpoint, checked to be one."""
    if not Path(path).is_file():
        raise CheckpointError(f"{path}: expected a checkpoint, found no such file")
    if not zipfile.is_zipfile(path):
        raise CheckpointError(f"{path}: expected a checkpoint, found another or half a file")
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
    return {"kind": "Network", **content}


def build(content: dict[str, Any]) -> nn.Module:
    """The module of a checkpoint's content."""
    kind = content["kind"]
    if kind in LATE_BUILDERS:
        importlib.import_module(LATE_BUILDERS[kind])
    if kind not in BUILDERS or content["network"] is None:
        raise CheckpointError(
            f"checkpoint of a {kind}: expected one of {', '.join(BUILDERS)}; make the module as it "
            "was made, then load_state_dict(checkpoint.read(path)['weights'])"
        )
    net = BUILDERS[kind](**content["network"])
    net.load_state_dict(content["weights"])
    return net


def load_module(path: str | os.PathLike[str]) -> nn.Module:
    """The module in a checkpoint, whatever its kind, in evaluation mode."""
    content = read(path)
    try:
        return build(content).eval()
    except CheckpointError as error:
        raise CheckpointError(f"{path}: {error}") from None
    except (TypeError, ValueError, RuntimeError) as error:
        raise CheckpointError(f"{path}: expected a network, found {_reason(error)}") from None


def load(path: str | os.PathLike[str]) -> Network:
    """The :class:`training.Network` in a checkpoint, in evaluation mode."""
    net = load_module(path)
    if not isinstance(net, Network):
        raise CheckpointError(f"{path}: expected a Network, found a {type(net).__name__}")
    return net


def load_weights(path: str | os.PathLike[str], net: Network) -> None:
    """Give ``net`` the weights of the Network in a checkpoint, which must have its shapes."""
    found = load(path).state_dict()
    ours, theirs = (
        {name: tuple(w.shape) for name, w in d.items()} for d in (net.state_dict(), found)
    )
    for name in {**ours, **theirs}:
        if ours.get(name) != theirs.get(name):
            raise CheckpointError(
                f"{path}: expected {_shaped(name, ours)}, found {_shaped(name, theirs)}; "
                "start from a network of the same widths, steps, encoding and feedback"
            )
    net.load_state_dict(found)


def _shaped(name: str, shapes: dict[str, tuple[int, ...]]) -> str:
    return f"{name} of shape {shapes[name]}" if name in shapes else f"no {name}"


def _reason(error: Exception) -> str:
    lines = str(error).splitlines() or [""]
    return f"damage ({type(error).__name__}: {lines[0][:120]})"
