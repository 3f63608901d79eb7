"""What a network, a trace and an export report show of themselves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from export import read_netx, simulate, to_netx
from training import Network
from training.support.summary import Summary


def test_objects_show_short_tables(tmp_path: Path) -> None:
    torch.manual_seed(0)
    net, x = Network(2, (9, 12), 3, 20), torch.rand(5, 2, 20)
    report = to_netx(net, tmp_path / "net.net", calibration=x)
    fixed = read_netx(tmp_path / "net.net")
    trace = simulate(fixed, x.numpy(), trace=True)
    for shown, words in (
        (report, ("net.net (", "layer 1", "12×9", "8 bits ± ")),
        (fixed, ("net.net: 2 layers, 20 steps", "READOUT", "input: 2 × 8 bits")),
        (trace, ("Trace of 5 sample(s), 3 classes", "layer 0", "%", "saturations: 0")),
    ):
        text, page = str(shown), shown._repr_html_()
        assert len(text.splitlines()) <= 8
        for word in words:
            assert word in text
        assert page.count("<tr><td>layer ") == text.count("\n  layer ") - 1
    assert repr(trace) == str(trace)
    assert str(simulate(fixed, x.numpy())).count("\n") == 1, "no states, no table"
    assert np.array_equal(trace.predictions, trace.logits.argmax(1))


def test_html_is_escaped() -> None:
    shown = Summary("<b>", ("a",), (("<i>",),), "&").html()
    assert "<i>" not in shown
    assert "&lt;i&gt;" in shown
    assert "&amp;" in shown
