"""``celif run --profile`` on a terminal: what a chip measured, next to what ``fit`` estimates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from celif.console import say, warn
from celif.views.chip.fit_table import prose
from export import FixedNetwork
from export.fit import fit

_STEP = {"step_us": "time of a step, µs", "step_nj": "energy of a step, nJ"}


def show_profile(file: Path, net: FixedNetwork, x: np.ndarray) -> dict[str, Any]:
    """Print and return the figures of a profile, with the estimates for the same samples."""
    from lava_procs.loihi.profile import step_of

    written = json.loads(file.read_text(encoding="utf-8"))
    measured = step_of(written["figures"])
    estimate = fit(net, x=x).estimate
    found: dict[str, Any] = {**written, "measured": measured, "estimated": {}}
    for name, label in _STEP.items():
        ends = None if estimate is None else getattr(estimate, name)
        if ends is not None:
            found["estimated"][name] = list(ends)
        by_fit = "no estimate" if ends is None else f"{ends[0]:,.3g} to {ends[1]:,.3g} by fit"
        of_chip = f"{measured[name]:,.3g} measured" if name in measured else "not measured"
        say(f"{label}: {of_chip}, {by_fit}")
    if "static_nj" in measured:
        say(f"of which static, nJ: {measured['static_nj']:,.3g}, which fit does not count")
    prose(f"every figure of the profilers: {file}")
    for name in written["missing"]:
        warn(f"{name} is not in this version of the extension; its figures are left out")
    return found
