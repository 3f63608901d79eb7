"""``make fuzz``: damaged and hostile files are refused by name, or read as the original.

Mutants of netx files and checkpoints, of their bytes and of their structure, and files made by hand
are read in children whose memory and time are limited. Each must end in a named error or give the
original's results; no other exception, crash, hang, or access to another file is accepted. A
mutant that got a right checksum again may also be another sound network, which must then run.
"""

from __future__ import annotations

import functools
import json
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer

from benchmarks import provenance
from benchmarks.soak import attacks, checkpoint_mutants, faults, mutants, watched
from benchmarks.soak.draws import LargestDraw, draw
from benchmarks.soak.watched import NAMED, OTHER, SAME
from export import ModelError, NetxError, read_netx, simulate, write_netx
from hw_tests.networks.random_nets import random_network
from training import Network, checkpoint, old_checkpoint
from training.checkpoint import CheckpointError
from training.support.atomic import atomic_file
from training.tests.kernels.bursts import HIDDEN, RECIPE, bursts, train
from training.trainer import LAST
from training.trainer.loop import Trainer, start

RECORD = Path(__file__).parents[2] / "docs" / "reliability" / "fuzz.json"
MODEL = Path(__file__).parents[2] / "models" / "seq-mnist-88.net"
ERRORS = (NetxError, ModelError, CheckpointError)

Read = Callable[[Path], watched.Outcome]


def networks() -> dict[str, Any]:
    """Return the networks whose files are changed: every kind of layer and of TE."""
    made: dict[str, Any] = {
        form: random_network(np.random.default_rng(1), (12, 9), 20, te_form=form, te_bits=4)
        for form in ("table", "packed", "cosine")
    }
    for seed in range(200):
        drawn = draw(seed, LargestDraw(3, 12, 20, 2))
        wanted = {"convolution", "recurrent", "delays", "CUBA", "SDNN"} & set(drawn.options)
        if wanted - set(made):
            made |= dict.fromkeys(sorted(wanted), drawn.net)
        if len(made) == 8:
            break
    return {**made, "digits": read_netx(MODEL)}


def _input(net: Any) -> np.ndarray:
    low, high = net.encoding.range
    shape = (1, net.encoding.channels, net.steps)
    return np.random.default_rng(0).integers(low, high + 1, shape)


