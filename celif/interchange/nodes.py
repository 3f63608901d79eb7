"""The package ``nir``, and CE-LIF as a node of it.

NIR has no CE-LIF. Its node here is called ``CELIF`` and holds, for N neurons and T steps:

=========  ======  ==================================================================
field      shape   meaning
=========  ======  ==================================================================
alpha      (N,)    membrane decay of a step
beta       (N,)    threshold decay of a step
theta0     (N,)    resting threshold
bias       (N,)    current that is added at every step
te         (N, T)  temporal encoding
=========  ======  ==================================================================

The recurrence is that of :mod:`training.dynamics`. The integers behind the floats are in the
node's metadata under the names of ``export/FORMAT.md``.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np


@functools.lru_cache(maxsize=1)
def nir_package() -> Any:
    """Import ``nir`` and teach it the node CELIF; say how to install it if it is missing."""
    try:
        import nir
    except ImportError:
        raise ImportError(
            "NIR: expected the package nir, found none; install it with pip install nir"
        ) from None

    @dataclass(eq=False)
    class CELIF(nir.NIRNode):
        """CE-LIF neurons; see :mod:`celif.interchange.nodes`."""

        alpha: np.ndarray
        beta: np.ndarray
        theta0: np.ndarray
        bias: np.ndarray
        te: np.ndarray

        def __post_init__(self) -> None:
            shape = np.array(np.shape(self.theta0))
            self.input_type, self.output_type = {"input": shape}, {"output": shape}

    known = vars(nir.ir)["__all_ir"]
    if "CELIF" not in known:
        known.append("CELIF")
        nir.ir.CELIF = nir.CELIF = CELIF
    return nir


class NirError(ValueError):
    """A graph that cannot be read or written: which node, what was expected and what was found."""

    def __init__(self, node: str, expected: str, found: object, remedy: str = "") -> None:
        text = f"NIR node {node}: expected {expected}, got {found}"
        super().__init__(f"{text}; {remedy}" if remedy else text)
