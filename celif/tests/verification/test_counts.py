"""verify does everything once: it encodes once, and runs each back end once per set of samples."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from celif.tests.run_command import answer
from celif.verification import file_check
from celif.verification.verify import verify
from export import to_netx
from export.model.network import Encoding
from hw_tests import ladder
from training import Network, checkpoint

STEPS = 12


@pytest.fixture
def net() -> Network:
    torch.manual_seed(3)
    made = Network(2, (9, 12), 3, STEPS)
    with torch.no_grad():
        for layer in made.layers:
            layer.weight.mul_(2)
    return made


def counted(
    monkeypatch: pytest.MonkeyPatch, counts: Counter[Any], owner: Any, name: str, key: Any
) -> None:
    """Count the calls of a function by what ``key`` makes of its arguments; None counts nothing."""
    original = getattr(owner, name)

    def call(*arguments: Any, **options: Any) -> Any:
        if (found := key(*arguments)) is not None:
            counts[found] += 1
        return original(*arguments, **options)

    monkeypatch.setattr(owner, name, call)


def test_verify_encodes_once_and_runs_each_back_end_once(
    net: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, targets: list[str]
) -> None:
    x = torch.rand(6, 2, STEPS, generator=torch.Generator().manual_seed(2))
    to_netx(net, tmp_path / "net.net", calibration=x)
    counts: Counter[Any] = Counter()

    def floats(code: Encoding, samples: np.ndarray, steps: int) -> str | None:
        return "encode" if np.asarray(samples).dtype.kind == "f" else None

    counted(monkeypatch, counts, Encoding, "encode", floats)
    counted(monkeypatch, counts, file_check, "write_netx", lambda *_: "write")
    counted(monkeypatch, counts, ladder, "float_layers", lambda *_: "float layers")
    for rung in ladder.RUNGS:
        for back in rung.backends:
            if not hasattr(back.run, "counted"):
                original = back.run

                def run(n: Any, part: Any, original: Any = original, back: Any = back) -> Any:
                    counts[str(back), part.shape] += 1
                    return original(n, part)

                run.counted = True  # type: ignore[attr-defined]
                monkeypatch.setitem(back.__dict__, "run", run)  # frozen
    result = verify(tmp_path / "net.net", net, x, targets=targets)
    assert not result.differs
    assert counts.pop("encode") == 1
    assert counts.pop("write") == 2, "the file as it should be, and as it is"
    assert counts.pop("float layers") == 1
    assert counts["twin fixed", (4, 2, STEPS)] == 1
    assert set(counts.values()) == {1}, counts


def test_command_reads_the_checkpoint_once(
    net: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = torch.rand(6, 2, STEPS)
    checkpoint.save(tmp_path / "net.safetensors", net)
    np.save(tmp_path / "x.npy", x.numpy())
    to_netx(net, tmp_path / "net.net", calibration=x)
    counts: Counter[Any] = Counter()
    counted(monkeypatch, counts, checkpoint, "read", lambda *_: "read")
    files = (
        tmp_path / "net.net",
        "--against",
        tmp_path / "net.safetensors",
        "--input",
        tmp_path / "x.npy",
    )
    said = answer("verify", *files, "--target", "torch,twin")
    assert said["source"]["equal"]
    assert counts == {"read": 1}
