"""Following a module's own forward pass: every tensor of it as a weighted sum of spikes.

The pass runs on real data. A torch function mode sees every call of a torch function, whether it is
made by a module, an operator or by hand, and hooks see the calls of blocks and neurons. Nothing is
read from the order in which modules were registered.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from export.checks import ModelError
from export.graph import operations
from export.graph.blocks import is_block, is_flatten
from export.graph.neuron_calls import NeuronCalls
from export.graph.values import NotAffineError, SpikeSource, Term, Value, require_value
from export.model.geometry import Shape
from training.slayer.neuron import Neuron


@dataclass
class Recording:
    """A recorded pass: its input, its layers of neurons in the order of their calls, its output."""

    input: SpikeSource
    sources: list[SpikeSource]
    output: Value
    steps: int
    """The longest sequence that every layer has an encoding for."""
    values: dict[int, tuple[Any, Any]] = field(default_factory=dict, repr=False)


def record(net: nn.Module, x: torch.Tensor) -> Recording:
    """Run ``net`` in evaluation mode on ``x`` (batch, channel, …, time) and follow it."""
    recorder = _Recorder(x)
    modes = [(module, module.training) for module in net.modules()]
    hooks = []
    net.eval()
    for name, module in net.named_modules():
        path = f"{type(net).__name__}.{name}" if name else type(net).__name__
        hooks.append(module.register_forward_pre_hook(recorder.entering(path)))
        hooks.append(module.register_forward_hook(recorder.leaving(path), always_call=True))
    try:
        with recorder:
            output = net(x)
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(
            f"network forward: expected {type(net).__name__} to run on an input of shape "
            f"{tuple(x.shape)}, got {type(error).__name__} ({error}); pass calibration data as its "
            "forward pass takes it"
        ) from error
    finally:
        for hook in hooks:
            hook.remove()
        for module, training in modes:
            module.training = training
    if not isinstance(output, torch.Tensor):
        raise ModelError(
            f"network forward: expected one tensor from {type(net).__name__}.forward, got "
            f"{type(output).__name__}; return the logits or the spikes alone"
        )
    value = require_value(recorder.known(output), f"the output of {type(net).__name__}")
    if recorder.decisions:
        warnings.warn(
            f"network forward: {type(net).__name__} reads numbers out of its tensors "
            f"({recorder.decisions[0]}); if it decides by them what to compute, the file holds "
            "what it computes for the calibration samples",
            stacklevel=2,
        )
    if not recorder.sources:
        raise ModelError(
            f"network forward: expected at least one layer of neurons in {type(net).__name__}, "
            "got none; use blocks, training.CELIF or training.functional.celif"
        )
    steps = min(s.te.shape[1] for s in recorder.sources if s.te is not None)
    return Recording(recorder.input, recorder.sources, value, steps, recorder.seen)


class _Recorder(NeuronCalls, TorchFunctionMode):
    """Keeps, for every tensor that depends on the input, what it is."""

    def __init__(self, x: torch.Tensor) -> None:
        super().__init__(x.shape[-1])
        shape = Shape(*(*x.shape[1:-1], 1, 1)[:3])
        self.input = SpikeSource("the input", shape.size, shape)
        self.seen: dict[int, tuple[Any, Any]] = {}
        self.depth = 0  # inside a block or a neuron, which is one call to the recorder
        self.versions: dict[int, int] = {}
        self.decisions: list[str] = []
        index = torch.arange(x.numel()).reshape(x.shape)
        self.keep(x, Value({self.input: Term()}, x.new_zeros(shape.size), index, self.steps))

    def keep(self, tensor: Any, value: Any) -> None:
        self.versions[id(tensor)] = _version(tensor)
        self.seen[id(tensor)] = (tensor, value)  # the tensor too, or its id would be used again

    def known(self, tensor: Any) -> Any:
        """Return a tensor's Value, the reason why it has none, or None if it is a constant."""
        found = self.seen.get(id(tensor))
        if found is None:
            return None
        # Assignments to elements are not seen, but they count, in all views of a tensor.
        if _version(tensor) != self.versions[id(tensor)]:
            return f"a tensor that was changed in place (in {self.where})"
        return found[1]

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if self.depth:
            return func(*args, **kwargs)
        known = [self.known(a) for a in _leaves((args, kwargs)) if isinstance(a, torch.Tensor)]
        if all(each is None for each in known):
            return func(*args, **kwargs)  # a constant: parameters among themselves
        if getattr(func, "__self__", None) is torch.Tensor.data:
            raise ModelError(
                f"network forward: {self.where}: expected tensors that are followed wherever they "
                "are used, got .data, through which they can change unseen; use the tensor itself, "
                "or h.detach(), and operations that give a new tensor"
            )
        # Before the call, which may change a tensor in place.
        values = tuple(map(self.swapped, args))
        named = {key: self.swapped(each) for key, each in kwargs.items()}
        with torch.no_grad():
            result = func(*args, **kwargs)
        tensors = [each for each in _leaves(result) if isinstance(each, torch.Tensor)]
        name = getattr(func, "__name__", str(func))
        if not tensors:
            if name == "__setitem__":
                self.keep(args[0], f"{name} in {self.where}")
            elif name in operations.READING and not _of_training(sys._getframe(1)):
                self.decisions.append(f"{name} in {self.where}")
            return result
        value: Any = next((each for each in known if isinstance(each, str)), None)
        if value is None:
            try:
                value = self.evaluate(func, name, values, named)
            except NotAffineError as error:
                value = f"{error} ({name} in {self.where})"
            except ModelError:
                raise
            except (RuntimeError, TypeError, ValueError, IndexError, AttributeError) as error:
                value = f"a call that is not understood: {error} ({name} in {self.where})"
        self.store(result, value)
        return result

    def store(self, result: Any, value: Any) -> None:
        if isinstance(result, torch.Tensor):
            self.keep(result, value)
            return
        for i, each in enumerate(result):
            self.keep(each, value if isinstance(value, str) else value[i])

    def swapped(self, each: Any) -> Any:
        """Return an argument with what is known of its tensors in their place."""
        if isinstance(each, torch.Tensor):
            found = self.known(each)
            return each if found is None else found
        if isinstance(each, (list, tuple)):
            return type(each)(map(self.swapped, each))
        return each

    def evaluate(self, func: Any, name: str, values: Any, named: dict[str, Any]) -> Any:
        """Return the value of a function's result."""
        if name in ("celif", "layers"):
            return getattr(self, name)(*values, **named)
        if name in operations.KEEPING:
            return values[0] if values else named["input"]
        if name in operations.ARRANGING:
            return operations.arrange(func, *values, **named)
        if name in operations.HANDLERS:
            if "input" in named:
                values = (named.pop("input"), *values)
            return operations.HANDLERS[name](*values, **named)
        raise NotAffineError("a function that is no weighted sum")

    def entering(self, path: str) -> Callable[..., None]:
        def hook(module: nn.Module, inputs: Any) -> None:
            self.path.append(path)
            self.depth += _is_leaf(module)

        return hook

    def leaving(self, path: str) -> Callable[..., None]:
        def hook(module: nn.Module, inputs: Any, output: Any) -> None:
            leaf = _is_leaf(module)
            self.depth -= leaf
            if leaf and not self.depth and isinstance(output, torch.Tensor):
                value = self.known(inputs[0])
                if isinstance(value, Value):
                    try:
                        value = self.module(module, value, *inputs[1:])
                    except NotAffineError as error:
                        value = f"{error} ({path})"
                if value is not None:
                    self.keep(output, value)
            self.path.pop()

        return hook


def _version(tensor: torch.Tensor) -> int:
    """How often a tensor, or one that shares its memory, was changed in place."""
    return 0 if tensor.is_inference() else tensor._version


def _of_training(frame: FrameType) -> bool:
    """Whether a call is made by our own networks, which check their input and decide nothing."""
    return str(frame.f_globals.get("__name__")).startswith("training.")


def _is_leaf(module: Any) -> bool:
    """Whether a module is one call to the recorder: a block, its neurons, or what flattens."""
    return is_block(module) or isinstance(module, Neuron) or is_flatten(module)


def _leaves(values: Any) -> list[Any]:
    """Everything inside nested tuples, lists and dictionaries."""
    if isinstance(values, dict):
        values = list(values.values())
    if isinstance(values, (tuple, list)):
        return [leaf for each in values for leaf in _leaves(each)]
    return [values]
