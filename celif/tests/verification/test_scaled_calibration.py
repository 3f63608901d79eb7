"""A file that was calibrated with samples of another scale: the cause is named, and it fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from celif import verify
from export import to_netx
from training import checkpoint, tasks


@pytest.mark.filterwarnings("ignore:input. .* outside the calibrated range:UserWarning")
@pytest.mark.parametrize("factor", [1 / 255, 255.0], ids=["too-small", "too-large"])
def test_wrongly_scaled_calibration_is_named_first_and_fails(
    factor: float, run_folder: Path, tmp_path: Path, end_of: Any
) -> None:
    net, task = checkpoint.load(run_folder / "run" / "last.safetensors"), tasks.load("digits")
    to_netx(net, tmp_path / "net.net", calibration=task.train.x * factor)
    result = verify(tmp_path / "net.net", net, task.test.x, task.test.y, targets=("twin",))
    assert result.equal, "every integer is what the file says"
    assert result.failed
    cause, fall, *_ = result.alarms
    assert (cause.kind, fall.kind) == ("inputs", "accuracy")
    assert "export with calibration samples that are scaled like these" in cause.message
    against = ("--against", run_folder / "run" / "last.safetensors", "--target", "twin")
    ending = end_of("verify", tmp_path / "net.net", *against)
    assert ending.code == 1
    assert "FAILED: all integers are equal, but the accuracy fell" in ending.output
    assert ending.error.index("network inputs: ") < ending.error.index("network accuracy: ")
