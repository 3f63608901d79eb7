"""Lava in one process: a runtime that runs a compiled network's Python models as coroutines.

``lava_procs.inline()`` puts it in the place of Lava's own runtime; see docs/lava-inline.md.
"""

from lava_procs.errors import LavaDeadlockError, LavaInlineError
from lava_procs.one_process.runtime import InlineRuntime
from lava_procs.one_process.switch import inline

__all__ = ["InlineRuntime", "LavaDeadlockError", "LavaInlineError", "inline"]
