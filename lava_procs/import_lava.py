"""Prepare the import of Lava: everything here that needs Lava imports this module first.

It installs the mends (:mod:`lava_procs.mends`), which make Lava importable on the Python that runs,
whatever start method multiprocessing already has, and it says how to install Lava where that is
missing. Lava itself is imported by those who use it.
"""

from __future__ import annotations

import importlib.util

from lava_procs.mends import install, lava_command

_PARTS = {"lava-nc": "lava.magma", "lava-dl": "lava.lib.dl.netx"}
"""Distributions, and a package that each of them brings."""


def missing() -> list[str]:
    """Return the distributions of Lava that are not installed."""
    return [distribution for distribution, package in _PARTS.items() if not _is_there(package)]


def _is_there(package: str) -> bool:
    # The parents of a package are imported to find it; those of Lava are empty.
    try:
        return importlib.util.find_spec(package.rpartition(".")[0]) is not None and (
            importlib.util.find_spec(package) is not None
        )
    except ModuleNotFoundError:
        return False


def require_lava() -> None:
    """Install the mends; raise an ImportError with the remedy if Lava is not installed."""
    install()
    if absent := missing():
        raise ImportError(
            f"lava_procs: expected lava-nc and lava-dl, found no {' and no '.join(absent)}; "
            f"install them with: {lava_command()}",
            name="lava",
        )


require_lava()
