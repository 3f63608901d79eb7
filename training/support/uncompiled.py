"""Functions that ``torch.compile`` leaves alone.

Our kernels are compiled already, by numba or Triton, and TorchDynamo cannot trace into them. A
function marked here runs as it is, between the graphs that ``torch.compile`` makes of the rest of
a network.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def uncompiled(function: Function) -> Function:
    """Return ``function``, which ``torch.compile`` then calls instead of tracing it."""
    disabled: Callable[..., Any] | None = None

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal disabled
        if disabled is None:
            # To import TorchDynamo takes a second; whoever compiles has imported it.
            dynamo = sys.modules.get("torch._dynamo")
            if dynamo is None:
                return function(*args, **kwargs)
            disabled = dynamo.disable(function)
        return disabled(*args, **kwargs)

    return call  # type: ignore[return-value]


def level_above(module: str) -> int:
    """Return the ``stacklevel`` of a warning for whoever called ``module`` from outside."""
    frame, level = sys._getframe(1), 1
    passed = (module, __name__, "torch._dynamo.eval_frame")
    while frame.f_back is not None and frame.f_globals.get("__name__") in passed:
        frame, level = frame.f_back, level + 1
    return level
