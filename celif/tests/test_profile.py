"""celif run --profile: profilers of the extension's stand-in, next to fit's estimates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from export import write_netx
from hw_tests.networks.random_nets import random_network
from hw_tests.tests import loihi_standin
from hw_tests.tests.loihi_calls import calls


def test_profilers_that_are_there_are_attached_and_their_figures_kept(
    rng: np.random.Generator, tmp_path: Path, end_of: Any
) -> None:
    net, x = random_network(rng, (5, 4), 6), rng.integers(0, 16, (3, 2, 6))
    file, path = tmp_path / "profile.json", tmp_path / "a.net"
    write_netx(net, path)
    np.save(tmp_path / "x.npy", x)
    chip = ("--target", "loihi2", "--partition", "oheogulch", "--profile", file)
    with loihi_standin.installed(tmp_path):
        ending = end_of("run", path, "--input", tmp_path / "x.npy", *chip, "--json")
        attached = [call[1] for call in calls("attach")]
    assert ending.code == 0, ending.error
    assert attached == ["Loihi2Power", "Loihi2ExecutionTime", "Loihi2Activity"]
    said = json.loads(ending.output)["profile"]
    assert said["figures"]["power"] == {
        "num_steps": 21.0, "static_total_power": 0.2, "total_power": pytest.approx(0.6)
    }  # fmt: skip
    assert said["figures"]["activity"] == {"synops": 4.0}
    assert said["missing"] == ["lava.utils.loihi2_profiler.Loihi2Memory"]
    assert said["measured"] == pytest.approx(
        {"step_us": 12.5, "step_nj": 0.6 * 12.5e3, "static_nj": 0.2 * 12.5e3}
    )
    low, high = said["estimated"]["step_us"]
    assert 0 < low < high
    assert "Loihi2Memory is not in this version" in ending.error
    refused = end_of("run", path, "--input", tmp_path / "x.npy", "--profile", file)
    assert (refused.code, "--profile: expected with --target loihi2" in refused.error) == (2, True)
