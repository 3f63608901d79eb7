"""Imports that wait until they are used.

lava-dl's netx needs one function of SLAYER, and importing SLAYER brings along torchvision, OpenCV,
pyplot and a compiler's set-up: most of the time that importing netx takes, and packages that need
not be there. While one of Lava's modules is executed, stand-ins take the place of such imports;
each imports the real module when it is first used, and gives whatever that gives.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any


class DeferredModule(ModuleType):
    """A stand-in for a module: every attribute is looked up in the real one.

    ``calls`` names functions that may be imported from it without importing the real module.
    """

    def __init__(self, name: str, calls: tuple[str, ...] = ()):
        super().__init__(name)
        for call in calls:
            setattr(self, call, _deferred_call(name, call))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what the import system asks every module for
            raise AttributeError(f"stand-in for module {self.__name__!r} has no attribute {name!r}")
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(importlib.import_module(self.__name__), name)


def _deferred_call(module: str, name: str) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        return getattr(importlib.import_module(module), name)(*args, **kwargs)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Import {module} and call its {name}."
    return call


@contextmanager
def _standing_in(*stand_ins: ModuleType) -> Iterator[None]:
    """Let imports find the stand-ins of modules that are not imported yet, within the block."""
    placed = {module.__name__: module for module in stand_ins if module.__name__ not in sys.modules}
    sys.modules.update(placed)
    for name, module in placed.items():
        package, _, child = name.rpartition(".")
        if package in placed:
            setattr(placed[package], child, module)
    try:
        yield
    finally:
        for name, module in placed.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]
            # Importing a submodule also makes it an attribute of its package.
            package, _, child = name.rpartition(".")
            parent = sys.modules.get(package)
            if parent is not None and vars(parent).get(child) is module:
                delattr(parent, child)


def defer(
    *names: str, calls: dict[str, tuple[str, ...]] | None = None
) -> Callable[[ModuleType, Callable[[], None]], None]:
    """Return a mend's ``apply`` that puts off importing ``names`` while a module is executed."""
    calls = calls or {}

    def apply(module: ModuleType, execute: Callable[[], None]) -> None:
        stand_ins = [DeferredModule(name, calls.get(name, ())) for name in (*names, *calls)]
        with _standing_in(*stand_ins):
            execute()

    return apply


def on_demand(submodule: str, *names: str) -> Callable[[ModuleType, Callable[[], None]], None]:
    """Return a mend's ``apply`` with which a package imports a submodule when it is asked for.

    ``names`` are the package's names for it. It gets a module's ``__getattr__`` (PEP 562).
    """

    def apply(package: ModuleType, execute: Callable[[], None]) -> None:
        if submodule in sys.modules:
            execute()
            return
        stand_in = ModuleType(submodule)
        with _standing_in(stand_in):
            execute()
        for name in names:
            if vars(package).get(name) is stand_in:
                delattr(package, name)

        def find(name: str) -> Any:
            if name in names:
                setattr(package, name, importlib.import_module(submodule))
                return vars(package)[name]
            raise AttributeError(f"module {package.__name__!r} has no attribute {name!r}")

        package.__getattr__ = find  # type: ignore[method-assign]

    return apply
