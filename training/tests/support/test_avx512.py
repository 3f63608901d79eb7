"""Products with AVX-512 are used only where they are as precise as float32."""

from __future__ import annotations

import pytest
import torch

from training import tasks, trainer
from training.support import avx512

CPU = torch.device("cpu")


@pytest.fixture
def suitable(monkeypatch):
    """A processor on which the setting helps, whatever the machine is."""
    monkeypatch.setattr(avx512, "_helps", lambda: True)


def test_wide_products_end_with_their_block(suitable):
    with avx512.products(CPU) as changed:
        assert changed
        assert torch.get_float32_matmul_precision() == "medium"
    assert torch.get_float32_matmul_precision() == "highest"


def test_wide_products_end_with_an_error(suitable):
    with pytest.raises(KeyError), avx512.products(CPU):
        raise KeyError
    assert torch.get_float32_matmul_precision() == "highest"


def test_precision_that_the_user_has_chosen_is_kept(suitable):
    torch.set_float32_matmul_precision("high")
    try:
        with avx512.products(CPU) as changed:
            assert not changed
            assert torch.get_float32_matmul_precision() == "high"
        assert torch.get_float32_matmul_precision() == "high"
    finally:
        torch.set_float32_matmul_precision("highest")


def test_networks_on_other_devices_do_not_change_the_precision(suitable):
    with avx512.products(torch.device("cuda")) as changed:
        assert not changed
        assert torch.get_float32_matmul_precision() == "highest"


@pytest.mark.parametrize(
    ("vendor", "flags", "suits"),
    [
        ("AuthenticAMD", "avx2 avx512f avx512_bf16", True),
        ("AuthenticAMD", "avx2", False),
        ("GenuineIntel", "avx2 avx512f amx_bf16", False),
    ],
)
def test_only_amd_processors_with_avx512_are_suitable(tmp_path, vendor, flags, suits):
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(f"vendor_id\t: {vendor}\nflags\t\t: fpu {flags}\n")
    assert avx512._is_amd_with_avx512(cpuinfo) is (suits and torch.backends.mkldnn.is_available())


def test_machine_without_cpuinfo_is_not_suitable(tmp_path):
    assert not avx512._is_amd_with_avx512(tmp_path / "cpuinfo")


def test_products_rounded_to_bfloat16_are_noticed(monkeypatch):
    multiply = torch.Tensor.__matmul__

    def rounding(a, b):
        if torch.get_float32_matmul_precision() == "medium":
            a, b = a.bfloat16().to(a), b.bfloat16().to(b)
        return multiply(a, b)

    assert avx512._keeps_precision() in (True, False)  # it may be either on this machine
    monkeypatch.setattr(torch.Tensor, "__matmul__", rounding)
    assert not avx512._keeps_precision()
    assert torch.get_float32_matmul_precision() == "highest"


def test_training_uses_wide_products_and_takes_the_setting_back(suitable, tmp_path):
    seen = []
    task = tasks.synthetic.adding(4)
    recipe = trainer.Recipe(epochs=1, batch=len(task.train))
    run = trainer.Trainer(
        trainer.start(task, (3,), recipe), task, recipe, tmp_path,
        lambda progress: seen.append(torch.get_float32_matmul_precision()),
    )  # fmt: skip
    run.run()
    assert seen
    assert set(seen) == {"medium"}
    assert torch.get_float32_matmul_precision() == "highest"
