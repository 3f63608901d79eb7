"""The ladder's last back end: a Loihi 2, if there is one, and which."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from export import FixedNetwork, Trace

_options: dict[str, Any] = {}


def use_loihi(**options: Any) -> None:
    """Choose the chip of target ``loihi2``, by the arguments of :class:`lava_procs.Loihi`."""
    _options.clear()
    _options.update(options)


@contextmanager
def using_loihi(**options: Any) -> Iterator[None]:
    """:func:`use_loihi`, for a while."""
    former = dict(_options)
    use_loihi(**options)
    try:
        yield
    finally:
        use_loihi(**former)


def why_no_loihi2() -> str | None:
    """Why nothing can run on the chip, in one sentence with what to do, or None."""
    try:
        from lava_procs.loihi.host import Loihi, missing
    except ImportError as error:
        return str(error)
    return missing(Loihi(**_options))


def run_loihi2(net: FixedNetwork, x: np.ndarray) -> Trace:
    """Run the integers on the chip."""
    from lava_procs import Loihi, run

    return run(net, x, target=Loihi(**_options))
