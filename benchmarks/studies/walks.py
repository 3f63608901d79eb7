"""Count how far one call walks through the project: its files, its functions, its depth.

    python -m benchmarks.studies.walks

A reader who wants to know what ``to_netx`` does has to open as many files as it runs through, and
to keep as many calls in mind as it is deep. Depth counts the functions of the project that wait
for each other; comprehensions, and whatever runs in other packages, are not counted. An export also
runs the float network, and what its forward pass does is not part of exporting it: the second
count stops at the doors of the float room (:data:`DOORS`).
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import torch

ROOT = Path(__file__).parents[2]
DOORS = (
    "training/network/network.py:forward",
    "training/functional.py:celif",
    "training/functional.py:layers",
)
"""Functions that run a float network; what they call is theirs."""

_NO_FUNCTION = ("<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>", "<module>")


@dataclass(frozen=True)
class Walk:
    """The files and functions of the project that a call ran through, and its deepest stack."""

    files: tuple[str, ...]
    functions: int
    deepest: tuple[str, ...]

    @property
    def depth(self) -> int:
        """The number of functions of the project on the deepest stack."""
        return len(self.deepest)


def walk(call: Callable[[], object], doors: tuple[str, ...] = ()) -> Walk:
    """Run ``call`` and record where in the project it goes, but not beyond ``doors``."""
    walked: set[str] = set()
    where: dict[Any, str | None] = {}
    stack: list[str | None] = []
    deepest: list[str] = []

    def place(frame: FrameType) -> str | None:
        code = frame.f_code
        if code not in where:
            path = Path(code.co_filename)
            ours = path.is_relative_to(ROOT) and "site-packages" not in path.parts
            where[code] = f"{path.relative_to(ROOT)}:{code.co_name}" if ours else None
            if code.co_name in _NO_FUNCTION:
                where[code] = None
        return where[code]

    def profile(frame: FrameType, event: str, argument: object) -> None:
        nonlocal deepest
        if event == "call":
            inside = any(name in doors for name in stack)
            stack.append(None if inside else place(frame))
            ours = [name for name in stack if name is not None]
            if stack[-1] is not None:
                walked.add(stack[-1])
                deepest = max(deepest, ours, key=len)
        elif event == "return" and stack:
            stack.pop()

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    walked -= {deepest[0]}  # the caller's own function
    files = {name.split(":")[0] for name in walked}
    return Walk(tuple(sorted(files)), len(walked), tuple(deepest[1:]))


def walk_to_netx(doors: tuple[str, ...] = ()) -> Walk:
    """Record ``to_netx`` of a small network, whose kernels were compiled beforehand."""
    from export import to_netx
    from training import Network

    torch.manual_seed(0)
    net, x = Network(2, (9, 7), 3, 20), torch.rand(8, 2, 20)
    with tempfile.TemporaryDirectory(prefix="celif-") as folder:
        path = Path(folder) / "net.net"
        to_netx(net, path, calibration=x)

        def export() -> object:
            return to_netx(net, path, calibration=x)

        return walk(export, doors)


def main() -> None:
    """Print the walk of ``to_netx``."""
    for title, doors in (("to_netx, float network and all", ()), ("to_netx", DOORS)):
        found = walk_to_netx(doors)
        counts = f"{len(found.files)} files, {found.functions} functions, depth {found.depth}"
        print(f"{title}: {counts}")
    print("\n".join(f"  {name}" for name in found.files))
    print("deepest stack:")
    print("\n".join(f"  {name}" for name in found.deepest))


if __name__ == "__main__":
    main()
