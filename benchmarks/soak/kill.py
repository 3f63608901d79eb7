"""``make kill``: writers are killed and their disks fail; the former file must stay whole.

Checkpoints, netx files, bring-up kits and training runs are written by children that are killed, at
random moments and at each step of the very window of writing, or whose disk is full, read-only,
refuses large files or is slow. After every fault the former or the new content must be there,
whole; an error must name the file; the next writer must work and leave no litter; and a killed
training run, once resumed, must end with the weights of an undisturbed one.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer

from benchmarks import provenance
from benchmarks.soak import faults
from export import read_netx, write_netx
from hw_tests.golden.kit import MANIFEST, digest, random_input, write_kit
from hw_tests.networks.random_nets import random_network
from training import Network, checkpoint
from training.support.atomic import atomic_file
from training.tests.kernels.bursts import KILLED, bursts, train
from training.trainer import LAST

RECORD = Path(__file__).parents[2] / "docs" / "reliability" / "kill.json"
_DISK = 4 << 20


def _network() -> Any:
    return random_network(np.random.default_rng(1), (40, 40), 60, channels=3)


def _save_checkpoint(folder: Path) -> None:
    torch.manual_seed(0)
    checkpoint.save(folder / "out", Network(4, (100, 100), 5, 200))


def _whole_checkpoint(folder: Path) -> None:
    checkpoint.load(folder / "out")


def _export(folder: Path) -> None:
    write_netx(_network(), folder / "out")


def _whole_export(folder: Path) -> None:
    read_netx(folder / "out")


def _write_kit(folder: Path) -> None:
    net = _network()
    write_kit(net, random_input(net, 1), folder / "out")


def _whole_kit(folder: Path) -> None:
    manifest = json.loads((folder / "out" / MANIFEST).read_text())
    for name, sum_ in manifest["sha256"].items():
        if digest(folder / "out" / name) != sum_:
            raise ValueError(f"{name}: another sum than in the manifest")


@dataclass(frozen=True)
class Writer:
    """Something that writes ``out`` into a folder, and a check that it is whole."""

    name: str
    write: faults.Action
    whole: faults.Action
    seconds: float
    bytes: int


WRITERS = (
    Writer("checkpoint", _save_checkpoint, _whole_checkpoint, 0.15, 300_000),
    Writer("netx file", _export, _whole_export, 0.15, 60_000),
    Writer("kit", _write_kit, _whole_kit, 6.0, 100_000),
)


class Counts:
    """What was tried, and what went wrong."""

    def __init__(self) -> None:
        self.done: Counter[str] = Counter()
        self.failures: list[str] = []

    def expect(self, truth: bool, what: str) -> None:
        """Note a failure unless ``truth``."""
        if not truth:
            self.failures.append(what)
            sys.stderr.write(f"FAILED {what}\n")


def _after(writer: Writer, folder: Path, counts: Counts, what: str) -> None:
    """Check what a fault left: whole content, and no litter once somebody writes again."""
    try:
        writer.whole(folder)
    except Exception as error:
        counts.expect(False, f"{what}: not whole: {error}")
    status, said = faults.forked(lambda: writer.write(folder))
    counts.expect(status == 0, f"{what}: the next writer failed: {said}")
    left = sorted(path.name for path in folder.iterdir())
    counts.expect(left == ["out"], f"{what}: litter {left}")


def kill_writers(
    counts: Counts, writers: Sequence[Writer], kills: int, rng: np.random.Generator
) -> None:
    """Kill each writer, half the time at random and half in the window of writing."""
    shares = {"checkpoint": 0.45, "netx file": 0.4, "kit": 0.15}
    for writer in writers:
        with tempfile.TemporaryDirectory(prefix="celif-kill-") as name:
            folder = Path(name)
            faults.forked(lambda: writer.write(folder))  # noqa: B023
            for i in range(round(kills * shares[writer.name])):
                if i % 2:
                    killed = faults.killed_at_random(writer.write, folder, rng, writer.seconds)
                    what = f"{writer.name} killed at random"
                else:
                    call = ("fsync", "replace", "write")[i // 2 % 3]
                    number = 1 if call != "fsync" else 1 + i // 6 % 2
                    after = bool(i // 12 % 2)
                    killed = faults.killed_in_the_window(writer.write, folder, call, number, after)
                    what = f"{writer.name} killed {'after' if after else 'before'} {call} {number}"
                counts.done["kills" if killed else "writers that ended first"] += 1
                _after(writer, folder, counts, what)


def kill_runs(counts: Counts, kills: int, rng: np.random.Generator) -> None:
    """Kill training runs, resume them, and compare with an undisturbed one bit for bit."""
    with tempfile.TemporaryDirectory(prefix="celif-kill-") as name:
        folder = Path(name)

        def run(out: Path) -> None:
            train(bursts(), out, KILLED, save_steps=1)

        faults.forked(lambda: run(folder / "whole"))
        expected = checkpoint.read(folder / "whole" / LAST)
        for i in range(kills):
            out = folder / f"run{i}"
            for _ in range(2):
                counts.done["kills"] += faults.killed_at_random(run, out, rng, 3.0)
            status, said = faults.forked(lambda: run(out))  # noqa: B023
            counts.expect(status == 0, f"run {i}: resuming failed: {said}")
            found = checkpoint.read(out / LAST)
            same = all(
                torch.equal(value, found[part][key])
                for part in ("weights", "raw")
                for key, value in expected[part].items()
            )
            counts.expect(same, f"run {i}: other weights than undisturbed")
            counts.expect(not list(out.glob(".*")), f"run {i}: litter")
            counts.done["runs resumed bit for bit"] += same


def _fails(writer: Writer, folder: Path) -> None:
    """Write on a disk that fails; raise the writer's error if the former content is whole."""
    try:
        writer.write(folder)
    except OSError as error:
        writer.whole(folder)
        left = sorted(path.name for path in folder.iterdir())
        if left != ["out"]:
            raise RuntimeError(f"litter {left}") from error
        raise


