"""Checkpoints: a network, how it was made and, while training, all that a resumed run needs.

A checkpoint is a safetensors file with a JSON document (:mod:`training.support.tensor_file`). It is
written whole or not at all, reading it executes nothing, and a checksum shows damage. Files of
versions 1 and 2, which torch pickled, are read by ``celif convert`` alone
(:mod:`training.old_checkpoint`).
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from training.network.config import NetworkConfig
from training.network.network import Network
from training.support import tensor_file
from training.tasks.task import Teacher

VERSION = 3
"""Version of the files that :func:`save` writes: 3 replaced torch's pickles by safetensors."""

SUFFIX = ".safetensors"
"""How the names of checkpoints end; a file is recognised by its content."""

OLD_SUFFIX = ".pt"
"""How the names of checkpoints of versions 1 and 2 end."""

BUILDERS: dict[str, Callable[..., nn.Module]] = {"Network": Network}
"""Builds the module of a file by its ``kind``, from its ``network`` as keywords; add your own."""


LATE_BUILDERS = {"QuantizedNetwork": "export.qat.network"}
"""Modules that add their builder to :data:`BUILDERS`, imported when a checkpoint needs them."""

_OPTIONAL: dict[str, tuple[type, str]] = {
    "task": (str, "the name of a task"),
    "encoding": (str, "how samples were made, in words"),
    "teacher": (dict, "options by name"),
    "recipe": (dict, "options by name"),
    "samples": (int, "a number"),
    "data": (str, "a digest of the training data"),
    "validation": (str, "a digest of the validation data"),
    "history": (list, "a list of epochs"),
    "origin": (str, "a path"),
    "processes": (int, "a number"),
    "tally": (dict, "sums by name"),
}
"""Fields that a trainer adds, with their types."""


class CheckpointError(ValueError):
    """A file that is not a checkpoint, or has a field that cannot be right."""


def save(path: str | os.PathLike[str], net: nn.Module, **extra: Any) -> None:
    """Write ``net`` and ``extra`` to ``path``.

    ``extra`` holds tensors and plain values, see :func:`training.support.tensor_file.write`. A
    module with a ``config`` of plain values from which :data:`BUILDERS` can build it again can be
    loaded; for any other module only the weights are kept.
    """
    if not isinstance(net, nn.Module) or not isinstance(path, (str, os.PathLike)):
        raise TypeError(
            "save: expected the path of a checkpoint and then a module, got "
            f"{type(path).__name__} and {type(net).__name__}; call save(path, net)"
        )
    content = {
        "celif": VERSION,
        "kind": type(net).__name__,
        "network": plain_config(net),
        "weights": dict(net.state_dict()),
        **extra,
    }
    tensor_file.write(path, content)