class Fuzz:
    """Reads files in children, and counts how that ends."""

    def __init__(self, folder: Path, seconds: float) -> None:
        self.folder, self.path = folder, folder / LAST
        self.until = time.monotonic() + seconds
        self.done: Counter[str] = Counter()
        self.failures: list[str] = []
        self.slowest = self.largest = 0.0
        (folder / mutants.CANARY).write_bytes(b"nobody may read this" * 100)
        self.watch = watched.Watch(folder)

    @property
    def late(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() > self.until

    def remove(self) -> None:
        """Remove the present mutant."""
        if self.path.is_dir() and not self.path.is_symlink():
            shutil.rmtree(self.path)
        else:
            self.path.unlink(missing_ok=True)

    def attempt(self, kind: str, what: str, read: Read, others: bool = False) -> None:
        """Read the present mutant; with ``others``, other results than the original's are right."""
        found = watched.attempt(lambda: read(self.path), ERRORS, self.watch, {self.path.name})
        self.slowest = max(self.slowest, found.seconds)
        self.largest = max(self.largest, found.megabytes)
        outcome = found.outcome
        if outcome == OTHER and others:
            outcome = "sound, signed again"
        if outcome in (NAMED, SAME, "sound, signed again"):
            self.done[f"{kind}: {outcome}"] += 1
            return
        self.failures.append(f"{kind} {what}: {outcome} {found.text}".strip())
        sys.stderr.write(f"FAILED {self.failures[-1]}\n")


def _read_netx(mark: str, path: Path) -> watched.Outcome:
    """Read a network; whether it is the original, field by field, or else another that runs."""
    net = read_netx(path)
    if watched.fingerprint(net) == mark:
        return SAME

    def run() -> str:
        simulate(net, _input(net))
        return OTHER

    return run


def fuzz_netx(fuzz: Fuzz, count: int, rng: np.random.Generator) -> None:
    """Read mutants of the files of every network in turn."""
    originals = []
    for name, net in networks().items():
        fuzz.path.unlink(missing_ok=True)  # the last mutant may be of another kind
        write_netx(net, fuzz.path)
        mark = watched.fingerprint(read_netx(fuzz.path))
        originals.append((name, fuzz.path.read_bytes(), mark))
    for i in range(count):
        if fuzz.late:
            return
        name, data, mark = originals[i % len(originals)]
        signed, kind = (
            False,
            ("flip", "flip", "bytes", "HDF5", "HDF5", "HDF5")[i // len(originals) % 6],
        )
        fuzz.remove()
        if kind == "HDF5":
            fuzz.path.write_bytes(data)
            what, signed = mutants.change_netx(fuzz.path, rng)
        else:
            change = mutants.flipped if kind == "flip" else mutants.rearranged
            what = kind
            fuzz.path.write_bytes(change(data, rng))
        read = functools.partial(_read_netx, mark)
        fuzz.attempt(f"netx {kind}", f"{i} of {name} ({what})", read, others=signed)
        fuzz.done["mutants of netx files"] += 1


def _read_checkpoint(mark: str, run: Trainer[Any], path: Path) -> str:
    """Load the network, and resume the run."""
    checkpoint.load(path)
    run.resume()
    return SAME if watched.fingerprint(checkpoint.read(path)) == mark else OTHER


def _train(folder: Path) -> None:
    train(bursts(), folder)


def fuzz_checkpoints(fuzz: Fuzz, count: int, rng: np.random.Generator) -> None:
    """Read mutants of the checkpoint of a training run."""
    if not count:
        return
    with tempfile.TemporaryDirectory(prefix="celif-fuzz-") as name:
        # In a child: OpenMP's threads do not survive the forks to come.
        _, said = faults.forked(functools.partial(_train, Path(name)))
        if said:
            raise RuntimeError(f"training: {said}")
        data, content = Path(name, LAST).read_bytes(), checkpoint.read(Path(name, LAST))
    mark = watched.fingerprint(content)
    # Made before the forks, as all modules are imported before them.
    run = Trainer(start(bursts(), HIDDEN, RECIPE, dropout=0.2), bursts(), RECIPE, fuzz.folder)
    for i in range(count):
        if fuzz.late:
            return
        fuzz.remove()
        kind = what = ("flip", "bytes", "header", "fields", "fields")[i % 5]
        if kind == "fields":
            what = checkpoint_mutants.change_fields(content, fuzz.path, rng)
        else:
            change = {"flip": mutants.flipped, "bytes": mutants.rearranged}.get(kind)
            fuzz.path.write_bytes((change or checkpoint_mutants.change_header)(data, rng))
        read = functools.partial(_read_checkpoint, mark, run)
        fuzz.attempt(f"checkpoint {kind}", f"{i} ({what})", read, others=kind == "fields")
        fuzz.done["mutants of checkpoints"] += 1


def fuzz_attacks(fuzz: Fuzz, count: int) -> None:
    """Give up to ``count`` files that were made by hand to every reader."""
    net = networks()["table"]
    write_netx(net, fuzz.path)
    good = {"netx": fuzz.path.read_bytes()}
    torch.manual_seed(0)
    trained = Network(2, (6, 5), 3, 10)
    checkpoint.save(fuzz.path, trained)
    good["checkpoint"] = fuzz.path.read_bytes()
    config, weights = checkpoint.plain_config(trained), dict(trained.state_dict())
    torch.save({"celif": 2, "network": config, "weights": weights}, fuzz.path)
    good["old checkpoint"] = fuzz.path.read_bytes()
    mark = watched.fingerprint(net)
    marks = watched.fingerprint(weights)
    readers: tuple[Read, ...] = (
        functools.partial(_read_netx, mark),
        lambda path: _same_weights(dict(checkpoint.load(path).state_dict()), marks),
        lambda path: _same_weights(old_checkpoint.read(path)["weights"], marks),
    )
    for i, (name, make) in enumerate(attacks.attacks(fuzz.folder, good)):
        if fuzz.late or i == count:
            return
        fuzz.remove()
        make(fuzz.path)
        for number, read in enumerate(readers):
            reader = ("netx", "checkpoint", "old checkpoint")[number]
            fuzz.attempt("attack", f"{name}, read as {reader}", read)
        fuzz.done["polyglots and attacks, each given to three readers"] += 1


def _same_weights(weights: dict[str, Any], marks: str) -> str:
    return SAME if watched.fingerprint(dict(weights)) == marks else OTHER


def main(
    netx: Annotated[int, typer.Option(help="Mutants of netx files.")] = 5000,
    checkpoints: Annotated[int, typer.Option(help="Mutants of checkpoints.")] = 1000,
    handmade: Annotated[int, typer.Option(help="Most hand-made attacks.")] = 1000,
    seconds: Annotated[float, typer.Option(help="Stop after this time.")] = 3600.0,
    seed: Annotated[int, typer.Option(help="Seed of the changes.")] = 0,
    record: Annotated[Path, typer.Option(help="Where the counts are written.")] = RECORD,
) -> None:
    """Read damaged and hostile files; exit with 1 if any of them did harm."""
    torch.set_num_threads(1)  # before any fork: OpenMP's threads do not survive it
    with tempfile.TemporaryDirectory(prefix="celif-fuzz-") as name:
        fuzz = Fuzz(Path(name), seconds)
        fuzz_attacks(fuzz, handmade)
        fuzz_checkpoints(fuzz, checkpoints, np.random.default_rng([seed, 1]))
        fuzz_netx(fuzz, netx, np.random.default_rng([seed, 2]))
        fuzz.watch.close()
    fuzz.done["slowest reading in milliseconds of processor time"] = round(1000 * fuzz.slowest)
    fuzz.done["largest memory above the process's own, in MB"] = round(fuzz.largest)
    told = {
        "counts": dict(sorted(fuzz.done.items())),
        "failures": fuzz.failures,
        "seed": seed,
        "machine": provenance.describe(),
    }
    with atomic_file(record) as draft:
        draft.write_text(json.dumps(told, indent=1) + "\n")
    for what, number in sorted(fuzz.done.items()):
        sys.stdout.write(f"{number:6,} {what}\n")
    sys.stdout.write(f"{len(fuzz.failures):6,} failures\n")
    raise SystemExit(1 if fuzz.failures else 0)


if __name__ == "__main__":
    typer.run(main)