def _limited(writer: Writer, folder: Path, size: int) -> str:
    """Let a writer meet a limit of a file's size; return the text of its error."""
    faults.forked(lambda: writer.write(folder))

    def child() -> None:
        faults.file_size_limit(size)
        _fails(writer, folder)

    return faults.forked(child)[1]


def _on_a_small_disk(writer: Writer, disk: Path, left: int | None) -> str:
    """Let a writer meet a disk with ``left`` bytes, or a read-only one; return its error's text."""

    def child() -> None:
        faults.own_mounts()
        faults.small_disk(disk, _DISK)
        (disk / "work").mkdir()
        writer.write(disk / "work")
        if left is None:
            faults.small_disk(disk, _DISK, read_only=True)
        else:
            faults.fill(disk / "filler", left)
        _fails(writer, disk / "work")

    return faults.forked(child)[1]


def _on_a_slow_disk(writer: Writer, folder: Path, counts: Counts, what: str, kill: bool) -> None:
    """Let a slow disk take the file while it is read, to its end or until a kill."""
    faults.forked(lambda: writer.write(folder))
    wrong: list[str] = []

    def look() -> None:
        try:
            writer.whole(folder)
        except Exception as error:
            wrong.append(str(error))

    moment = writer.seconds if kill else None
    each = 0.3 if writer.seconds < 1 else 0.02  # a kit has hundreds of files
    status, looks = faults.on_a_slow_disk(writer.write, folder, each, look, moment)
    counts.expect(not wrong, f"{what}: not whole while it was written: {wrong[:1]}")
    counts.expect(looks > 0, f"{what}: nobody looked")
    counts.expect(kill or status == 0, f"{what}: the writer ended with status {status}")
    counts.done["reads while a slow disk was writing"] += looks
    counts.done["kills on a slow disk"] += os.WIFSIGNALED(status)


def fail_disks(
    counts: Counts, writers: Sequence[Writer], number: int, rng: np.random.Generator
) -> None:
    """Let each writer meet full, read-only and slow disks and limits of a file's size."""
    unmountable = faults.can_mount()
    if unmountable:
        sys.stderr.write(f"no small disks here ({unmountable}): full and read-only are not tried\n")
    for i in range(number):
        writer = writers[i % len(writers)]
        kinds = ("limited", "slow") if unmountable else ("full", "limited", "read-only", "slow")
        kind = kinds[i // len(writers) % len(kinds)]
        size = int(rng.integers(0, writer.bytes // 4))
        what = f"{writer.name} on a {kind} disk ({size:,} bytes)"
        counts.done["disk faults"] += 1
        counts.done[f"of these: {kind}"] += 1
        with tempfile.TemporaryDirectory(prefix="celif-kill-") as name:
            if kind == "slow":
                kill = bool(i // (len(writers) * len(kinds)) % 2)
                _on_a_slow_disk(writer, Path(name), counts, what, kill)
                _after(writer, Path(name), counts, what)
                continue
            if kind == "limited":
                said = _limited(writer, Path(name), size)
                _after(writer, Path(name), counts, what)
            else:
                left = size if kind == "full" else None
                said = _on_a_small_disk(writer, Path(name), left)
        counts.expect("could not be written" in said, f"{what}: {said or 'no error'}")


def main(
    kills: Annotated[int, typer.Option(help="Kills of writers.")] = 200,
    runs: Annotated[int, typer.Option(help="Training runs that are killed twice each.")] = 10,
    disks: Annotated[int, typer.Option(help="Disk faults.")] = 60,
    kits: Annotated[bool, typer.Option(help="Also write bring-up kits, the slowest.")] = True,
    seed: Annotated[int, typer.Option(help="Seed of the random moments and sizes.")] = 0,
    record: Annotated[Path, typer.Option(help="Where the counts are written.")] = RECORD,
) -> None:
    """Kill writers and let their disks fail; exit with 1 if anything was lost."""
    torch.set_num_threads(1)  # before any fork: OpenMP's threads do not survive it
    rng, counts = np.random.default_rng(seed), Counts()
    writers = WRITERS if kits else WRITERS[:2]
    kill_writers(counts, writers, kills, rng)
    fail_disks(counts, writers, disks, rng)
    kill_runs(counts, runs, rng)
    told = {
        "counts": dict(counts.done),
        "failures": counts.failures,
        "seed": seed,
        "machine": provenance.describe(),
    }
    with atomic_file(record) as draft:
        draft.write_text(json.dumps(told, indent=1) + "\n")
    for name, number in counts.done.items():
        sys.stdout.write(f"{number:6,} {name}\n")
    sys.stdout.write(f"{len(counts.failures):6,} failures\n")
    raise SystemExit(1 if counts.failures else 0)


if __name__ == "__main__":
    typer.run(main)