def plain_config(net: nn.Module) -> dict[str, Any] | None:
    """Return the ``config`` of a module as plain values, from which it can be built again."""
    config = getattr(net, "config", None)
    return config.plain() if isinstance(config, NetworkConfig) else config


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the content of a checkpoint, with the fields that every checkpoint has checked."""
    if Path(path).is_dir():
        inside = max((str(file) for file in Path(path).glob(f"*{SUFFIX}")), default=None)
        remedy = "name a file in it" if inside is None else f"name a file in it, such as {inside}"
        raise CheckpointError(f"{path}: expected a checkpoint, found a folder; {remedy}")
    if _is_old(Path(path)):
        raise CheckpointError(
            f"{path}: expected a checkpoint of version {VERSION}, found a file of torch, perhaps a "
            f"checkpoint of an earlier version; convert it with: celif convert {path}"
        )
    try:
        content = tensor_file.read(path)
    except tensor_file.TensorFileError as error:
        raise CheckpointError(f"{path}: expected a checkpoint, found {error}") from None
    try:
        check_fields(content)
    except CheckpointError as error:
        raise CheckpointError(f"{path}: {error}") from None
    return content


def check_fields(content: dict[str, Any]) -> None:
    """Raise CheckpointError, naming the field, unless version, kind, network and weights are sound.

    Weights must be finite: a network with NaN would be evaluated to something.
    """
    version = content.get("celif")
    if type(version) is not int or version < 1:
        raise CheckpointError(f"celif: expected a version from 1 up, found {version!r}")
    if version > VERSION:
        raise CheckpointError(
            f"celif: expected version up to {VERSION}, found {version}; update celif-lava"
        )
    kind, network = content.get("kind"), content.get("network")
    if not isinstance(kind, str):
        raise CheckpointError(f"kind: expected the name of a class, found {kind!r}")
    for name in ("network", *_OPTIONAL):
        if _holds_tensor(content.get(name)):
            raise CheckpointError(f"{name}: expected plain values, found a tensor")
    if "network" not in content:
        raise CheckpointError("network: expected options by name, or None, found nothing")
    if not (network is None or isinstance(network, dict)):
        raise CheckpointError(f"network: expected options by name, found {type(network).__name__}")
    for name, (types, meaning) in _OPTIONAL.items():
        if not isinstance(content.get(name), (types, type(None))):
            raise CheckpointError(f"{name}: expected {meaning}, found {content[name]!r:.60}")
    _check_teacher(content.get("teacher"))
    for name in ("weights", "raw"):
        if name in content or name == "weights":
            _check_weights(name, content.get(name))


def _check_teacher(teacher: dict[str, Any] | None) -> None:
    if teacher is None:
        return
    try:
        Teacher(**teacher)
    except (TypeError, ValueError) as error:
        raise CheckpointError(
            "teacher: expected a digest of its outputs, a temperature and a share, found "
            f"{teacher!r:.100} ({error})"
        ) from None


def _holds_tensor(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_holds_tensor, value.values()))
    if isinstance(value, list):
        return any(map(_holds_tensor, value))
    return isinstance(value, torch.Tensor)


def _check_weights(field: str, weights: Any) -> None:
    if not isinstance(weights, dict):
        raise CheckpointError(f"{field}: expected tensors by name, found {type(weights).__name__}")
    for name, tensor in weights.items():
        if not isinstance(tensor, torch.Tensor):
            raise CheckpointError(
                f"{field} {name}: expected a tensor, found {type(tensor).__name__}"
            )
        if tensor.is_floating_point() and not torch.isfinite(tensor).all():
            raise CheckpointError(
                f"{field} {name}: expected finite numbers, found NaN or infinity; the training run "
                "diverged: use an earlier checkpoint"
            )


def build(content: dict[str, Any]) -> nn.Module:
    """Build the module of a checkpoint's content."""
    kind, network = content["kind"], content["network"]
    if kind in LATE_BUILDERS:
        importlib.import_module(LATE_BUILDERS[kind])
    if kind not in BUILDERS or network is None:
        raise CheckpointError(
            f"checkpoint of a {kind}: expected one of {', '.join(BUILDERS)}; make the module as it "
            "was made, then load_state_dict(checkpoint.read(path)['weights'])"
        )
    try:
        if kind == "Network":
            _require_shapes(network, content["weights"], "")
        elif kind in LATE_BUILDERS:
            _require_shapes(network["net"], content["weights"], "net.")
        net = BUILDERS[kind](**network)
    except CheckpointError:
        raise
    except (TypeError, ValueError, RuntimeError, KeyError, OverflowError, MemoryError) as error:
        raise CheckpointError(f"network: expected options of a {kind}, {_reason(error)}") from None
    try:
        net.load_state_dict(content["weights"])
    except (TypeError, ValueError, RuntimeError, KeyError) as error:
        raise CheckpointError(f"weights: expected those of its {kind}, {_reason(error)}") from None
    return net


def _require_shapes(network: dict[str, Any], weights: dict[str, torch.Tensor], prefix: str) -> None:
    """Require the weights to be those of a network, before memory for one is allocated."""
    config = NetworkConfig(**network)
    with torch.device("meta"):  # shapes without memory
        states = Network(**config).state_dict()
    expected = {f"{prefix}{name}": tuple(w.shape) for name, w in states.items()}
    found = {name: tuple(w.shape) for name, w in weights.items()}
    for name in {**expected, **found}:
        if expected.get(name) != found.get(name):
            raise CheckpointError(
                f"weights: expected {_shaped(name, expected)}, found {_shaped(name, found)}"
            )


def load_module(path: str | os.PathLike[str]) -> nn.Module:
    """Return the module in a checkpoint, whatever its kind, in evaluation mode."""
    content = read(path)
    try:
        return build(content).eval()
    except CheckpointError as error:
        raise CheckpointError(f"{path}: {error}") from None


def load(path: str | os.PathLike[str]) -> Network:
    """Return the :class:`training.Network` in a checkpoint, in evaluation mode."""
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


def _is_old(path: Path) -> bool:
    """Whether a file begins as torch's zip files do."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return file.read(4) == b"PK\x03\x04"
    except OSError:  # reported by whoever reads on
        return False


def _shaped(name: str, shapes: dict[str, tuple[int, ...]]) -> str:
    return f"{name} of shape {shapes[name]}" if name in shapes else f"no {name}"


def _reason(error: BaseException) -> str:
    lines = str(error).splitlines() or [""]
    return f"found damage ({type(error).__name__}: {lines[0][:160]})"
