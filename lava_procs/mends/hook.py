"""An import hook that executes a few of Lava's modules with their mends.

The hook is a finder at the head of ``sys.meta_path``. It finds a module as Python would, and wraps
its loader only if a mend for that module is needed. Nothing that is installed is changed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


@dataclass(frozen=True)
class Mend:
    """A change to how one or several modules are executed.

    Attributes
    ----------
    name
        A short name for reports.
    modules
        Full names of the modules that it applies to.
    reason
        What goes wrong without it, and for whom.
    needed
        Whether the running software needs it. This tests what numpy and Python do and reads no
        version numbers, so that a mend ends with its cause.
    apply
        ``apply(module, execute)`` runs the module's code by calling ``execute`` once. For a module
        that was imported before the hook was installed, ``execute`` does nothing.
    """

    name: str
    modules: tuple[str, ...]
    reason: str
    needed: Callable[[], bool]
    apply: Callable[[ModuleType, Callable[[], None]], None]


class MendingLoader(Loader):
    """Executes a module through its mends, the first of which is the outermost."""

    def __init__(self, loader: Any, mends: Sequence[Mend]):
        self.loader, self.mends = loader, mends

    def __getattr__(self, name: str) -> Any:
        # Whatever else a loader can do: sources for tracebacks, resources, a package's path.
        return getattr(self.loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        # From here on the module is an ordinary one, also for those who load it again.
        module.__loader__ = self.loader
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        mended(module, self.mends, lambda: self.loader.exec_module(module))


def mended(module: ModuleType, mends: Sequence[Mend], execute: Callable[[], None]) -> None:
    """Execute a module with its mends."""
    if not mends:
        execute()
        return
    first, *others = mends
    first.apply(module, lambda: mended(module, others, execute))


class MendingFinder(MetaPathFinder):
    """Finds the modules that need a mend, and leaves all others to the finders behind it."""

    def __init__(self, mends: Sequence[Mend]):
        self.mends = tuple(mends)

    def needed(self, name: str) -> list[Mend]:
        """Return the mends that the module of this name needs now."""
        return [mend for mend in self.mends if name in mend.modules and mend.needed()]

    def find_spec(
        self, fullname: str, path: Any = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        # Asked for everything that is imported: this comparison is all that others pay.
        if not fullname.startswith("lava."):
            return None
        needed = self.needed(fullname)
        if not needed:
            return None
        for finder in sys.meta_path:
            if isinstance(finder, MendingFinder) or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = MendingLoader(spec.loader, needed)
                return spec
        return None


def install(mends: Sequence[Mend]) -> None:
    """Put the hook in place, once, and mend what is imported already as far as that is possible."""
    if any(isinstance(finder, MendingFinder) for finder in sys.meta_path):
        return
    finder = MendingFinder(mends)
    sys.meta_path.insert(0, finder)
    for name in {name for mend in mends for name in mend.modules}:
        module = sys.modules.get(name)
        if isinstance(module, ModuleType):
            mended(module, finder.needed(name), lambda: None)
